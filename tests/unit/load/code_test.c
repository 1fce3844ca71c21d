/*
 * Goal: two objects have one digest exactly if they are the same once loaded.  Method:
 * modules of a line or two, each beside one that differs in one thing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "harness/load/elf/elf.h"
#include "tests/unit/load/fixture.h"

static bool
is_same(const char *one, const char *other)
{
	struct elf_digest a, b;
	struct tz_error err;

	assert_int_equal(
	    elf_code_digest(fixture_module("one.o", one), &a, &err), 0);
	assert_int_equal(
	    elf_code_digest(fixture_module("two.o", other), &b, &err), 0);
	return a.low == b.low && a.high == b.high;
}

static void
names_of_locals_and_lines_do_not_count(void **state)
{
	(void)state;
	assert_true(is_same("int f(int a) { return a + 1; }",
	    "\n\nint f(int other)\n{\n	return 1 + other;\n}\n"));
}

static void
code_counts(void **state)
{
	(void)state;
	assert_false(is_same("int f(int a) { return a + 1; }",
	    "int f(int a) { return a + 2; }"));
}

static void
data_counts_also_where_there_are_no_bytes(void **state)
{
	(void)state;
	assert_false(is_same("int v[2] = { 1, 2 };", "int v[2] = { 1, 3 };"));
	assert_false(is_same("int v[2];", "int v[3];"));
	assert_false(is_same("const int v = 1;", "int v = 1;"));
}

static void
what_a_relocation_refers_to_counts(void **state)
{
	(void)state;
	assert_false(
	    is_same("void a(void); void b(void); void f(void) { a(); }",
		"void a(void); void b(void); void f(void) { b(); }"));
	assert_false(
	    is_same("static int v[2] = { 1, 2 }; int *f(void) { return v; }",
		"static int v[2] = { 1, 2 }; int *f(void) { return v + 1; }"));
	/* The same symbols in the same order, and the same bytes. */
	assert_false(is_same("void a(void); void b(void);"
			     "void f(void) { a(); b(); a(); }",
	    "void a(void); void b(void);"
	    "void f(void) { a(); b(); b(); }"));
	assert_false(is_same(
	    "extern int x, y; int *v = &x;", "extern int x, y; int *v = &y;"));
}

static void
global_names_count(void **state)
{
	(void)state;
	assert_false(
	    is_same("int f(void) { return 1; }", "int g(void) { return 1; }"));
}

static void
what_is_no_object_is_an_error(void **state)
{
	struct elf_digest digest;
	struct tz_error err;

	(void)state;
	assert_int_equal(
	    elf_code_digest(fixture_write("text", "text", 4), &digest, &err),
	    -TZ_EFORMAT);
	assert_int_equal(
	    elf_code_digest("/nowhere", &digest, &err), -TZ_ENOENT);
	assert_int_equal(
	    elf_code_digest(fixture_kernel("kernel", "void _start(void) {}"),
		&digest, &err),
	    -TZ_EFORMAT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_locals_and_lines_do_not_count),
		cmocka_unit_test(code_counts),
		cmocka_unit_test(data_counts_also_where_there_are_no_bytes),
		cmocka_unit_test(what_a_relocation_refers_to_counts),
		cmocka_unit_test(global_names_count),
		cmocka_unit_test(what_is_no_object_is_an_error),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
