/*
 * Goal: a driver's object depends on its bytes alone, and what does not compile
 * is one line.  Method: a kernel interface of one header, the same source in two
 * folders, sources that are missing or wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/load/build.h"
#include "tests/unit/load/fixture.h"

static const char kpi_json[] =
    "{\"include\": [\"include\"], \"cflags\": [\"-DSMP\"],\n"
    " \"tree_include\": [\"dev/*.h\", \"other.h\"],\n"
    " \"modules\": [{\"name\": \"frame\",\n"
    "               \"sources\": [\"frame.c\", \"rest.c\"],\n"
    "               \"tree\": \"sys/frame\"}]}\n";
static const char header[] = "static inline int x(void) { return 1; }\n";
static const char tree_header[] = "static inline int x(void) { return 2; }\n";
static const char driver[] = "#include <dev/x.h>\n"
			     "#ifndef SMP\n#error SMP\n#endif\n"
			     "const char *file = __FILE__;\n"
			     "#ifdef INVARIANTS\nint checks;\n#endif\n"
			     "int driver(void) { return x(); }\n";

static void
make_dir(const char *name)
{
	assert_int_equal(mkdir(fixture_path(name), 0777), 0);
}

static void
write_text(const char *name, const char *text)
{
	fixture_write(name, text, strlen(text));
}

static struct build_kpi *
make_kpi(void)
{
	static const char *const dirs[] = { "harness", "harness/kpi",
		"harness/kpi/os", "harness/kpi/os/include",
		"harness/kpi/os/include/dev", "one", "one/out", "two", "out",
		"out2", "tree", "tree/sys", "tree/sys/dev" };
	struct build_kpi *kpi;
	struct tz_error err;
	size_t i;

	for (i = 0; i < TZ_ARRAY_LEN(dirs); i++)
		make_dir(dirs[i]);
	write_text("harness/kpi/os/kpi.json", kpi_json);
	write_text("harness/kpi/os/include/dev/x.h", header);
	write_text("tree/sys/dev/x.h", tree_header);
	write_text("one/driver.c", driver);
	write_text("two/driver.c", driver);
	assert_int_equal(build_kpi_read(fixture_dir(), "os", &kpi, &err), 0);
	return kpi;
}

static struct build_options
options_in(const char *dir)
{
	return (struct build_options){ .root = fixture_dir(),
		.dir = fixture_path(dir) };
}

static int
compile(const struct build_kpi *kpi, const struct build_options *options,
    char *const *sources, char **object, struct tz_error *err)
{
	const struct build_unit unit = { .name = "driver", .source = sources };

	return build_object(kpi, options, &unit, object, err);
}

static uint8_t *
build(const struct build_kpi *kpi, const struct build_options *options,
    const char *source, size_t *count)
{
	char *sources[] = { strdup(fixture_path(source)), NULL };
	struct tz_error err;
	uint8_t *bytes;
	char *object;

	assert_int_equal(compile(kpi, options, sources, &object, &err), 0);
	bytes = fixture_read(object, count);
	free(object);
	free(sources[0]);
	return bytes;
}

static void
objects_do_not_depend_on_where_the_source_lives(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options one = options_in("out"), two = options_in("out2");
	size_t count_one, count_two;
	uint8_t *a = build(kpi, &one, "one/driver.c", &count_one);
	uint8_t *b = build(kpi, &two, "two/driver.c", &count_two);

	(void)state;
	assert_int_equal(count_one, count_two);
	assert_memory_equal(a, b, count_one);
	assert_null(memmem(a, count_one, fixture_dir(), strlen(fixture_dir())));
	free(a);
	free(b);
	build_kpi_free(kpi);
}

static void
nor_on_a_folder_of_work_below_the_source(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options out = options_in("out"),
			     below = options_in("one/out");
	size_t count_a, count_b;
	uint8_t *a = build(kpi, &out, "one/driver.c", &count_a);
	uint8_t *b = build(kpi, &below, "one/driver.c", &count_b);

	(void)state;
	assert_int_equal(count_a, count_b);
	assert_memory_equal(a, b, count_a);
	free(a);
	free(b);
	build_kpi_free(kpi);
}

static void
invariants_and_tree_change_the_object(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options options = options_in("out");
	size_t plain_count, checked_count, tree_count;
	uint8_t *plain = build(kpi, &options, "one/driver.c", &plain_count);
	uint8_t *checked, *tree;

	(void)state;
	options.invariants = true;
	checked = build(kpi, &options, "one/driver.c", &checked_count);
	assert_null(memmem(plain, plain_count, "checks", 6));
	assert_non_null(memmem(checked, checked_count, "checks", 6));
	options.invariants = false;
	options.tree = fixture_path("tree");
	tree = build(kpi, &options, "one/driver.c", &tree_count);
	assert_non_null(memmem(tree, tree_count, "\xb8\x02\0\0\0", 5));
	assert_non_null(memmem(plain, plain_count, "\xb8\x01\0\0\0", 5));
	free(plain);
	free(checked);
	free(tree);
	build_kpi_free(kpi);
}

/* A source of the tree replaces the one of its name and no other; one that topaz has
 * not is added. */
