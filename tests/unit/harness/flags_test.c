/*
 * Goal: what a manifest adds to the compiler's command line is what it says, and an
 * entry that may not be is one line with its place.  Method: manifests in a folder
 * with headers beside it and in it; flags that write files, run programs or name files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/drivers.h"
#include "harness/flags.h"

static char root[] = "/tmp/topaz-flags-XXXXXX";
static struct driver driver;
static struct tz_error err;

static const char *
path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static int
make_folders(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(mkdir(path_of("common"), 0700), 0);
	assert_int_equal(mkdir(path_of("a=b"), 0700), 0);
	assert_int_equal(mkdir(path_of("x"), 0700), 0);
	assert_int_equal(mkdir(path_of("x/include"), 0700), 0);
	assert_int_equal(symlink("../common", path_of("x/linked")), 0);
	return 0;
}

static int
remove_folders(void **state)
{
	static const char *const files[] = { "x/driver.yaml", "x/linked" };
	static const char *const folders[] = { "x/include", "x", "a=b",
		"common", "" };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(files); i++)
		unlink(path_of(files[i]));
	for (size_t i = 0; i < TZ_ARRAY_LEN(folders); i++)
		rmdir(path_of(folders[i]));
	return 0;
}

/* Reads the driver "x" with LINES after the three that it has to have. */
static int
read_with(const char *lines)
{
	FILE *file = fopen(path_of("x/driver.yaml"), "w");
	int error;

	assert_non_null(file);
	fprintf(file, "name: x\nos: native\nowner: o\n%s", lines);
	assert_int_equal(fclose(file), 0);
	error = driver_read(root, "x", &driver, &err);
	if (error != 0)
		driver_free(&driver);
	return error;
}

/* Flag INDEX is BEFORE, the folder of drivers, and AFTER. */
static void
assert_flag(size_t index, const char *before, const char *after)
{
	char text[256];

	snprintf(text, sizeof(text), "%s%s%s", before, root, after);
	assert_string_equal(driver.flags[index], text);
}

static void
the_flags_are_what_the_manifest_says(void **state)
{
	(void)state;
	assert_int_equal(read_with("include: [include, ../common]\n"
				   "defines: [DEBUG, \"LEVEL=a b\"]\n"
				   "cflags: [-O1, -Wno-unused, -std=gnu11]\n"),
	    0);
	assert_flag(0, "-I", "/x/include");
	assert_flag(1, "-ffile-prefix-map=", "/x/include=include");
	assert_flag(2, "-I", "/common");
	assert_flag(3, "-ffile-prefix-map=", "/common=../common");
	assert_string_equal(driver.flags[4], "-DDEBUG");
	assert_string_equal(driver.flags[5], "-DLEVEL=a b");
	assert_string_equal(driver.flags[6], "-O1");
	assert_string_equal(driver.flags[7], "-Wno-unused");
	assert_string_equal(driver.flags[8], "-std=gnu11");
	assert_null(driver.flags[9]);
	driver_free(&driver);
}

static void
a_manifest_without_them_adds_nothing(void **state)
{
	(void)state;
	assert_int_equal(read_with(""), 0);
	assert_null(driver.flags);
	driver_free(&driver);
}

static void
a_folder_may_be_named_absolutely(void **state)
{
	char lines[128];

	(void)state;
	snprintf(lines, sizeof(lines), "include: [%s/common]\n", root);
	assert_int_equal(read_with(lines), 0);
	assert_flag(0, "-I", "/common");
	driver_free(&driver);
}

