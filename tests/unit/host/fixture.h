/* A folder for a test's files, which is also where temporary folders go. */
#ifndef TOPAZ_TESTS_UNIT_HOST_FIXTURE_H
#define TOPAZ_TESTS_UNIT_HOST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/base/base.h"

/* Makes it, names it in TMPDIR and goes there; the second removes it. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Its path. */
const char *fixture_dir(void);

/* Files in it, by their relative names. */
void fixture_write(const char *name, const char *text);
void fixture_read(const char *name, char *text, size_t size);
bool fixture_has(const char *name);

/* How many entries of the folder NAME begin with PREFIX. */
unsigned fixture_count(const char *name, const char *prefix);

/* Waits until a child wrote a byte to FD; and lets it end by SIGKILL. */
void fixture_await(int fd);
void fixture_kill(pid_t child);

#endif
