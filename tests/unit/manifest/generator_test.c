/*
 * Goal: a rank is always the same sequence, the exhaustive part has no sequence
 * twice, and whatever comes can be run. Method: all ranks of a small driver, some
 * of the real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/manifest/fixture.h"

#include <cmocka.h>

#define DRAWN 3000

static const char *root;

static char *
name_of(const struct manifest *manifest, const struct sequence *sequence)
{
	char text[1024];

	assert_true(sequence_format(manifest, sequence, text, sizeof(text)));
	return strdup(text);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
the_exhaustive_part_names_each_sequence_once(void **state)
{
	struct manifest *manifest = fixture_manifest();
	struct generator *generator = generator_create(manifest, 2, 1);
	uint64_t ranks = generator_exhaustive(generator), rank;
	char **name = calloc(ranks, sizeof(*name));
	/* 7 operations with 12 variants are 19 letters, on 3 prefixes; pairs. */
	uint64_t all = 3 * (1 + 19 + 19 * 19) + 3 * 7 * 7;
	struct sequence sequence;
	size_t count = 0, i;
	char *key;

	(void)state;
	assert_non_null(name);
	assert_int_equal(ranks, all);
	for (rank = 0; rank < ranks; rank++) {
		if (generator_at(generator, rank, &sequence))
			name[count++] = name_of(manifest, &sequence);
	}
	qsort(name, count, sizeof(*name), compare);
	for (i = 1; i < count; i++)
		assert_string_not_equal(name[i - 1], name[i]);
	/* Short ones, a prefix with one, and one with its variant are there. */
	static const char *const there[] = { "set.1+cpus", "openb.1+open.1",
		"open+set+cpus+setb.5", "open-+1openb", "open+set+cpus-+1exit",
		"open+1wait", "open+set" };
	for (i = 0; i < TZ_ARRAY_LEN(there); i++) {
		key = (char *)(uintptr_t)there[i];
		assert_non_null(
		    bsearch(&key, name, count, sizeof(*name), compare));
	}
	/* What would wait for ever, and what comes after the end, is not. */
	static const char *const absent[] = { "1wait", "exit+open", "wait" };
	for (i = 0; i < TZ_ARRAY_LEN(absent); i++) {
		key = (char *)(uintptr_t)absent[i];
		assert_null(bsearch(&key, name, count, sizeof(*name), compare));
	}
	for (i = 0; i < count; i++)
		free(name[i]);
	free(name);
	generator_destroy(generator);
	manifest_free(manifest);
}

static bool
same(const struct manifest *manifest, const struct sequence *a,
    const struct sequence *b)
{
	char *a_name = name_of(manifest, a), *b_name = name_of(manifest, b);
	bool result = strcmp(a_name, b_name) == 0;

	free(a_name);
	free(b_name);
	return result;
}

/* Each can be parsed, and made a script of; few are the same. */
static void
drawn_ones_are_a_function_of_seed_and_rank(void **state)
{
	struct manifest *manifest;
	struct generator *one, *again, *other;
	struct sequence a, b, c;
	struct script *script = malloc(sizeof(*script));
	unsigned repeats = 0, differ = 0;
	static char *name[DRAWN];
	struct tz_error err;
	uint64_t first, i;
	size_t count = 0;
	bool new;

	(void)state;
	assert_non_null(script);
	assert_int_equal(manifest_read(root, "freebsd-pt", &manifest, &err), 0);
	one = generator_create(manifest, 2, 7);
	again = generator_create(manifest, 2, 7);
	other = generator_create(manifest, 2, 8);
	first = generator_exhaustive(one);
	for (i = 0; i < DRAWN; i++) {
		new = generator_at(one, first + i, &a);
		/* Backwards: no rank depends on another. */
		generator_at(again, first + i, &b);
		generator_at(again, first + DRAWN - i, &c);
		generator_at(again, first + i, &c);
		assert_true(same(manifest, &a, &b));
		assert_true(same(manifest, &a, &c));
		generator_at(other, first + i, &c);
		differ += !same(manifest, &a, &c);
		if (!new)
			continue;
		name[count] = name_of(manifest, &a);
		assert_int_equal(
		    sequence_parse(manifest, name[count++], &b, &err), 0);
		if (sequence_script(manifest, &a, 2, script, &err) != 0)
			fail_msg("%s: %s", name[count - 1], err.text);
	}
	assert_true(differ > DRAWN * 9 / 10);
	qsort(name, count, sizeof(name[0]), compare);
	for (i = 1; i < count; i++)
		repeats += strcmp(name[i - 1], name[i]) == 0;
	assert_true(count > DRAWN * 9 / 10);
	assert_true(repeats < DRAWN / 100);
	for (i = 0; i < count; i++)
		free(name[i]);
	free(script);
	generator_destroy(one);
	generator_destroy(again);
	generator_destroy(other);
	manifest_free(manifest);
}