static const struct {
	const char *lines, *said;
} wrongs[] = {
	{ "include: [none]", ":4:11: include: \"none\": No such file" },
	{ "include: [include, driver.yaml]",
	    ":4:20: include: \"driver.yaml\": not a folder" },
	{ "include: [linked]",
	    ":4:11: include: \"linked\": not in the driver" },
	{ "include: [include/../..]", "not in the driver's folder" },
	{ "include: [\"\"]", ":4:11: include: \"\": no folder" },
	{ "include: [\"../a=b\"]", "a path with '='" },
	{ "include: include", ":4:10: a list is wanted, this is a text" },
	{ "defines: [A, 1]", ":4:14: defines: \"1\": neither NAME nor" },
	{ "defines: [\"A B\"]", "neither NAME nor NAME=VALUE" },
	{ "defines: [\"\"]", "neither NAME nor NAME=VALUE" },
	{ "defines: [\"-o\"]", "neither NAME nor NAME=VALUE" },
	{ "defines: [\"A=\\n\"]", "neither NAME nor NAME=VALUE" },
	{ "defines: [A, AB, A=2]", ":4:18: defines: \"A\" is there twice" },
	{ "cflags: [-O2, \"-o\", x]", ":4:15: cflags: \"-o\": none of the" },
	{ "cflags: [\"\"]", ":4:10: cflags: \"\": none of the" },
};

static void
a_wrong_entry_is_one_line_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(wrongs); i++) {
		assert_int_equal(read_with(wrongs[i].lines), -TZ_EFORMAT);
		assert_null(strchr(err.text, '\n'));
		if (strstr(err.text, wrongs[i].said) == NULL)
			fail_msg("%s: \"%s\" instead of \"%s\"",
			    wrongs[i].lines, err.text, wrongs[i].said);
	}
}

/* Writes files, runs programs, reads further ones, or breaks the guest's rules. */
static const char *const refused[] = { "-o", "-ox", "-wrapper", "-wrapper=x",
	"-fplugin=x", "-fplugin-arg-x", "-B/x", "-B", "-save-temps",
	"-save-temps=obj", "@file", "-fdump-tree-all", "-Wp,-MD,x", "-Wa,-o,x",
	"-Wl,-o,x", "-MD", "-MF", "-gsplit-dwarf", "-fprofile-generate",
	"--coverage", "-ftest-coverage", "-fstack-usage", "-fcallgraph-info",
	"-fopt-info=x", "-specs=x", "-include", "-imacros", "-I/x", "-isystem",
	"-DX", "-march=native", "-mtune=native", "-mred-zone", "-msse", "-fpic",
	"-fomit-frame-pointer", "-flto", "-fuse-ld=x", "-x", "-c", "-E", "-S",
	"-v", "-T", "-L/x", "-lx", "-Xclang", "-load", "-mllvm", "-fmodules",
	"-fcrash-diagnostics-dir=x", "-ffile-prefix-map=a=b",
	"-fdebug-prefix-map=a=b", "-frandom-seed=x", "x.c", "-", "--",
	"-fdiagnostics-format=sarif-file", "-fauto-profile=x", "-Ofast",
	"-O2\\n", "-std=c\\n" };

static void
flags_that_reach_further_are_refused(void **state)
{
	char lines[128];

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(refused); i++) {
		snprintf(
		    lines, sizeof(lines), "cflags: [\"%s\"]\n", refused[i]);
		if (read_with(lines) != -TZ_EFORMAT)
			fail_msg("%s is allowed", refused[i]);
		if (strstr(err.text, "driver.yaml:4:10: cflags: ") == NULL)
			fail_msg("%s", err.text);
	}
}

static void
every_row_is_allowed(void **state)
{
	char lines[128];
	const char *text;

	(void)state;
	for (size_t i = 0; (text = flags_allowed(i)) != NULL; i++) {
		snprintf(lines, sizeof(lines), "cflags: [\"%s\"]\n", text);
		assert_int_equal(read_with(lines), 0);
		assert_string_equal(driver.flags[0], text);
		driver_free(&driver);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_flags_are_what_the_manifest_says),
		cmocka_unit_test(a_manifest_without_them_adds_nothing),
		cmocka_unit_test(a_folder_may_be_named_absolutely),
		cmocka_unit_test(a_wrong_entry_is_one_line_with_its_place),
		cmocka_unit_test(flags_that_reach_further_are_refused),
		cmocka_unit_test(every_row_is_allowed),
	};

	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
