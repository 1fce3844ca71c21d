#define _GNU_SOURCE
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/load/spawn.h"
#include "tests/unit/load/fixture.h"

static char dir[PATH_MAX];

int
fixture_setup(void **state)
{
	(void)state;
	strcpy(dir, P_tmpdir "/topaz-test-XXXXXX");
	return mkdtemp(dir) == NULL;
}

int
fixture_teardown(void **state)
{
	const char *const argv[] = { "rm", "-rf", "--", dir, NULL };
	struct spawn_end end = { .status = 1 };

	(void)state;
	return spawn_run(&(struct spawn){ .argv = argv, .seconds = 60 }, &end,
		   NULL) != 0 ||
	    end.status != 0;
}

const char *
fixture_dir(void)
{
	return dir;
}

const char *
fixture_path(const char *name)
{
	static char path[16][PATH_MAX + 64];
	static unsigned next;
	char *at = path[next++ % TZ_ARRAY_LEN(path)];

	snprintf(at, sizeof(path[0]), "%s/%s", dir, name);
	return at;
}

const char *
fixture_write(const char *name, const void *bytes, size_t count)
{
	const char *path = fixture_path(name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	assert_int_equal(fclose(file), 0);
	return path;
}

uint8_t *
fixture_read(const char *path, size_t *count)
{
	FILE *file = fopen(path, "r");
	uint8_t *bytes;
	long size;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	assert_true(size >= 0);
	rewind(file);
	*count = (size_t)size;
	bytes = malloc(*count + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *count, file), *count);
	fclose(file);
	return bytes;
}

static const char *
compile(const char *name, const char *source, const char *const *flags)
{
	const char *argv[24] = { "gcc", "-g", "-O1", "-ffreestanding",
		"-fno-pic", "-fno-pie", "-fcf-protection=none",
		"-fno-asynchronous-unwind-tables" };
	size_t count = 8;
	char source_name[64];
	struct tz_error err;
	struct spawn_end end = { .status = -1 };

	snprintf(source_name, sizeof(source_name), "%s.c", name);
	fixture_write(source_name, source, strlen(source));
	while (*flags != NULL)
		argv[count++] = *flags++;
	argv[count++] = "-o";
	argv[count++] = name;
	argv[count++] = source_name;
	assert_true(count < TZ_ARRAY_LEN(argv));
	assert_int_equal(
	    spawn_run(
		&(struct spawn){ .argv = argv, .cwd = dir, .seconds = 60 },
		&end, &err),
	    0);
	assert_int_equal(end.status, 0);
	return fixture_path(name);
}

const char *
fixture_module(const char *name, const char *source)
{
	static const char *const flags[] = { "-c", "-mcmodel=kernel",
		"-fno-common", NULL };

	return compile(name, source, flags);
}

const char *
fixture_kernel(const char *name, const char *source)
{
	static const char *const flags[] = { "-nostdlib", "-static", "-no-pie",
		"-mcmodel=kernel", "-Wl,--build-id=none,-z,norelro",
		"-Wl,-Ttext-segment=0xffffffff80200000", NULL };

	return compile(name, source, flags);
}

const char *
fixture_program(const char *name, const char *source)
{
	static const char *const flags[] = { "-nostdlib", "-static", "-no-pie",
		"-Wl,--build-id=none", NULL };

	return compile(name, source, flags);
}
