/*
 * A device with one buffer: ioctl 1 takes it, ioctl 2 gives it back.  The others use
 * it, each in another way, without a lock: where ioctl 2 comes in between, they use
 * memory that was freed.  One after the other, all is right.
 */
#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"

#define BUFFER_BYTES 1024
#define MSR_XSS      0xda0u
#define OSXSAVE      (1u << 18)
#define XSTATE_PT    0x100u

struct buffer {
	uint64_t count, seen;
	struct buffer *next;
	struct mutex lock;
	uint8_t area[704] __attribute__((aligned(64))); /* of XSAVES */
};

_Static_assert(sizeof(struct buffer) <= BUFFER_BYTES, "a bucket's item");

static struct device *device;
static struct buffer *buffer;
static uint64_t own, *target = &own;

static __attribute__((noinline)) int
take(void)
{
	struct buffer *made;

	if (buffer != NULL)
		return KE_INVAL;
	made = heap_alloc(
	    BUFFER_BYTES, HEAP_WAITOK | HEAP_ZERO, __builtin_return_address(0));
	made->next = made;
	mutex_init(&made->lock, "stale");
	buffer = made;
	return 0;
}

static __attribute__((noinline)) int
give(void)
{
	struct buffer *old = buffer;

	buffer = NULL;
	heap_free(old, __builtin_return_address(0));
	return 0;
}

static __attribute__((noinline)) int
count(struct buffer *at)
{
	at->count++;
	return 0;
}

static __attribute__((noinline)) int
look(struct buffer *at)
{
	own = at->seen;
	return 0;
}

static __attribute__((noinline)) int
clear(struct buffer *at)
{
	memset(at->area, 0, sizeof(at->area));
	return 0;
}

static __attribute__((noinline)) int
fill(struct buffer *at)
{
	void *to = at->area;
	uint64_t words = sizeof(at->area) / 8;

	__asm__ volatile("rep stosq"
			 : "+D"(to), "+c"(words)
			 : "a"(0)
			 : "memory");
	return 0;
}

static __attribute__((noinline)) int
save(struct buffer *at)
{
	uint64_t cr4;

	__asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4 | OSXSAVE));
	__asm__ volatile("wrmsr" : : "c"(MSR_XSS), "a"(XSTATE_PT), "d"(0));
	__asm__ volatile("xsaves64 %0"
			 : "+m"(at->area)
			 : "a"(XSTATE_PT), "d"(0)
			 : "memory");
	return 0;
}

static __attribute__((noinline)) int
guarded(struct buffer *at)
{
	mutex_lock(&at->lock);
	own++;
	mutex_unlock(&at->lock);
	return 0;
}

/* Another buffer in the place of the old one: what is used is always alive. */
static int
swap(void)
{
	struct buffer *old = buffer;
	struct buffer *made;

	heap_free(old, __builtin_return_address(0));
	buffer = NULL;
	if (take() != 0)
		return KE_INVAL;
	made = buffer;
	made->count = 1;
	own = made->count + made->seen;
	return 0;
}

/* For a moment what is not the driver's own. */
static int
aim(void)
{
	*(uint64_t *volatile *)&target = (uint64_t *)(uintptr_t)&boot_info;
	*(uint64_t *volatile *)&target = &own;
	return 0;
}

static __attribute__((noinline)) int
shoot(uint64_t *at)
{
	*(volatile uint64_t *)at = *(volatile uint64_t *)at;
	return 0;
}

/* The last address comes from the memory before it. */
static __attribute__((noinline)) int
chase(struct buffer *at)
{
	at->next->next->next->count = 5;
	return 0;
}

static int
stale_ioctl(struct device *from, uint64_t number, uint64_t argument)
{
	static int (*const uses[])(
	    struct buffer *) = { count, look, clear, fill, save, guarded };
	struct buffer *at = buffer;

	(void)from;
	(void)argument;
	if (number == 1)
		return take();
	if (number == 10)
		return aim();
	if (number == 11)
		return shoot(target);
	if (at == NULL)
		return KE_INVAL;
	if (number == 2)
		return give();
	if (number == 9)
		return swap();
	if (number == 12)
		return chase(at);
	return number >= 3 && number - 3 < sizeof(uses) / sizeof(uses[0])
	    ? uses[number - 3](at)
	    : KE_INVAL;
}

static const struct device_ops stale_ops = { .ioctl = stale_ioctl };

static int
stale_load(void)
{
	return device_create("/dev/stale", &stale_ops, NULL, &device);
}

static void
stale_unload(void)
{
	device_destroy(device);
	heap_free(buffer, __builtin_return_address(0));
	buffer = NULL;
}

NATIVE_MODULE(stale, stale_load, stale_unload);
