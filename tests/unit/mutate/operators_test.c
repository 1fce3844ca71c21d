/*
 * Goal: each mutation operator makes exactly the edits that it promises, and none in
 * assertions, messages and headers.  Method: small sources in a file, the mutants of one
 * operator as text, "OWNER:LINE {OLD -> NEW}" each, in order.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/mutate/mutant.h"

/* What every source begins with: lines of the tests count after it. */
static const char begin[] =
    "void call(int); int test(int, int); void *make(int); void KASSERT_(int);\n"
    "void mutex_lock(int *); void mutex_unlock(int *); void cpu_pause(void);\n"
    "void printf(const char *, ...); void rendezvous(int); int lock, v;\n"
    "#define KASSERT(e, m) do { if (!(e)) KASSERT_(0); } while (0)\n"
    "#define EACH(i) for (int i = 0; i < 4; i++)\n"
    "#define FIVE 5\n#define NEST (FIVE)\n#define TWICE(x) ((x) + (x))\n"
    "#define ID(x) x\n#define SEVEN ID(7)\n";
#define BEGIN_LINES 10

static char path[] = P_tmpdir "/topaz-operators-XXXXXX.c";

static int
make_file(void **state)
{
	int fd = mkstemps(path, 2);

	(void)state;
	return fd < 0 || close(fd) != 0;
}

static int
remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void
parse(const char *source, struct syntax *syntax)
{
	static const char *const arguments[] = { "-std=gnu17", NULL };
	FILE *file = fopen(path, "w");
	struct tz_error err;

	assert_non_null(file);
	assert_true(fputs(begin, file) >= 0 && fputs(source, file) >= 0);
	assert_int_equal(fclose(file), 0);
	if (syntax_parse(path, arguments, syntax, &err) != 0)
		fail_msg("%s", err.text);
}

/* All mutants by OP of SOURCE; to be freed. */
static char *
mutants_of(const char *source, enum mutant_operator op,
    const struct call_row *own, size_t own_count)
{
	struct mutant_list list = { .at = NULL };
	struct syntax syntax;
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	assert_non_null(file);
	parse(source, &syntax);
	operators_apply(&syntax, own, own_count, &list);
	assert_false(list.failed);
	for (size_t i = 0; i < list.count; i++) {
		const struct mutant *mutant = &list.at[i];

		if (mutant->op != op || mutant->line <= BEGIN_LINES)
			continue;
		fprintf(
		    file, "%s:%u", mutant->owner, mutant->line - BEGIN_LINES);
		for (unsigned j = 0; j < mutant->edit_count; j++) {
			const struct edit *edit = &mutant->edit[j];

			fprintf(file, " {%.*s -> %s}",
			    (int)(edit->at.end - edit->at.begin),
			    syntax.text + edit->at.begin, edit->text);
		}
		putc('\n', file);
	}
	assert_int_equal(fclose(file), 0);
	mutant_list_free(&list);
	syntax_free(&syntax);
	return text;
}

static void
expect(const char *source, enum mutant_operator op, const char *expected)
{
	char *text = mutants_of(source, op, NULL, 0);

	assert_string_equal(text, expected);
	free(text);
}

static void
calls_are_deleted_whatever_calls_them(void **state)
{
	(void)state;
	expect("void f(void (*g)(int)) {\n"
	       "	call(1);\n"
	       "	(void)test(1, 2);\n"
	       "	g(3);\n"
	       "	if (v)\n"
	       "		call(4);\n"
	       "	v = test(5,\n"
	       "	    6);\n"
	       "	switch (v) { default: call(\n"
	       "		7); }\n"
	       "}\n",
	    OPERATOR_DELETE_CALL,
	    "f:2 {call(1); -> ;}\n"
	    "f:3 {(void)test(1, 2); -> ;}\n"
	    "f:4 {g(3); -> ;}\n"
	    "f:6 {call(4); -> ;}\n"
	    "f:9 {call(\n		7); -> ;\n}\n");
}

