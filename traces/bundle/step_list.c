#include "traces/bundle/step_list.h"

#include <stdlib.h>

#include "traces/bundle/zfile.h"
#include "traces/decode/vector.h"

#define STEP_LIST_CHUNK_BYTES (STEP_LIST_CHUNK * sizeof(uint32_t))

/* Packs the open chunk, which is full. */
static bool
step_list_pack(struct step_list *list)
{
	struct step_list_packed *packed;

	if (list->slots == NULL) {
		list->slots = malloc(sizeof(*list->slots));
		if (list->slots == NULL)
			return false;
		list->slots->next = list->slots->last = 0;
		for (size_t i = 0; i < STEP_LIST_SLOTS; i++)
			list->slots->chunk[i] = SIZE_MAX;
	}
	if (!GROW(list->packed, list->packed_room, list->packed_count + 1))
		return false;
	packed = &list->packed[list->packed_count];
	if (!zfile_pack(list->open, STEP_LIST_CHUNK_BYTES, &packed->bytes,
		&packed->count))
		return false;
	list->packed_count++;
	return true;
}

bool
step_list_add(struct step_list *list, uint32_t step)
{
	size_t offset = list->count & (STEP_LIST_CHUNK - 1);

	if (list->open == NULL) {
		list->open = malloc(STEP_LIST_CHUNK_BYTES);
		if (list->open == NULL)
			return false;
	}
	if (offset == 0 && list->count != 0 && !step_list_pack(list))
		return false;
	list->open[offset] = step;
	list->count++;
	return true;
}

uint32_t
step_list_unpack(const struct step_list *list, size_t index)
{
	struct step_list_slots *slots = list->slots;
	size_t chunk = index >> STEP_LIST_CHUNK_BITS, slot = 0;
	const struct step_list_packed *packed = &list->packed[chunk];

	TZ_ASSERT(chunk < list->packed_count);
	while (slot < STEP_LIST_SLOTS && slots->chunk[slot] != chunk)
		slot++;
	if (slot == STEP_LIST_SLOTS) {
		slot = slots->next;
		slots->next = (slot + 1) % STEP_LIST_SLOTS;
		zfile_unpack_whole(packed->bytes, packed->count,
		    slots->steps[slot], STEP_LIST_CHUNK_BYTES);
		slots->chunk[slot] = chunk;
	}
	slots->last = slot;
	return slots->steps[slot][index & (STEP_LIST_CHUNK - 1)];
}

void
step_list_free(struct step_list *list)
{
	for (size_t i = 0; i < list->packed_count; i++)
		free(list->packed[i].bytes);
	free(list->packed);
	free(list->slots);
	free(list->open);
	*list = (struct step_list){ .count = 0 };
}
