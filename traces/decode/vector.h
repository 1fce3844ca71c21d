/*
 * Arrays that grow by doubling.
 */
#ifndef TOPAZ_TRACES_DECODE_VECTOR_H
#define TOPAZ_TRACES_DECODE_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes room in the array whose pointer is at POINTER for COUNT elements of
 * SIZE bytes; *ROOM is the number it has room for.  False: out of memory, nothing
 * changed.
 */
static inline bool
vector_grow(void *pointer, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room < 64 ? 64 : *room;
	void *array;

	if (count <= *room)
		return true;
	while (wanted < count)
		wanted *= 2;
	if (wanted > SIZE_MAX / size)
		return false;
	memcpy(&array, pointer, sizeof(array));
	array = realloc(array, wanted * size);
	if (array == NULL)
		return false;
	memcpy(pointer, &array, sizeof(array));
	*room = wanted;
	return true;
}

/* The same for a typed array and its room. */
#define GROW(array, room, count) \
 vector_grow(&(array), &(room), (count), sizeof(*(array)))

#endif