static void
neither_assertions_nor_messages_change(void **state)
{
	static const char source[] =
	    "void f(int a) {\n"
	    "	KASSERT(a < 3 && v == 1, (\"%d\", 1));\n"
	    "	printf(\"%d\", a + 1);\n"
	    "	cpu_pause();\n"
	    "}\n";

	(void)state;
	for (unsigned i = 0; i < OPERATOR_COUNT; i++)
		expect(source, (enum mutant_operator)i, "");
}

static void
a_manifest_names_further_calls(void **state)
{
	static const struct call_row own[] = {
		{ CALL_MESSAGE, "te*", NULL },
		{ CALL_LOCK, "call", "KASSERT_" },
	};
	static const char source[] = "void f(void) {\n"
				     "	test(1, 2);\n"
				     "	call(v);\n"
				     "	v = 1;\n"
				     "	KASSERT_(v);\n"
				     "}\n";
	char *text = mutants_of(
	    source, OPERATOR_DELETE_CALL, own, TZ_ARRAY_LEN(own));

	(void)state;
	assert_string_equal(
	    text, "f:3 {call(v); -> ;}\nf:5 {KASSERT_(v); -> ;}\n");
	free(text);
	text = mutants_of(source, OPERATOR_DROP_LOCK, own, TZ_ARRAY_LEN(own));
	assert_string_equal(text, "f:3 {call(v); -> ;} {KASSERT_(v); -> ;}\n");
	free(text);
}

static void
assignments_and_increments_are_deleted(void **state)
{
	(void)state;
	expect("void f(int *p) {\n"
	       "	int n = 1;\n"
	       "	v = n;\n"
	       "	v |= SEVEN;\n"
	       "	*p++;\n"
	       "	n++;\n"
	       "	--n;\n"
	       "	for (n = 0; n < 4; n++)\n"
	       "		v += n;\n"
	       "	v == n;\n"
	       "}\n",
	    OPERATOR_DELETE_ASSIGNMENT,
	    "f:3 {v = n; -> ;}\n"
	    "f:4 {v |= SEVEN; -> ;}\n"
	    "f:6 {n++; -> ;}\n"
	    "f:7 {--n; -> ;}\n"
	    "f:9 {v += n; -> ;}\n");
}

static void
early_jumps_are_deleted_and_the_last_return_is_not(void **state)
{
	(void)state;
	expect("int f(int a) {\n"
	       "	while (a) {\n"
	       "		if (a == 1) break;\n"
	       "		if (a == 2) continue;\n"
	       "		if (a == 3) goto out;\n"
	       "		if (a == 4) return 1;\n"
	       "	}\n"
	       "out:\n"
	       "	return 0;\n"
	       "}\n",
	    OPERATOR_DELETE_JUMP,
	    "f:3 {break; -> ;}\n"
	    "f:4 {continue; -> ;}\n"
	    "f:5 {goto out; -> ;}\n"
	    "f:6 {return 1; -> ;}\n"
	    "f:9 {return 0; -> ;}\n");
	expect("int f(int a) {\n	v = a;\n	return 0;\n}\n",
	    OPERATOR_DELETE_JUMP, "");
}

static void
an_else_goes_with_all_of_it(void **state)
{
	(void)state;
	expect("void f(int a) {\n"
	       "	if (a) call(1); else call(2);\n"
	       "	if (a) {\n"
	       "		call(3);\n"
	       "	} else /* why */ if (v) {\n"
	       "		call(4);\n"
	       "	}\n"
	       "}\n",
	    OPERATOR_DELETE_ELSE,
	    "f:2 {else call(2); -> }\n"
	    "f:5 {else /* why */ if (v) {\n		call(4);\n	} -> \n\n}\n");
}

static void
designated_initialisers_are_deleted_with_their_comma(void **state)
{
	(void)state;
	expect("struct ops { void (*a)(int); int b; };\n"
	       "struct ops ops = {\n"
	       "	.a = call,\n"
	       "	.b = 1\n"
	       "};\n"
	       "int table[] = { [2] = 3, 4 };\n",
	    OPERATOR_DELETE_FIELD,
	    "ops:3 {.a = call, -> }\n"
	    "ops:4 {.b = 1 -> }\n"
	    "table:6 {[2] = 3, -> }\n");
}

