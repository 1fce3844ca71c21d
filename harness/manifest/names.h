/*
 * Checks names in a manifest that become names of files, folders, modules and programs:
 * no name may lead out of the folder in which it is looked up.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_NAMES_H
#define TOPAZ_HARNESS_MANIFEST_NAMES_H

#include "emu/base/base.h"

struct schema;

/*
 * Checks SCHEMA, which was read from TEXT, the content of PATH (FOLDER/driver.yaml).
 * -TZ_EFORMAT: PATH:LINE:COLUMN and the cause.
 */
int names_check(const struct schema *schema, const char *path, const char *text,
    size_t text_bytes, struct tz_error *err);

#endif
