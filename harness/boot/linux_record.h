/*
 * Records what happens in a booted guest as a bundle: the execution log of every CPU with
 * the code that ran, the events, and what the PT units wrote.  It judges nothing.
 */
#ifndef TOPAZ_HARNESS_BOOT_LINUX_RECORD_H
#define TOPAZ_HARNESS_BOOT_LINUX_RECORD_H

#include "emu/base/event.h"

struct bundle_info;
struct linux_guest;
struct linux_record;

/*
 * Begins a bundle in the new folder PATH.  -TZ_EUSAGE, -TZ_EIO: as of bundle_create().
 */
int linux_record_create(const char *path, unsigned cpu_count,
    struct linux_record **record, struct tz_error *err);
/* Removes what was written, unless it was finished.  RECORD may be NULL. */
void linux_record_destroy(struct linux_record *record);

/* For linux_guest_observe(): .event, with RECORD as its .arg. */
void linux_record_event(void *record, const struct event *event);

/* From here on the guest is recorded.  -TZ_EIO: out of memory. */
int linux_record_begin(struct linux_record *record, struct linux_guest *guest,
    struct tz_error *err);

/* Adds a file to the bundle. */
void linux_record_add(struct linux_record *record, const char *name,
    const void *bytes, size_t count);

/* Adds what user space has next of STREAM (emu/base/event.h): COUNT bytes of trace. */
void linux_record_trace(struct linux_record *record, uint64_t stream,
    const void *bytes, size_t count);

/*
 * Completes the bundle.  INFO says what ran; counters are added.  The first error of
 * writing it: -TZ_EIO.
 */
int linux_record_finish(struct linux_record *record, struct bundle_info *info,
    struct tz_error *err);

#endif