static void
a_source_of_the_tree_replaces_the_one_of_its_name(void **state)
{
	struct build_kpi *kpi = make_kpi();
	char **sources;

	(void)state;
	make_dir("tree/sys/frame");
	make_dir("tree/sys/frame/folder.c");
	write_text("tree/sys/frame/frame.c", "");
	write_text("tree/sys/frame/more.c", "");
	write_text("tree/sys/frame/frame.h", "");
	assert_int_equal(kpi->module_count, 1);
	sources = build_module_sources(&kpi->module[0], NULL);
	assert_string_equal(sources[0], fixture_path("harness/kpi/os/frame.c"));
	assert_string_equal(sources[1], fixture_path("harness/kpi/os/rest.c"));
	assert_null(sources[2]);
	build_strings_free(sources);
	sources = build_module_sources(&kpi->module[0], fixture_path("tree"));
	assert_string_equal(sources[0], fixture_path("tree/sys/frame/frame.c"));
	assert_string_equal(sources[1], fixture_path("harness/kpi/os/rest.c"));
	assert_string_equal(sources[2], fixture_path("tree/sys/frame/more.c"));
	assert_null(sources[3]);
	build_strings_free(sources);
	build_kpi_free(kpi);
}

/* Headers by their patterns first, then sources; each as named in the tree. */
static void
what_comes_from_a_tree_is_listed(void **state)
{
	struct build_kpi *kpi = make_kpi();
	char **files;

	(void)state;
	make_dir("tree/sys/frame");
	write_text("tree/sys/dev/a.h", "");
	write_text("tree/sys/third.h", "");
	write_text("tree/sys/frame/frame.c", "");
	files = build_tree_files(kpi, fixture_path("tree"));
	assert_string_equal(files[0], "sys/dev/a.h");
	assert_string_equal(files[1], "sys/dev/x.h");
	assert_string_equal(files[2], "sys/frame/frame.c");
	assert_null(files[3]);
	build_strings_free(files);
	files = build_tree_files(kpi, fixture_path("one"));
	assert_null(files[0]);
	build_strings_free(files);
	build_kpi_free(kpi);
}

/* The same driver with a tree that has the header, and with one that has not. */
static void
a_header_that_the_tree_lacks_is_topazs_own(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options options = options_in("out");
	size_t count;
	uint8_t *bytes;

	(void)state;
	options.tree = fixture_path("tree");
	assert_int_equal(unlink(fixture_path("tree/sys/dev/x.h")), 0);
	write_text("tree/sys/dev/y.h", "");
	bytes = build(kpi, &options, "one/driver.c", &count);
	assert_non_null(memmem(bytes, count, "\xb8\x01\0\0\0", 5));
	free(bytes);
	build_kpi_free(kpi);
}

static void
several_sources_make_one_object(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options options = options_in("out");
	char *sources[] = { strdup(fixture_path("one/driver.c")),
		strdup(fixture_path("one/more.c")), NULL };
	struct tz_error err;
	uint8_t *bytes;
	char *object;
	size_t count;

	(void)state;
	write_text("one/more.c", "int more(void) { return 3; }\n");
	assert_int_equal(compile(kpi, &options, sources, &object, &err), 0);
	bytes = fixture_read(object, &count);
	assert_int_equal(bytes[16], 1); /* ET_REL */
	assert_non_null(memmem(bytes, count, "more", 5));
	free(bytes);
	free(object);
	free(sources[0]);
	free(sources[1]);
	build_kpi_free(kpi);
}

/* The same source in two folders, each with headers and a flag of its own. */
static uint8_t *
build_with_flags(const struct build_kpi *kpi, const char *folder,
    const char *out, const char *define, size_t *count)
{
	struct build_options options = options_in(out);
	char source[256], include[256], map[512];
	char *sources[] = { source, NULL };
	char *flags[] = { include, map, (char *)(uintptr_t)define, NULL };
	const struct build_unit unit = { "driver", sources, flags };
	struct tz_error err;
	uint8_t *bytes;
	char *object;

	snprintf(source, sizeof(source), "%s/%s/own.c", fixture_dir(), folder);
	snprintf(
	    include, sizeof(include), "-I%s/%s/include", fixture_dir(), folder);
	snprintf(map, sizeof(map), "-ffile-prefix-map=%s=include", include + 2);
	assert_int_equal(build_object(kpi, &options, &unit, &object, &err), 0);
	bytes = fixture_read(object, count);
	free(object);
	return bytes;
}