static void
a_lock_goes_with_its_unlocks(void **state)
{
	(void)state;
	expect("int f(int a) {\n"
	       "	mutex_lock(&lock);\n"
	       "	if (a) {\n"
	       "		mutex_unlock(&lock);\n"
	       "		return 1;\n"
	       "	}\n"
	       "	mutex_unlock(&v);\n"
	       "	mutex_unlock(&lock);\n"
	       "	return 0;\n"
	       "}\n"
	       "void g(void) {\n"
	       "	mutex_lock(&lock);\n"
	       "}\n",
	    OPERATOR_DROP_LOCK,
	    "f:2 {mutex_lock(&lock); -> ;} {mutex_unlock(&lock); -> ;} "
	    "{mutex_unlock(&lock); -> ;}\n");
}

static void
barriers_atomics_and_ipis_are_dropped_under_that_name(void **state)
{
	static const char source[] =
	    "void f(int *p) {\n"
	    "	__atomic_store_n(p, 1, __ATOMIC_SEQ_CST);\n"
	    "	rendezvous(1);\n"
	    "	call(2);\n"
	    "}\n";

	(void)state;
	expect(source, OPERATOR_DROP_SYNC,
	    "f:2 {__atomic_store_n(p, 1, __ATOMIC_SEQ_CST); -> ;}\n"
	    "f:3 {rendezvous(1); -> ;}\n");
	expect(source, OPERATOR_DELETE_CALL, "f:4 {call(2); -> ;}\n");
}

static void
loops_that_only_wait_are_dropped(void **state)
{
	(void)state;
	expect("void f(void) {\n"
	       "	while (test(1, 2))\n"
	       "		;\n"
	       "	for (int i = 0; i < 9 && v; i++)\n"
	       "		cpu_pause();\n"
	       "	do {\n"
	       "		cpu_pause();\n"
	       "	} while (v);\n"
	       "	while (v)\n"
	       "		call(1);\n"
	       "}\n",
	    OPERATOR_DROP_WAIT,
	    "f:2 {while (test(1, 2))\n		; -> ;\n}\n"
	    "f:4 {for (int i = 0; i < 9 && v; i++)\n		cpu_pause(); -> "
	    ";\n}\n"
	    "f:6 {do {\n		cpu_pause();\n	} while (v); -> ;\n\n}\n");
}

static void
a_goto_skips_to_the_next_label(void **state)
{
	(void)state;
	expect("void f(int a) {\n"
	       "	if (a == 1) goto one;\n"
	       "	if (a == 2) goto two;\n"
	       "one:	call(1);\n"
	       "two:	call(2);\n"
	       "}\n",
	    OPERATOR_SKIP_CLEANUP, "f:2 {one -> two}\n");
}

static void
conditions_and_operands_are_negated(void **state)
{
	(void)state;
	expect("int f(int a, int b) {\n"
	       "	if (a) call(1);\n"
	       "	while (a < b) a++;\n"
	       "	do b--; while (b > 3);\n"
	       "	for (int i = 0; i < a; i++) call(i);\n"
	       "	for (;;) EACH(k) call(k);\n"
	       "	return a ? b : (a && b == 2) || !b;\n"
	       "}\n",
	    OPERATOR_NEGATE_CONDITION,
	    "f:2 {a -> !(a)}\n"
	    "f:3 {a < b -> !(a < b)}\n"
	    "f:4 {b > 3 -> !(b > 3)}\n"
	    "f:5 {i < a -> !(i < a)}\n"
	    "f:7 {a -> !(a)}\n"
	    "f:7 {a -> !(a)}\n"
	    "f:7 {!b -> !(!b)}\n");
}

static void
logical_operators_are_exchanged(void **state)
{
	(void)state;
	expect("int f(int a, int b) {\n"
	       "	return a && b || a /* both && */ && (b);\n"
	       "}\n",
	    OPERATOR_AND_OR,
	    "f:2 {&& -> ||}\n"
	    "f:2 {|| -> &&}\n"
	    "f:2 {&& -> ||}\n");
}

