/*
 * kzalloc() and kfree().  Up to a page, memory comes from the guest kernel's heap; more
 * is a run of frames in the direct map, a power of two of them, so that kfree() never
 * sleeps.  Both are handed out by their address in the map below 4 GiB; only memory of the
 * guarded heap (heap=guard) lies above it.
 */
#include "harness/kpi/linux26/kpi.h"

static bool
may_sleep(void)
{
	return !cpu_in_special() && task_self()->critical == 0;
}

static uint64_t
frames_for(size_t bytes)
{
	uint64_t count = 1;

	while (count * PAGE_BYTES < bytes)
		count *= 2;
	return count;
}

/* The number of frames of each run in use, by the number of its first frame. */
struct run {
	struct run *next;
	uint64_t pa, count;
};
static struct run *runs;
static struct spin runs_lock = SPIN_INIT("kmalloc");

static void
lock_runs(void)
{
	(spin_lock)(&runs_lock);
}

static void
unlock_runs(void)
{
	(spin_unlock)(&runs_lock);
}

static void *
alloc_run(size_t bytes)
{
	uint64_t count = frames_for(bytes);
	struct run *run = bucket_alloc(sizeof(*run));
	uint64_t pa;

	if (run == NULL)
		return NULL;
	pa = module_frames_alloc(count, count);
	if (pa == FRAME_NONE) {
		bucket_free(run);
		return NULL;
	}
	lock_runs();
	*run = (struct run){ runs, pa, count };
	runs = run;
	unlock_runs();
	return memset(phys_to_virt(pa), 0, count * PAGE_BYTES);
}

static bool
free_run(const void *at)
{
	struct run **link = &runs;
	struct run *run;

	lock_runs();
	while (*link != NULL && phys_to_virt((*link)->pa) != at)
		link = &(*link)->next;
	run = *link;
	if (run != NULL)
		*link = run->next;
	unlock_runs();
	if (run == NULL)
		return false;
	module_frames_free(run->pa, run->count);
	bucket_free(run);
	return true;
}

static void *
low(void *at)
{
	uint64_t pa = (uintptr_t)at - ABI_DMAP;

	return at != NULL && pa < boot_info->ram_bytes
	    ? (void *)(uintptr_t)(LOW_MAP + pa)
	    : at;
}

static void *
not_low(const void *at)
{
	uint64_t pa = (uintptr_t)at - LOW_MAP;

	return pa < boot_info->ram_bytes ? phys_to_virt(pa)
					 : (void *)(uintptr_t)at;
}

void *
kzalloc(size_t bytes, gfp_t flags)
{
	const void *caller = __builtin_return_address(0);

	if ((flags & __GFP_WAIT) != 0 && !may_sleep())
		host_atomic_sleep(caller);
	if (bytes > KMALLOC_MAX_SIZE || kern_fault_point("kzalloc", caller))
		return NULL;
	return low(bytes <= PAGE_BYTES
		? heap_alloc(bytes, HEAP_NOWAIT | HEAP_ZERO, caller)
		: alloc_run(bytes));
}

void
kfree(const void *at)
{
	void *memory = not_low(at);

	if (at != NULL && !free_run(memory))
		heap_free(memory, __builtin_return_address(0));
}