static void
flags_are_the_units_and_leave_no_path(void **state)
{
	static const char own[] = "#include <own.h>\nint own(void) "
				  "{ return own_file()[0] + WORD; }\n";
	static const char own_header[] =
	    "static inline const char *own_file(void) { return __FILE__; }\n";
	struct build_kpi *kpi = make_kpi();
	size_t count_a, count_b, count_c;
	uint8_t *a, *b, *c;

	(void)state;
	make_dir("one/include");
	make_dir("two/include");
	write_text("one/own.c", own);
	write_text("two/own.c", own);
	write_text("one/include/own.h", own_header);
	write_text("two/include/own.h", own_header);
	a = build_with_flags(kpi, "one", "out", "-DWORD=1", &count_a);
	b = build_with_flags(kpi, "two", "out2", "-DWORD=1", &count_b);
	c = build_with_flags(kpi, "two", "out2", "-DWORD=2", &count_c);
	assert_int_equal(count_a, count_b);
	assert_memory_equal(a, b, count_a);
	assert_null(memmem(a, count_a, fixture_dir(), strlen(fixture_dir())));
	assert_true(count_b != count_c || memcmp(b, c, count_b) != 0);
	free(a);
	free(b);
	free(c);
	build_kpi_free(kpi);
}

static void
what_does_not_compile_is_one_line(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options options = options_in("out");
	char *wrong[] = { strdup(fixture_path("one/wrong.c")), NULL };
	char *missing[] = { strdup(fixture_path("one/missing.c")), NULL };
	struct tz_error err;
	char *object;

	(void)state;
	write_text("one/wrong.c", "#pragma GCC error \"meant\"\nint f(\n");
	assert_int_equal(
	    compile(kpi, &options, wrong, &object, &err), -TZ_EUSAGE);
	assert_non_null(strstr(
	    err.text, "one/wrong.c: does not compile: gcc ended with 1"));
	assert_int_equal(
	    compile(kpi, &options, missing, &object, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "missing.c: No such file"));
	options.cc = "no-such-compiler";
	assert_int_equal(compile(kpi, &options, wrong, &object, &err), -TZ_EIO);
	assert_non_null(strstr(err.text, "no-such-compiler: cannot be run"));
	free(wrong[0]);
	free(missing[0]);
	build_kpi_free(kpi);
}

static void
what_does_not_link_is_said_so(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options options = options_in("out");
	char *sources[3] = { NULL };
	struct tz_error err;
	char *object;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const char *name = i == 0 ? "one/first.c" : "one/second.c";

		write_text(name, "int twice(void) { return 2; }\n");
		sources[i] = strdup(fixture_path(name));
	}
	assert_int_equal(
	    compile(kpi, &options, sources, &object, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, ": does not link: gcc ended with 1"));
	free(sources[0]);
	free(sources[1]);
	build_kpi_free(kpi);
}

/* The second source's compiler ends first; the third one's is killed. */
static void
the_first_source_that_does_not_compile_is_named(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options options = options_in("out");
	char *sources[4] = { NULL };
	struct tz_error err;
	char *object;

	(void)state;
	write_text("one/cc",
	    "#!/bin/sh\ncase \"$*\" in\n"
	    "*part0.c*) sleep 0.3; exit 3 ;;\n"
	    "*part1.c*) exit 4 ;;\n"
	    "esac\nsleep 1000\n");
	assert_int_equal(chmod(fixture_path("one/cc"), 0700), 0);
	options.cc = fixture_path("one/cc");
	for (unsigned i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "one/part%u.c", i);
		write_text(name, "");
		sources[i] = strdup(fixture_path(name));
	}
	assert_int_equal(
	    compile(kpi, &options, sources, &object, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "part0.c: does not compile: "));
	assert_non_null(strstr(err.text, "ended with 3"));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	for (unsigned i = 0; i < 3; i++)
		free(sources[i]);
	build_kpi_free(kpi);
}

static void
check_refused(const struct build_kpi *kpi, const struct build_options *options,
    const char *source, const char *why)
{
	char *sources[] = { strdup(fixture_path(source)), NULL };
	struct tz_error err = { "" };
	char *object;

	if (compile(kpi, options, sources, &object, &err) != -TZ_EUSAGE ||
	    strstr(err.text, why) == NULL)
		fail_msg("%s: \"%s\" is not: %s", source, err.text, why);
	free(sources[0]);
}

