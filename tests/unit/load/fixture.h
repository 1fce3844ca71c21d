/*
 * A temporary folder, files in it, and ELF files compiled from a line of C.
 */
#ifndef TOPAZ_TESTS_UNIT_LOAD_FIXTURE_H
#define TOPAZ_TESTS_UNIT_LOAD_FIXTURE_H

#include "emu/base/base.h"

/* cmocka setup and teardown: a fresh folder, removed with all in it. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* The folder, and DIR/NAME in a buffer that the sixteenth next call reuses. */
const char *fixture_dir(void);
const char *fixture_path(const char *name);

const char *fixture_write(const char *name, const void *bytes, size_t count);

/* Reads a whole file, to be freed. */
uint8_t *fixture_read(const char *path, size_t *count);

/* Compiles SOURCE as a kernel module, kernel or user program; gives its path. */
const char *fixture_module(const char *name, const char *source);
const char *fixture_kernel(const char *name, const char *source);
const char *fixture_program(const char *name, const char *source);

#endif
