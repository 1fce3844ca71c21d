#include "traces/verify/delivery/drains.h"

#include <stdlib.h>
#include <string.h>

#include "traces/decode/vector.h"

void
drains_add(struct drains *drains, uint64_t key, unsigned cpu,
    const struct unit *unit, uint64_t offset, const uint8_t *bytes,
    uint64_t count, size_t after)
{
	const struct span *span = units_find_span(unit, offset);
	const struct span *end = unit->spans + unit->span_count;

	for (; count != 0 && span != NULL && span < end; span++) {
		uint64_t into = offset - span->offset;
		uint64_t part = span->bytes - into;

		if (offset < span->offset)
			return; /* not recorded: the row UNREPORTED */
		if (part > count)
			part = count;
		if (!GROW(drains->drains, drains->room, drains->count + 1)) {
			drains->no_memory = true;
			return;
		}
		drains->drains[drains->count] = (struct drain){
			.event = { .kind = EVENT_DRAIN,
			    .cpu = (uint16_t)cpu,
			    .a = key,
			    .b = span->pa + into,
			    .c = part },
			.after = after,
			.nth = drains->count,
			.bytes = bytes,
		};
		drains->count++;
		offset += part;
		bytes += part;
		count -= part;
	}
}

static int
drain_order(const void *left, const void *right)
{
	const struct drain *a = left, *b = right;

	if (a->after != b->after)
		return a->after < b->after ? -1 : 1;
	return a->nth < b->nth ? -1 : a->nth > b->nth;
}

/* Appends the bytes of DRAIN to its stream. */
static bool
keep_bytes(struct verify_delivery *delivery, const struct drain *drain)
{
	struct verify_delivered *stream = NULL;

	for (size_t i = 0; stream == NULL && i < delivery->count; i++)
		if (delivery->streams[i].key == drain->event.a)
			stream = &delivery->streams[i];
	if (stream == NULL) {
		if (!GROW(
			delivery->streams, delivery->room, delivery->count + 1))
			return false;
		stream = &delivery->streams[delivery->count++];
		*stream = (struct verify_delivered){ .key = drain->event.a };
	}
	if (!GROW(stream->bytes, stream->room, stream->count + drain->event.c))
		return false;
	memcpy(stream->bytes + stream->count, drain->bytes, drain->event.c);
	stream->count += drain->event.c;
	return true;
}

void
drains_merge(struct drains *drains, struct verify_delivery *delivery,
    struct event **events, size_t *count)
{
	struct event *all = calloc(*count + drains->count + 1, sizeof(*all));
	size_t used = 0, next = 0;

	if (all == NULL) {
		drains->no_memory = true;
		return;
	}
	if (drains->count != 0)
		qsort(drains->drains, drains->count, sizeof(*drains->drains),
		    drain_order);
	for (size_t i = 0; i <= *count; i++) {
		if (i < *count)
			all[used++] = (*events)[i];
		while (next < drains->count &&
		    (i == *count || drains->drains[next].after == i)) {
			drains->no_memory |= !keep_bytes(
			    delivery, &drains->drains[next]);
			all[used++] = drains->drains[next++].event;
		}
	}
	free(*events);
	*events = all;
	*count = used;
}

void
drains_free(struct drains *drains)
{
	free(drains->drains);
}

void
delivery_free(struct verify_delivery *delivery)
{
	for (size_t i = 0; i < delivery->count; i++)
		free(delivery->streams[i].bytes);
	free(delivery->streams);
}

uint8_t *
delivery_take(struct verify_delivery *delivery, uint64_t key, uint64_t *count)
{
	uint8_t *bytes = NULL;

	*count = 0;
	for (size_t i = 0; i < delivery->count; i++) {
		struct verify_delivered *stream = &delivery->streams[i];

		if (stream->key != key)
			continue;
		bytes = stream->bytes;
		*count = stream->count;
		*stream = (struct verify_delivered){ .key = key };
	}
	return bytes;
}