/* Without limits none of these would end. */
static void
what_the_compiler_may_use_is_bounded(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options options = options_in("out");

	(void)state;
	/* A guard, should a limit not hold. */
	alarm(100);
	options.seconds = 2;
	write_text("one/endless.c", "#include \"/dev/zero\"\n");
	/* On a busy machine the wall clock may be the first limit. */
	check_refused(kpi, &options, "one/endless.c", "does not compile: gcc");
	write_text("one/twice.c",
	    "#if __INCLUDE_LEVEL__ < 40\n"
	    "#include \"twice.c\"\n#include \"twice.c\"\n"
	    "#endif\n");
	check_refused(kpi, &options, "one/twice.c", "--cc-seconds");
	write_text("one/large.c", "char large[1u << 30] = { 1 };\n");
	check_refused(kpi, &options, "one/large.c", "does not compile: gcc");
	/* One that waits for ever, and its child. */
	write_text("one/cc", "#!/bin/sh\nsleep 1000 & sleep 1000\n");
	assert_int_equal(chmod(fixture_path("one/cc"), 0700), 0);
	options.cc = fixture_path("one/cc");
	options.seconds = 1;
	check_refused(
	    kpi, &options, "one/endless.c", "did not end within 4 seconds");
	options.cc = NULL;
	assert_int_equal(mkfifo(fixture_path("one/fifo.c"), 0600), 0);
	check_refused(
	    kpi, &options, "one/fifo.c", "fifo.c: not a regular file");
	alarm(0);
	build_kpi_free(kpi);
}

/* It runs in another folder than the one that its path is relative to. */
static void
a_compiler_may_be_named_by_a_relative_path(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct build_options options = options_in("out");
	size_t count;

	(void)state;
	write_text("one/cc", "#!/bin/sh\nexec gcc \"$@\"\n");
	assert_int_equal(chmod(fixture_path("one/cc"), 0700), 0);
	assert_int_equal(chdir(fixture_path("one")), 0);
	options.cc = "./cc";
	free(build(kpi, &options, "one/driver.c", &count));
	options.cc = "./none";
	check_refused(
	    kpi, &options, "one/driver.c", "--cc ./none: No such file");
	build_kpi_free(kpi);
	assert_int_equal(chdir("/"), 0);
}

static void
bad_descriptions_name_their_place(void **state)
{
	struct build_kpi *kpi = make_kpi();
	struct tz_error err;

	(void)state;
	build_kpi_free(kpi);
	assert_int_equal(
	    build_kpi_read(fixture_dir(), "none", &kpi, &err), -TZ_ENOENT);
	write_text("harness/kpi/os/kpi.json", "{\"include\": [\n1,]}");
	assert_int_equal(
	    build_kpi_read(fixture_dir(), "os", &kpi, &err), -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "kpi.json:2:"));
	write_text("harness/kpi/os/kpi.json", "{\"include\": [1]}");
	assert_int_equal(
	    build_kpi_read(fixture_dir(), "os", &kpi, &err), -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "\"include\"[0] is not a string"));
	write_text("harness/kpi/os/kpi.json", "{\"include\": []}");
	assert_int_equal(
	    build_kpi_read(fixture_dir(), "os", &kpi, &err), -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "\"cflags\""));
}

static void
digests_are_those_of_sha256(void **state)
{
	char one[] = "a\\b", two[] = "bc", absent[] = "absent";
	char *paths[] = { strdup(fixture_path(one)), strdup(fixture_path(two)),
		NULL };
	char *missing[] = { strdup(fixture_path(absent)), NULL };
	char digest[BUILD_SHA256_BYTES];
	struct tz_error err;

	(void)state;
	fixture_write(one, "a", 1);
	fixture_write(two, "bc", 2);
	assert_int_equal(build_sha256(paths, digest, &err), 0);
	assert_string_equal(digest,
	    "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(build_sha256(missing, digest, &err), -TZ_EUSAGE);
	free(paths[0]);
	free(paths[1]);
	free(missing[0]);
}

int
main(void)
{
#define TEST(name) \
 cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(objects_do_not_depend_on_where_the_source_lives),
		TEST(nor_on_a_folder_of_work_below_the_source),
		TEST(invariants_and_tree_change_the_object),
		TEST(a_source_of_the_tree_replaces_the_one_of_its_name),
		TEST(what_comes_from_a_tree_is_listed),
		TEST(a_header_that_the_tree_lacks_is_topazs_own),
		TEST(several_sources_make_one_object),
		TEST(flags_are_the_units_and_leave_no_path),
		TEST(what_does_not_compile_is_one_line),
		TEST(what_does_not_link_is_said_so),
		TEST(the_first_source_that_does_not_compile_is_named),
		TEST(what_the_compiler_may_use_is_bounded),
		TEST(a_compiler_may_be_named_by_a_relative_path),
		TEST(bad_descriptions_name_their_place),
		TEST(digests_are_those_of_sha256),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