static void
a_changed_one_differs_and_can_be_parsed(void **state)
{
	struct manifest *manifest;
	struct generator *generator;
	struct sequence from, to, again;
	struct tz_error err;
	unsigned differ = 0;
	uint64_t seed;
	char *name;

	(void)state;
	assert_int_equal(manifest_read(root, "insntrace", &manifest, &err), 0);
	generator = generator_create(manifest, 2, 1);
	from = fixture_sequence(
	    manifest, manifest_scenario(manifest, "it-two-cpus")->steps);
	for (seed = 0; seed < DRAWN; seed++) {
		generator_mutate(generator, &from, seed, &to);
		generator_mutate(generator, &from, seed, &again);
		assert_true(same(manifest, &to, &again));
		differ += !same(manifest, &from, &to);
		name = name_of(manifest, &to);
		if (to.count != 0)
			assert_int_equal(
			    sequence_parse(manifest, name, &again, &err), 0);
		free(name);
		if (seed % 8 != 0)
			from = to;
		else
			from = fixture_sequence(manifest, "open+init");
	}
	assert_true(differ > DRAWN * 3 / 4);
	generator_destroy(generator);
	manifest_free(manifest);
}

/* Who shares the life's object comes as it is; who configures, in each valid way. */
static void
pairs_are_of_one_object(void **state)
{
	static const char *const there[] = { "open+1set-+set+cpus",
		"open+1set.1-+set+cpus", "open+1set.3-+set+cpus",
		"open+1set.4-+set+cpus", "open+1set.5-+set+cpus",
		"open+1wait-+set+cpus", "open+1exit-+set" };
	struct manifest *manifest = fixture_manifest();
	struct sequence life = fixture_sequence(manifest, "open+set+cpus");
	struct sequence_pairs pairs = { .manifest = manifest, .life = &life };
	struct sequence pair;
	unsigned first;
	size_t count = 0;
	char *name;

	(void)state;
	while (sequence_pairs_next(&pairs, &pair, &first)) {
		assert_true(count < TZ_ARRAY_LEN(there));
		name = name_of(manifest, &pair);
		assert_string_equal(name, there[count++]);
		assert_int_equal(first, 1);
		free(name);
	}
	assert_int_equal(count, TZ_ARRAY_LEN(there));
	manifest_free(manifest);
}

/*
 * Two lives: each after each, with others' operations, other values, one more everywhere.
 */
static void
neighbours_are_lives_with_more(void **state)
{
	struct manifest *manifest = fixture_manifest();
	struct sequence life[2], sequence;
	struct sequence_neighbours neighbours = {
		.values = { .manifest = manifest, .life = life, .life_count = 2 }
	};
	struct tz_error err;
	bool joined = false, ended = false, valued = false, foreign = false;
	bool plain = false, late = false;
	size_t count = 0;
	char *name;

	(void)state;
	assert_int_equal(
	    sequence_parse(manifest, "open+set", &life[0], &err), 0);
	assert_int_equal(
	    sequence_parse(manifest, "open+exit", &life[1], &err), 0);
	while (sequence_neighbours_next(&neighbours, &sequence)) {
		name = name_of(manifest, &sequence);
		joined |= count < 4 && strcmp(name, "open+open+set") == 0;
		ended |= strcmp(name, "open+exit") == 0;
		valued |= strcmp(name, "open+set.4") == 0;
		foreign |= !valued && strcmp(name, "open+set.4+exit") == 0;
		late |= count < 4 + 6 && strcmp(name, "open+set+cpus") == 0;
		plain |= !valued && strcmp(name, "open+set+exit") == 0;
		count++;
		free(name);
	}
	assert_true(joined);
	assert_true(ended);
	/*
	 * 4 joined; late, openb and cpus in both, wait and exit in the first;
	 * as an operation that it has not, openb in both, set in the second, and
	 * as they are set in the second and the strict one in both;
	 * one variant of each open, five of set; 7 operations at 3 places, but for none
	 * after the end, and the strict one only behind what it needs.
	 */
	assert_true(valued);
	assert_true(foreign);
	assert_true(plain);
	assert_true(late);
	assert_int_equal(count,
	    4 + (4 + 2) + (1 + 1 + 5) + (1 + 2) + (1 + 5 + 1) + 7 * 5 - 2);
	manifest_free(manifest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_exhaustive_part_names_each_sequence_once),
		cmocka_unit_test(drawn_ones_are_a_function_of_seed_and_rank),
		cmocka_unit_test(a_changed_one_differs_and_can_be_parsed),
		cmocka_unit_test(pairs_are_of_one_object),
		cmocka_unit_test(neighbours_are_lives_with_more),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
