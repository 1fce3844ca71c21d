/*
 * Linear addresses for mappings of the kernel: a list of ranges in use, sorted
 * by address; first fit, with at least one unmapped page after each range.
 */
#include "harness/guest/internal.h"

struct range {
	struct range *next;
	uint64_t va, count;
};

static struct range *ranges;
static struct spin kva_lock = SPIN_INIT("kva");

uint64_t
kva_alloc(uint64_t count)
{
	struct range **link = &ranges;
	struct range *range;
	uint64_t va = KVA_DYNAMIC;

	if (count == 0 || count > (KVA_END - KVA_DYNAMIC) / PAGE_BYTES - 1 ||
	    fault_point(__func__, __builtin_return_address(0)))
		return 0;
	range = bucket_alloc(sizeof(*range));
	if (range == NULL)
		return 0;
	spin_lock(&kva_lock);
	while (*link != NULL && (*link)->va - va < (count + 1) * PAGE_BYTES) {
		va = (*link)->va + ((*link)->count + 1) * PAGE_BYTES;
		link = &(*link)->next;
	}
	if (KVA_END - va < (count + 1) * PAGE_BYTES) {
		va = 0;
	} else {
		*range = (struct range){ *link, va, count };
		*link = range;
	}
	spin_unlock(&kva_lock);
	if (va == 0)
		bucket_free(range);
	return va;
}

void
kva_free(uint64_t va, uint64_t count)
{
	struct range **link = &ranges;
	struct range *range;

	spin_lock(&kva_lock);
	while (*link != NULL && (*link)->va != va)
		link = &(*link)->next;
	range = *link;
	if (range == NULL || range->count != count)
		kpanic(
		    "kva_free of %#lx, %lu pages: not allocated so", va, count);
	*link = range->next;
	spin_unlock(&kva_lock);
	bucket_free(range);
}
