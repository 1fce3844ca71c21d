/*
 * The memory of the traced code of a perf.data: the mapped files, found below folders as
 * perf finds them.
 */
#ifndef TOPAZ_TRACES_MEMORY_PERF_MEMORY_H
#define TOPAZ_TRACES_MEMORY_PERF_MEMORY_H

#include "traces/memory/memory_image.h"
#include "traces/perf_data/perf_space.h"

#include <stdio.h>

struct perf_memory_config {
	const struct perf_file *file;
	const struct perf_spaces *spaces;
	const char *const *folders; /* searched in this order */
	size_t folder_count;
	bool kernel; /* the kernel was traced, too */
	FILE *said; /* a line for each map without a file, with the cause; NULL: none */
};

/*
 * Adds the maps of the spaces in STAYS, and of the kernel, to IMAGE.  Of a file whose
 * build id is known, FOLDER/.build-id/XX/REST/elf and FOLDER/.debug/.build-id/XX/REST/elf
 * come before FOLDER/NAME.  *CONFLICTS: maps of several address spaces that have other
 * files at one address; the later one counts.  -TZ_EIO, -TZ_EFORMAT.
 */
int perf_memory_add(const struct perf_memory_config *config,
    const struct perf_stays *stays, struct memory_image *image,
    size_t *conflicts, struct tz_error *err);

#endif