static void
comparisons_are_off_by_one(void **state)
{
	(void)state;
	expect("int f(int a, int b) {\n"
	       "	if (a < b) call(1);\n"
	       "	if ((a == b)) call(2);\n"
	       "	if (a >= b && a != 3) call(3);\n"
	       "	return a <= b == (a > b);\n"
	       "}\n",
	    OPERATOR_COMPARISON,
	    "f:2 {< -> <=}\n"
	    "f:4 {>= -> >}\n"
	    "f:4 {!= -> ==}\n"
	    "f:5 {<= -> <}\n"
	    "f:5 {== -> !=}\n"
	    "f:5 {> -> >=}\n");
}

static void
constants_keep_their_base_and_suffix(void **state)
{
	static const char source[] =
	    "#include <stdbool.h>\n"
	    "#define MASK (1ULL << 4)\n"
	    "#define F(x) ((x) + 7)\n"
	    "enum { NINE = 9 };\n"
	    "static unsigned data[2] = { 0x1fU, 0 };\n"
	    "unsigned f(void) {\n"
	    "	bool good = true;\n"
	    "	__asm__ volatile(\"\" : : \"i\"(3));\n"
	    "	return FIVE + TWICE(6) + 18446744073709551615u + good;\n"
	    "}\n";

	(void)state;
	expect(source, OPERATOR_CONSTANT_UP,
	    "MASK:2 {1ULL -> 2ULL}\n"
	    "MASK:2 {4 -> 5}\n"
	    "NINE:4 {9 -> 10}\n"
	    "data:5 {2 -> 3}\n"
	    "data:5 {0x1fU -> 0x20U}\n"
	    "data:5 {0 -> 1}\n"
	    "f:9 {6 -> 7}\n");
	expect(source, OPERATOR_CONSTANT_DOWN,
	    "MASK:2 {1ULL -> 0ULL}\n"
	    "MASK:2 {4 -> 3}\n"
	    "NINE:4 {9 -> 8}\n"
	    "data:5 {2 -> 1}\n"
	    "data:5 {0x1fU -> 0x1eU}\n"
	    "data:5 {0 -> (-1)}\n"
	    "f:7 {true -> false}\n"
	    "f:9 {6 -> 5}\n"
	    "f:9 {18446744073709551615u -> 18446744073709551614u}\n");
}

static void
bits_are_overwritten_and_complements_dropped(void **state)
{
	static const char source[] = "void f(int a) {\n"
				     "	v |= a;\n"
				     "	v &= ~a;\n"
				     "	v = v & ~(a | FIVE);\n"
				     "	v += NEST;\n"
				     "}\n";

	(void)state;
	expect(source, OPERATOR_OVERWRITE,
	    "f:2 {|= -> =}\nf:3 {&= -> =}\nf:5 {+= -> =}\n");
	expect(source, OPERATOR_DROP_COMPLEMENT, "f:3 {~ -> }\nf:4 {~ -> }\n");
}

static void
statements_are_swapped_where_their_order_means_something(void **state)
{
	(void)state;
	expect("void f(int a) {\n"
	       "	int b = 1;\n"
	       "	call(1);\n"
	       "	/* between */\n"
	       "	call(2);\n"
	       "	if (a) call(3);\n"
	       "	b = a;\n"
	       "	v = 3;\n"
	       "	v = b;\n"
	       "}\n",
	    OPERATOR_SWAP_STATEMENTS,
	    "f:3 {call(1);\n	/* between */\n	call(2); -> "
	    "call(2);\n	/* between */\n	call(1);}\n"
	    "f:8 {v = 3;\n	v = b; -> v = b;\n	v = 3;}\n");
}

static void
arguments_of_one_type_are_swapped(void **state)
{
	(void)state;
	expect("void g(int, const char *, const char *, int);\n"
	       "void f(int a, const char *s, const char *t) {\n"
	       "	test(a, v + 1);\n"
	       "	test(a, a);\n"
	       "	g(a, s, t, v);\n"
	       "}\n",
	    OPERATOR_SWAP_ARGUMENTS,
	    "f:3 {a, v + 1 -> v + 1, a}\n"
	    "f:5 {s, t -> t, s}\n");
}

