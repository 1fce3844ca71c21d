/*
 * Events DRAIN of a guest whose kernel reports none: user space read these bytes of a
 * unit's output.
 */
#ifndef TOPAZ_TRACES_VERIFY_DELIVERY_DRAINS_H
#define TOPAZ_TRACES_VERIFY_DELIVERY_DRAINS_H

#include "traces/verify/delivery/units.h"
#include "traces/verify/verify_internal.h"

/* An event that is to stand after the event .after, and its bytes. */
struct drain {
	struct event event;
	size_t after, nth;
	const uint8_t *bytes;
};

struct drains {
	struct drain *drains;
	size_t count, room;
	bool no_memory;
};

/*
 * The stream with KEY got COUNT bytes of CPU's UNIT, its output from OFFSET on, as BYTES,
 * after the event AFTER.  BYTES is not copied.
 */
void drains_add(struct drains *drains, uint64_t key, unsigned cpu,
    const struct unit *unit, uint64_t offset, const uint8_t *bytes,
    uint64_t count, size_t after);

/* Replaces *EVENTS, *COUNT of them, by a list with DRAINS, whose bytes go to DELIVERY. */
void drains_merge(struct drains *drains, struct verify_delivery *delivery,
    struct event **events, size_t *count);

void drains_free(struct drains *drains);

/* Of verify_work. */
void delivery_free(struct verify_delivery *delivery);
/*
 * Takes the bytes of the stream with KEY, *COUNT of them, out of it; the caller frees them.
 * NULL: there are none.
 */
uint8_t *delivery_take(
    struct verify_delivery *delivery, uint64_t key, uint64_t *count);

#endif
