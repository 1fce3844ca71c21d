/*
 * What a reader of hwt's records has to know of several that it has taken at once.
 */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD_USER_RECORD_H
#define TOPAZ_HARNESS_KPI_FREEBSD_USER_RECORD_H

#include <stdbool.h>

#include <sys/hwt.h>

/* True if a later one, before END, says that bytes before it are missing: what ENTRY tells
 * of may be overwritten. */
static inline bool
record_is_overtaken(const struct hwt_record_user_entry *entry,
    const struct hwt_record_user_entry *end)
{
	const struct hwt_record_user_entry *later = entry + 1;

	if (entry->record_type != HWT_RECORD_BUFFER)
		return false;
	while (later < end &&
	    (later->record_type != HWT_RECORD_OVERFLOW ||
		later->buf_id != entry->buf_id))
		later++;
	return later < end;
}

#endif