static void
what_a_macro_makes_is_left_alone(void **state)
{
	(void)state;
	expect("int f(int a) {\n"
	       "	EACH(i)\n"
	       "		call(NEST + TWICE(a + 2));\n"
	       "	return NEST & NEST;\n"
	       "}\n",
	    OPERATOR_CONSTANT_UP, "f:3 {2 -> 3}\n");
	expect("int f(int a) {\n	EACH(i) v = i; return a;\n}\n",
	    OPERATOR_NEGATE_CONDITION, "");
}

static void
code_that_is_not_compiled_has_no_mutants(void **state)
{
	(void)state;
	expect("void f(void) {\n"
	       "#ifdef NOT_THERE\n"
	       "	call(1);\n"
	       "#endif\n"
	       "	call(2);\n"
	       "}\n",
	    OPERATOR_DELETE_CALL, "f:5 {call(2); -> ;}\n");
}

static void
a_source_with_an_error_is_named_with_its_line(void **state)
{
	static const char *const arguments[] = { NULL };
	struct syntax syntax;
	struct tz_error err;
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	fputs("int f(void) {\n	return nothing;\n}\n", file);
	fclose(file);
	assert_int_equal(
	    syntax_parse(path, arguments, &syntax, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, ".c:2: "));
	syntax_free(&syntax);
	assert_int_equal(
	    syntax_parse("/nowhere.c", arguments, &syntax, &err), -TZ_EUSAGE);
	syntax_free(&syntax);
}

static void
mutants_are_in_order_each_once_and_numbered(void **state)
{
	struct mutant_list list = { .at = NULL };
	struct syntax syntax;
	unsigned calls = 0;

	(void)state;
	parse("int f(int a) { return TWICE(a == 3 && test(1, 2)); }\n"
	      "void g(void) { call(1); call(2); }\n",
	    &syntax);
	operators_apply(&syntax, NULL, 0, &list);
	for (size_t i = 0; i < list.count; i++) {
		const struct mutant *one = &list.at[i];

		assert_true(i == 0 ||
		    list.at[i - 1].edit[0].at.begin <= one->edit[0].at.begin);
		for (size_t j = 0; j < i; j++)
			assert_false(list.at[j].op == one->op &&
			    list.at[j].edit[0].at.begin ==
				one->edit[0].at.begin &&
			    strcmp(list.at[j].edit[0].text,
				one->edit[0].text) == 0);
		if (one->op == OPERATOR_DELETE_CALL)
			assert_int_equal(one->number, ++calls);
		/* Names of macros are upper case here. */
		assert_true(one->in_function ==
		    (islower((unsigned char)one->owner[0]) != 0));
	}
	assert_int_equal(calls, 2);
	mutant_list_free(&list);
	syntax_free(&syntax);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_deleted_whatever_calls_them),
		cmocka_unit_test(neither_assertions_nor_messages_change),
		cmocka_unit_test(a_manifest_names_further_calls),
		cmocka_unit_test(assignments_and_increments_are_deleted),
		cmocka_unit_test(
		    early_jumps_are_deleted_and_the_last_return_is_not),
		cmocka_unit_test(an_else_goes_with_all_of_it),
		cmocka_unit_test(
		    designated_initialisers_are_deleted_with_their_comma),
		cmocka_unit_test(a_lock_goes_with_its_unlocks),
		cmocka_unit_test(
		    barriers_atomics_and_ipis_are_dropped_under_that_name),
		cmocka_unit_test(loops_that_only_wait_are_dropped),
		cmocka_unit_test(a_goto_skips_to_the_next_label),
		cmocka_unit_test(conditions_and_operands_are_negated),
		cmocka_unit_test(logical_operators_are_exchanged),
		cmocka_unit_test(comparisons_are_off_by_one),
		cmocka_unit_test(constants_keep_their_base_and_suffix),
		cmocka_unit_test(bits_are_overwritten_and_complements_dropped),
		cmocka_unit_test(
		    statements_are_swapped_where_their_order_means_something),
		cmocka_unit_test(arguments_of_one_type_are_swapped),
		cmocka_unit_test(what_a_macro_makes_is_left_alone),
		cmocka_unit_test(code_that_is_not_compiled_has_no_mutants),
		cmocka_unit_test(a_source_with_an_error_is_named_with_its_line),
		cmocka_unit_test(mutants_are_in_order_each_once_and_numbered),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
