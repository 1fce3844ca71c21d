/*
 * Checks and converts the compiler flags that a manifest adds: its keys include, defines
 * and cflags (harness/manifest/README.md).  An object that is compiled with them depends
 * on the manifest's text and on the files' bytes, not on where the files are.
 */
#ifndef TOPAZ_HARNESS_FLAGS_H
#define TOPAZ_HARNESS_FLAGS_H

#include "emu/base/base.h"

struct schema;

/* The manifest that a schema was read from, for messages. */
struct flags_file {
	const char *path, *dir; /* driver.yaml and its folder */
	const char *text;
	size_t text_bytes;
};

/*
 * *FLAGS: the arguments, a NULL-terminated list for build_strings_free(); NULL: no flags,
 * or an error.  -TZ_EFORMAT: an entry is not allowed or a folder does not exist, with
 * PATH:LINE:COLUMN; -TZ_EIO: out of memory.
 */
int flags_read(const struct schema *schema, const struct flags_file *file,
    char ***flags, struct tz_error *err);

/* The flag of row INDEX of cflags.def; NULL after the last. */
const char *flags_allowed(size_t index);

#endif
