/*
 * contigmalloc(9): runs of frames, each mapped between unmapped pages, so that
 * an access beyond it or after its free faults with every heap.
 */
#include <sys/malloc.h>
#include <sys/queue.h>
#include <sys/systm.h>

#include "harness/guest/lib.h"
#include "harness/guest/memory/mem.h"
#include "harness/guest/task/lock.h"
#include "harness/kpi/freebsd/kpi.h"

struct contig {
	LIST_ENTRY(contig) next;
	uint64_t va, pa, pages;
};

static LIST_HEAD(, contig) contigs = LIST_HEAD_INITIALIZER(contigs);
static struct spin contigs_lock = SPIN_INIT("contigmalloc");

/* Takes PAGES frames at a multiple of ALIGN pages; frees those around them. */
static uint64_t
take_frames(uint64_t pages, uint64_t align)
{
	uint64_t extra = align - 1, begin, first, i;

	begin = frame_alloc_run(pages + extra);
	if (begin == FRAME_NONE)
		return (FRAME_NONE);
	begin /= PAGE_SIZE;
	first = roundup2(begin, align);
	for (i = begin; i < begin + pages + extra; i++)
		if (i < first || i >= first + pages)
			frame_free(i * PAGE_SIZE);
	return (first * PAGE_SIZE);
}

/* The page after the last one stays unmapped. */
static bool
map(struct contig *contig)
{
	uint64_t i;

	contig->va = kva_alloc(contig->pages + 1);
	for (i = 0; contig->va != 0 && i < contig->pages; i++)
		if (kva_map(contig->va + i * PAGE_SIZE,
			contig->pa + i * PAGE_SIZE, MAP_WRITE) != 0)
			return (false);
	return (contig->va != 0);
}

void *
contigmalloc(u_long bytes, struct malloc_type *type __unused, int flags,
    vm_paddr_t low, vm_paddr_t high, u_long alignment, vm_paddr_t boundary)
{
	struct contig *contig;
	void *addr;

	kpi_malloc_check(__func__);
	if (low != 0 || high < UINT32_MAX || boundary != 0 || bytes == 0 ||
	    !powerof2(alignment))
		panic("contigmalloc: not modelled");
	if (fault_point(__func__, __builtin_return_address(0)))
		return (NULL);
	contig = bucket_alloc(sizeof(*contig));
	if (contig == NULL)
		return (NULL);
	contig->pages = atop(round_page(bytes));
	contig->pa = take_frames(
	    contig->pages, alignment > PAGE_SIZE ? alignment / PAGE_SIZE : 1);
	if (contig->pa == FRAME_NONE || !map(contig)) {
		bucket_free(contig);
		return (NULL);
	}
	addr = (void *)(uintptr_t)contig->va;
	if ((flags & M_ZERO) != 0)
		memset(addr, 0, contig->pages * PAGE_SIZE);
	spin_lock(&contigs_lock);
	LIST_INSERT_HEAD(&contigs, contig, next);
	spin_unlock(&contigs_lock);
	host_alloc(addr, bytes, __builtin_return_address(0));
	return (addr);
}

bool
kpi_contig_free(void *addr, const void *caller)
{
	struct contig *contig;
	uint64_t i;

	spin_lock(&contigs_lock);
	LIST_FOREACH(contig, &contigs, next)
		if (contig->va == (uintptr_t)addr)
			break;
	if (contig != NULL)
		LIST_REMOVE(contig, next);
	spin_unlock(&contigs_lock);
	if (contig == NULL)
		return (false);
	host_free(addr, caller);
	kva_unmap(contig->va, contig->pages);
	kva_free(contig->va, contig->pages + 1);
	for (i = 0; i < contig->pages; i++)
		frame_free(contig->pa + i * PAGE_SIZE);
	bucket_free(contig);
	return (true);
}

void
contigfree(void *addr, u_long bytes __unused, struct malloc_type *type __unused)
{
	kpi_malloc_check(__func__);
	if (addr != NULL && !kpi_contig_free(addr, __builtin_return_address(0)))
		panic("contigfree: %p is not of contigmalloc", addr);
}
