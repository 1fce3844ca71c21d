/* Sorting and hashing: data-dependent conditional branches, few calls. */
#include "harness/guest/user/work/work.h"

#include <stddef.h>

#define COUNT 512

static uint32_t values[COUNT];
static uint32_t table[2 * COUNT];

static void
sift_down(uint32_t *heap, size_t root, size_t count)
{
	uint32_t value = heap[root];
	size_t child;

	while ((child = 2 * root + 1) < count) {
		if (child + 1 < count && heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= value)
			break;
		heap[root] = heap[child];
		root = child;
	}
	heap[root] = value;
}

static void
heap_sort(uint32_t *heap, size_t count)
{
	uint32_t last;

	for (size_t i = count / 2; i-- > 0;)
		sift_down(heap, i, count);
	while (count > 1) {
		last = heap[--count];
		heap[count] = heap[0];
		heap[0] = last;
		sift_down(heap, 0, count);
	}
}

/* Open addressing; returns the number of probes. */
static uint64_t
hash_insert(uint32_t key)
{
	uint32_t at = key * UINT32_C(2654435761) >> 22;
	uint64_t probes = 1;

	while (table[at] != 0 && table[at] != key) {
		at = (at + 1) % (2 * COUNT);
		probes++;
	}
	table[at] = key;
	return probes;
}

uint64_t
work_sort(uint64_t rounds)
{
	uint64_t state = 0x1234567, sum = 0;

	while (rounds-- > 0) {
		for (size_t i = 0; i < COUNT; i++)
			values[i] = (uint32_t)work_random(&state) | 1;
		for (size_t i = 0; i < 2 * COUNT; i++)
			table[i] = 0;
		for (size_t i = 0; i < COUNT; i++)
			sum += hash_insert(values[i]);
		heap_sort(values, COUNT);
		for (size_t i = 0; i < COUNT; i++)
			sum = work_fold(sum, values[i]);
	}
	return sum;
}
