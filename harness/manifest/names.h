/*
 * Names in a manifest that become names of files, folders, modules and programs: none of
 * them may lead out of the folder that it is looked for in.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_NAMES_H
#define TOPAZ_HARNESS_MANIFEST_NAMES_H

#include "emu/base/base.h"

struct schema;

/*
 * Checks SCHEMA, which TEXT in PATH said, PATH being FOLDER/driver.yaml.  -TZ_EFORMAT:
 * PATH:LINE:COLUMN and the cause.
 */
int names_check(const struct schema *schema, const char *path, const char *text,
    size_t text_bytes, struct tz_error *err);

#endif
