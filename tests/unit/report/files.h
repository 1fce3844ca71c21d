/*
 * A folder for a test's files, and their content.
 */
#ifndef TOPAZ_TESTS_UNIT_REPORT_FILES_H
#define TOPAZ_TESTS_UNIT_REPORT_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FILES_PATH_BYTES 256

/* As setup and teardown of a group: *state is the folder's path. */
int files_setup(void **state);
int files_teardown(void **state);

/* Path of NAME in the folder; valid until the next call. */
const char *files_path(void **state, const char *name);
/* Whole content with a NUL after it; to be freed. */
char *files_read(const char *path);
void files_write(const char *path, const char *content);

#endif
