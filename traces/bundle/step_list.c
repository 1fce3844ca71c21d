#include "traces/bundle/step_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/host/folder/scratch.h"
#include "traces/decode/vector.h"

#define STEP_LIST_CHUNK_BYTES (STEP_LIST_CHUNK * sizeof(uint32_t))

/* Moves PACKED to the file. */
static int
step_list_spill(struct step_list *list, struct step_list_packed *packed,
    struct tz_error *err)
{
	int error = list->spilt == 0 ? scratch_file(&list->file, err) : 0;

	if (error != 0)
		return error;
	packed->at = list->spilt;
	list->spilt += packed->count;
	for (size_t done = 0; done < packed->count;) {
		ssize_t count = pwrite(list->file, packed->bytes + done,
		    packed->count - done, (off_t)(packed->at + done));

		if (count <= 0)
			return tz_error(err, TZ_EIO, "a temporary file: %s",
			    strerror(errno));
		done += (size_t)count;
	}
	free(packed->bytes);
	packed->bytes = NULL;
	return 0;
}

static bool
step_list_make_slots(struct step_list *list)
{
	list->slots = malloc(sizeof(*list->slots));
	if (list->slots == NULL)
		return false;
	list->slots->next = list->slots->last = 0;
	for (size_t i = 0; i < STEP_LIST_SLOTS; i++)
		list->slots->chunk[i] = SIZE_MAX;
	return true;
}

/* Packs the open chunk, which is full. */
static int
step_list_pack(struct step_list *list, struct tz_error *err)
{
	struct step_list_packed *packed;

	if ((list->slots == NULL && !step_list_make_slots(list)) ||
	    !GROW(list->packed, list->packed_room, list->packed_count + 1))
		return tz_error(err, TZ_EIO, "out of memory");
	packed = &list->packed[list->packed_count];
	if (!zfile_pack(list->open, STEP_LIST_CHUNK_BYTES, &packed->bytes,
		&packed->count))
		return tz_error(err, TZ_EIO, "out of memory");
	list->packed_count++;
	if (list->kept + packed->count > STEP_LIST_KEPT)
		return step_list_spill(list, packed, err);
	list->kept += packed->count;
	return 0;
}

int
step_list_add(struct step_list *list, uint32_t step, struct tz_error *err)
{
	size_t offset = list->count & (STEP_LIST_CHUNK - 1);
	int error = 0;

	if (list->open == NULL) {
		list->open = malloc(STEP_LIST_CHUNK_BYTES);
		if (list->open == NULL)
			return tz_error(err, TZ_EIO, "out of memory");
	}
	if (offset == 0 && list->count != 0)
		error = step_list_pack(list, err);
	if (error != 0)
		return error;
	list->open[offset] = step;
	list->count++;
	return 0;
}

/* The bytes of PACKED, in memory. */
static const uint8_t *
step_list_packed(
    const struct step_list *list, const struct step_list_packed *packed)
{
	uint8_t *room = list->slots->packed;

	if (packed->bytes != NULL)
		return packed->bytes;
	for (size_t done = 0; done < packed->count;) {
		ssize_t count = pread(list->file, room + done,
		    packed->count - done, (off_t)(packed->at + done));

		TZ_ASSERT(count > 0);
		done += (size_t)count;
	}
	return room;
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
		zfile_unpack_whole(step_list_packed(list, packed),
		    packed->count, slots->steps[slot], STEP_LIST_CHUNK_BYTES);
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
	if (list->spilt != 0)
		close(list->file);
	free(list->packed);
	free(list->slots);
	free(list->open);
	*list = (struct step_list){ .count = 0 };
}
