/*
 * A manifest for tests: written into a folder of its own, so that it is read as a
 * driver's is.
 */
#ifndef TOPAZ_TESTS_UNIT_MANIFEST_FIXTURE_H
#define TOPAZ_TESTS_UNIT_MANIFEST_FIXTURE_H

#include "harness/manifest/manifest.h"

/* A small driver with everything that the format has. */
extern const char fixture_text[];

/* The errno of reading TEXT as driver "x"; *SAID begins after the folder. */
int fixture_read(
    const char *text, struct manifest **manifest, const char **said);

/* fixture_text itself. */
struct manifest *fixture_manifest(void);

/* fixture_text with FROM, which must be in it, replaced by TO. */
const char *fixture_with(const char *from, const char *to);

/* A sequence that is right. */
struct sequence fixture_sequence(
    const struct manifest *manifest, const char *text);

#endif
