/*
 * Goal: a source that is read from elsewhere gives the object that it would give in its
 * own place.  Method: a driver with a header beside it and its own name in it, compiled as
 * it is, from a copy, and from a copy that is changed.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "harness/load/build.h"
#include "harness/load/elf/elf.h"
#include "tests/unit/load/fixture.h"

/* The headers of both folders are there: the nearer one counts, and only it. */
static const char source[] = "#include \"own.h\"\n"
			     "#include <other.h>\n"
			     "const char *where(void) { return __FILE__; }\n"
			     "int f(void) { return OWN + OTHER; }\n";

static void
write_text(const char *name, const char *text)
{
	fixture_write(name, text, strlen(text));
}

static struct build_kpi *
make_kpi(void)
{
	static const char *const folders[] = { "harness", "harness/kpi",
		"harness/kpi/os", "harness/kpi/os/include", "driver", "out",
		"elsewhere" };
	struct build_kpi *kpi;
	struct tz_error err;

	for (size_t i = 0; i < TZ_ARRAY_LEN(folders); i++)
		mkdir(fixture_path(folders[i]), 0777);
	write_text("harness/kpi/os/kpi.json",
	    "{\"include\": [\"include\"], \"cflags\": []}");
	write_text("harness/kpi/os/include/own.h", "#define OWN 100\n");
	write_text("harness/kpi/os/include/other.h",
	    "#include \"deep.h\"\n#define OTHER DEEP\n");
	write_text("harness/kpi/os/include/deep.h", "#define DEEP 20\n");
	write_text("driver/own.h", "#define OWN 1\n");
	write_text("driver/deep.h", "#define DEEP 2000\n");
	write_text("driver/driver.c", source);
	write_text("driver/more.c", "int more(void) { return 3; }\n");
	if (build_kpi_read(fixture_dir(), "os", &kpi, &err) != 0)
		fail_msg("%s", err.text);
	return kpi;
}

/* REPLACEMENT of driver.c, with a line that says what it stands for; NULL: itself. */
static int
build(const char *replacement, unsigned count, struct elf_digest *digest,
    struct tz_error *err)
{
	struct build_kpi *kpi = make_kpi();
	char *replaced = realpath(fixture_path("driver/driver.c"), NULL);
	char *sources[] = { strdup(fixture_path("driver/driver.c")),
		count > 1 ? strdup(fixture_path("driver/more.c")) : NULL,
		NULL };
	struct build_options options = { .root = fixture_dir(),
		.dir = strdup(fixture_path("out")) };
	const struct build_unit unit = { .name = "driver", .source = sources };
	char *text, *object = NULL;
	int error;

	assert_true(asprintf(&text, "# 1 \"%s\"\n%s", replaced,
			replacement != NULL ? replacement : "") > 0);
	write_text("elsewhere/text", text);
	if (replacement != NULL) {
		options.replaced = replaced;
		options.replacement = fixture_path("elsewhere/text");
	}
	error = build_object(kpi, &options, &unit, &object, err);
	if (error == 0)
		assert_int_equal(elf_code_digest(object, digest, err), 0);
	free((void *)(uintptr_t)options.dir);
	free(object);
	free(text);
	free(replaced);
	free(sources[0]);
	free(sources[1]);
	build_kpi_free(kpi);
	return error;
}

static bool
is_same(const char *replacement, unsigned count)
{
	struct elf_digest own, other;
	struct tz_error err;

	assert_int_equal(build(NULL, count, &own, &err), 0);
	if (build(replacement, count, &other, &err) != 0)
		fail_msg("%s", err.text);
	return own.low == other.low && own.high == other.high;
}

static void
a_copy_elsewhere_is_the_same(void **state)
{
	(void)state;
	assert_true(is_same(source, 1));
}

static void
it_is_one_of_several_sources(void **state)
{
	(void)state;
	assert_true(is_same(source, 2));
}

static void
a_changed_copy_is_another(void **state)
{
	char changed[sizeof(source)];

	(void)state;
	memcpy(changed, source, sizeof(changed));
	*strstr(changed, "+") = '-';
	assert_false(is_same(changed, 1));
	assert_false(is_same(changed, 2));
}

static void
one_that_does_not_compile_is_an_error(void **state)
{
	struct elf_digest digest;
	struct tz_error err;

	(void)state;
	assert_int_equal(build("int f(\n", 1, &digest, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "driver.c: does not compile"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_elsewhere_is_the_same),
		cmocka_unit_test(it_is_one_of_several_sources),
		cmocka_unit_test(a_changed_copy_is_another),
		cmocka_unit_test(one_that_does_not_compile_is_an_error),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
