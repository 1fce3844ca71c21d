/*
 * Arrays that grow by one element at a time.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_ARRAY_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * ITEMS, which has COUNT elements of SIZE bytes and memory for *ROOM, with memory for
 * one more.  NULL: no memory; ITEMS is unchanged.
 */
static inline void *
array_grow(void *items, size_t count, size_t *room, size_t size)
{
	size_t more = *room == 0 ? 16 : 2 * *room;

	if (count < *room)
		return items;
	items = realloc(items, more * size);
	if (items != NULL)
		*room = more;
	return items;
}

#endif
