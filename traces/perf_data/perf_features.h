/*
 * The feature sections of a perf.data file, which follow its records.  Used by
 * perf_file.c.
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_FEATURES_H
#define TOPAZ_TRACES_PERF_DATA_PERF_FEATURES_H

#include "traces/bundle/zfile.h"
#include "traces/perf_data/perf_file.h"

/* A place in the file: .bytes at .offset; .at is where the file says so. */
struct perf_section {
	uint64_t at, offset, bytes;
};

/*
 * The section whose offset and size are at AT; WHAT is its name in messages.
 * -TZ_EFORMAT: it goes beyond the end of FILE.
 */
int perf_section_read(const struct perf_file *file, uint64_t at,
    const char *what, struct perf_section *section, struct tz_error *err);

/*
 * Reads the sections into FILE.  Their table is at AT; BITS, 32 bytes, says which there
 * are.  -TZ_EFORMAT: one is damaged; -TZ_EUSAGE: it has records in other files; -TZ_EIO.
 */
int perf_features_read(struct perf_file *file, uint64_t at, const uint8_t *bits,
    struct tz_error *err);

/*
 * Finds and checks the records of FILE in the section DATA.  *FEED is what COMPRESSED
 * records were unpacked into, and must outlive FILE; NULL: there are none.  -TZ_EFORMAT:
 * one is damaged; -TZ_EIO.
 */
int perf_record_scan(struct perf_file *file, const struct perf_section *data,
    struct zfile_feed **feed, struct tz_error *err);

#endif
