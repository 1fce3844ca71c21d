/*
 * The steps of an execution log: a list that is only appended to, read from anywhere,
 * mostly in order.  All but the last chunk are kept compressed, since a program repeats
 * itself; in memory up to STEP_LIST_KEPT bytes of them, the others in a temporary file.
 */
#ifndef TOPAZ_TRACES_BUNDLE_STEP_LIST_H
#define TOPAZ_TRACES_BUNDLE_STEP_LIST_H

#include "traces/bundle/zfile.h"

#define STEP_LIST_CHUNK_BITS 16
#define STEP_LIST_CHUNK      (UINT32_C(1) << STEP_LIST_CHUNK_BITS)

#define STEP_LIST_KEPT       (UINT64_C(8) << 20)

/* Chunks that are unpacked at once: one for each place that is read in turns. */
#define STEP_LIST_SLOTS 4

struct step_list {
	size_t count;
	uint32_t *open; /* the steps of the last chunk, which may be full */
	size_t packed_count, packed_room;
	uint64_t kept;  /* bytes of packed chunks in memory */
	uint64_t spilt; /* and in the file */
	int file;       /* if .spilt is not 0 */
	struct step_list_packed {
		uint8_t *bytes; /* NULL: it is in the file, at .at */
		uint64_t at;
		size_t count;
	} * packed;
	/* NULL: no chunk is packed. */
	struct step_list_slots {
		size_t next; /* slot to be used next */
		size_t last; /* slot that was read last */
		size_t chunk[STEP_LIST_SLOTS];
		uint32_t steps[STEP_LIST_SLOTS][STEP_LIST_CHUNK];
		uint8_t packed[ZFILE_PACKED_MAX(
		    STEP_LIST_CHUNK * sizeof(uint32_t))];
	} * slots;
};

/* Appends STEP to LIST, all zeroes at first.  -TZ_EIO: no memory, or no room for a file. */
int step_list_add(struct step_list *list, uint32_t step, struct tz_error *err);
void step_list_free(struct step_list *list);

/* Unpacks the chunk of INDEX. */
uint32_t step_list_unpack(const struct step_list *list, size_t index);

/* The step INDEX, below .count. */
static inline uint32_t
step_list_at(const struct step_list *list, size_t index)
{
	const struct step_list_slots *slots = list->slots;
	size_t chunk = index >> STEP_LIST_CHUNK_BITS;
	size_t offset = index & (STEP_LIST_CHUNK - 1);

	if (chunk == list->packed_count)
		return list->open[offset];
	if (slots->chunk[slots->last] == chunk)
		return slots->steps[slots->last][offset];
	return step_list_unpack(list, index);
}

#endif
