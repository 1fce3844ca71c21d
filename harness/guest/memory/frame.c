/*
 * Physical pages.  Single frames come from a stack, filled in the order of a
 * fixed permutation, so that consecutive allocations are not adjacent; freed
 * ones are reused first.  Runs come from a separate zone at the end of RAM.
 */
#include "harness/guest/internal.h"

#define RUN_ZONE_SHARE 8 /* one part in 8 of the free frames */
#define STRIDE         0x9e3779b1u

static struct frame *frames;
static uint64_t frame_total;
static uint64_t free_count;
static uint32_t stack_head; /* frame number, 0: empty */
static uint64_t run_begin;
static struct spin frame_lock = SPIN_INIT("frames");

struct frame *
frame_of(uint64_t pa)
{
	uint64_t number = pa / PAGE_BYTES;

	return number < frame_total ? &frames[number] : NULL;
}

static uint64_t
gcd(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void
push(uint32_t number)
{
	frames[number].kind = FRAME_FREE;
	frames[number].next = stack_head;
	stack_head = number;
	free_count++;
}

/* Pushes frames [FIRST, FIRST + COUNT).  i * stride mod COUNT takes all values
 * below COUNT if stride and COUNT are coprime. */
static void
fill_stack(uint64_t first, uint64_t count)
{
	uint64_t stride = STRIDE;
	bool linear = boot_option("linear_frames", 0) != 0;

	while (gcd(stride, count) != 1)
		stride += 2;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = linear ? count - 1 - i : i * stride % count;

		push((uint32_t)(first + at));
	}
}

void
frame_init(void)
{
	uint64_t table = frame_table_pa(boot_info->free_pa);
	uint64_t first, count;

	frame_total = boot_info->ram_bytes / PAGE_BYTES;
	frames = phys_to_virt(table);
	memset(frames, 0, frame_total * sizeof(*frames));
	first = (table + frame_total * sizeof(*frames) + PAGE_BYTES - 1) /
	    PAGE_BYTES;
	if (first + 64 >= frame_total)
		kpanic("too little memory: %lu bytes", boot_info->ram_bytes);
	count = frame_total - first;
	run_begin = frame_total - count / RUN_ZONE_SHARE;
	for (uint64_t i = run_begin; i < frame_total; i++)
		frames[i].kind = FRAME_FREE;
	fill_stack(first, run_begin - first);
}

uint64_t
frame_alloc(void)
{
	uint32_t number;

	if (fault_point(__func__, __builtin_return_address(0)))
		return FRAME_NONE;
	spin_lock(&frame_lock);
	number = stack_head;
	if (number != 0) {
		KERN_ASSERT(frames[number].kind == FRAME_FREE);
		stack_head = frames[number].next;
		frames[number].kind = FRAME_TAKEN;
		free_count--;
	}
	spin_unlock(&frame_lock);
	return number * PAGE_BYTES;
}

/* Takes COUNT contiguous frames; the first number is a multiple of ALIGN. */
static uint64_t
take_run(uint64_t count, uint64_t align)
{
	uint64_t found = 0;
	uint64_t length = 0;

	spin_lock(&frame_lock);
	for (uint64_t i = run_begin; i < frame_total && length < count; i++) {
		bool fits = length != 0 || i % align == 0;

		length = fits && frames[i].kind == FRAME_FREE ? length + 1 : 0;
		if (length == count)
			found = i + 1 - count;
	}
	for (uint64_t i = 0; found != 0 && i < count; i++)
		frames[found + i].kind = FRAME_TAKEN;
	spin_unlock(&frame_lock);
	return found * PAGE_BYTES;
}

uint64_t
frame_alloc_run(uint64_t count)
{
	if (count == 0 || fault_point(__func__, __builtin_return_address(0)))
		return FRAME_NONE;
	return take_run(count, 1);
}

/* Makes frames look used, so that those who must clear them are seen to do it. */
static void
make_stale(uint64_t pa, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		volatile uint64_t *word = phys_to_virt(pa + i * PAGE_BYTES);

		word[0] = word[PAGE_BYTES / sizeof(*word) - 1] = ABI_STALE;
	}
}

uint64_t
module_frames_alloc(uint64_t count, uint64_t align)
{
	const void *caller = __builtin_return_address(0);
	uint64_t pa;

	KERN_ASSERT(align != 0 && (align & (align - 1)) == 0);
	if (count == 0 || fault_point(__func__, caller))
		return FRAME_NONE;
	pa = count == 1 && align == 1 ? frame_alloc() : take_run(count, align);
	if (pa != FRAME_NONE) {
		make_stale(pa, count);
		host_alloc(phys_to_virt(pa), count * PAGE_BYTES, caller);
	}
	return pa;
}

void
module_frames_free(uint64_t pa, uint64_t count)
{
	host_free(phys_to_virt(pa), __builtin_return_address(0));
	for (uint64_t i = 0; i < count; i++)
		frame_free(pa + i * PAGE_BYTES);
}

void
frame_assert_unmapped(const struct frame *frame)
{
	if (frame->mapped != 0)
		kpanic("free of frame %#lx, which a process maps",
		    (uint64_t)(frame - frames) * PAGE_BYTES);
}

/* With frame_lock held. */
static void
give_back(uint64_t pa)
{
	struct frame *frame = frame_of(pa);

	if (frame == NULL || pa % PAGE_BYTES != 0 || frame->kind != FRAME_TAKEN)
		kpanic("free of frame %#lx, which is not allocated", pa);
	frame_assert_unmapped(frame);
	if (pa / PAGE_BYTES >= run_begin)
		frame->kind = FRAME_FREE;
	else
		push((uint32_t)(pa / PAGE_BYTES));
}

void
frame_free(uint64_t pa)
{
	spin_lock(&frame_lock);
	give_back(pa);
	spin_unlock(&frame_lock);
}

void
frame_retire(const uint64_t *pas, uint64_t count)
{
	/* The host clears them: the guest would spend most of an exit on it. */
	if (sched_without_slices())
		host_clear(pas, count);
	spin_lock(&frame_lock);
	for (uint64_t i = 0; i < count; i++) {
		if (pas[i] != FRAME_NONE)
			give_back(pas[i]);
	}
	spin_unlock(&frame_lock);
}

uint64_t
frame_free_count(void)
{
	return __atomic_load_n(&free_count, __ATOMIC_RELAXED);
}
