/*
 * The manifest of a bundle as JSON text with sorted keys.  It carries a digest of
 * its own content and one digest for each block of every other file.
 */
#ifndef TOPAZ_TRACES_BUNDLE_MANIFEST_H
#define TOPAZ_TRACES_BUNDLE_MANIFEST_H

#include "traces/bundle/bundle.h"
#include "traces/bundle/digest.h"

struct manifest_file {
	char name[BUNDLE_NAME_BYTES];
	uint64_t bytes;
	char (*blocks)[DIGEST_TEXT_BYTES]; /* digest_blocks(bytes) */
};

struct manifest_files {
	size_t count;
	struct manifest_file *files;
};

/* The manifest's text, which the caller frees.  NULL: out of memory. */
char *manifest_format(
    const struct bundle *bundle, const struct manifest_files *files);

/*
 * Fills BUNDLE (all but its path and the images' code) and FILES from TEXT.
 * -TZ_EFORMAT: not JSON, another version, a member is missing or has a bad value.
 */
int manifest_parse(const char *text, size_t bytes, struct bundle *bundle,
    struct manifest_files *files, struct tz_error *err);

void manifest_files_free(struct manifest_files *files);

#endif
