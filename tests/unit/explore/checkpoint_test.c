/*
 * Goal: a checkpoint comes back as it was written, and only for the same exploration;
 * a damaged one is refused.  An effort and a budget are divided as they say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/explore/parts/checkpoint.h"
#include "harness/explore/parts/effort.h"

#define KEY   77
#define ITEMS 5000

static char path[] = "/tmp/topaz-checkpoint-XXXXXX";

static struct checkpoint *
make(void)
{
	struct checkpoint *checkpoint = calloc(1, sizeof(*checkpoint));

	assert_non_null(checkpoint);
	checkpoint->parts = 3;
	checkpoint->stats.group_count = 2;
	checkpoint->stats.area[4].done = 99;
	checkpoint->reached.code[7] = 8;
	checkpoint->reached.results[9] = 10;
	for (unsigned i = 0; i < ITEMS; i++)
		assert_true(checkpoint_add(checkpoint, i % 3 == 0));
	return checkpoint;
}

static void
it_comes_back_for_the_same_exploration(void **state)
{
	struct checkpoint *written = make(), *read = NULL;
	struct tz_error err;

	(void)state;
	assert_int_equal(checkpoint_write(path, KEY, written, &err), 0);
	assert_int_equal(
	    checkpoint_read(path, KEY + 1, &read, &err), -TZ_ENOENT);
	assert_int_equal(checkpoint_read(path, KEY, &read, &err), 0);
	assert_int_equal(read->parts, 3);
	assert_int_equal(read->count, ITEMS);
	assert_memory_equal(read->novel, written->novel, ITEMS);
	assert_memory_equal(&read->stats, &written->stats, sizeof(read->stats));
	assert_memory_equal(read->reached.code, written->reached.code,
	    sizeof(read->reached.code));
	assert_memory_equal(read->reached.results, written->reached.results,
	    sizeof(read->reached.results));
	checkpoint_free(read);
	checkpoint_free(written);
	unlink(path);
	assert_int_equal(checkpoint_read(path, KEY, &read, &err), -TZ_ENOENT);
}

static void
a_damaged_one_is_refused(void **state)
{
	static const long places[] = { 3, 40, 5000, -3 };
	struct checkpoint *written = make(), *read = NULL;
	struct tz_error err;
	FILE *file;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(places); i++) {
		assert_int_equal(checkpoint_write(path, KEY, written, &err), 0);
		file = fopen(path, "r+");
		assert_non_null(file);
		assert_int_equal(
		    fseek(file, places[i], places[i] < 0 ? SEEK_END : SEEK_SET),
		    0);
		fputc(0x5a, file);
		fclose(file);
		assert_int_equal(
		    checkpoint_read(path, KEY, &read, &err), -TZ_EFORMAT);
		assert_non_null(strstr(err.text, path));
	}
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(checkpoint_read(path, KEY, &read, &err), -TZ_EFORMAT);
	checkpoint_free(written);
	unlink(path);
}

static void
budgets_are_divided_whole(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct effort_parts parts = effort_of_budget(100000, i != 0);

		assert_in_range(parts.one + parts.calls + parts.sequences +
			parts.novel + parts.pairs + parts.random,
		    99990, 100000);
		assert_int_equal(parts.sequences != 0, i);
	}
	for (unsigned i = 0; i < EFFORT_COUNT; i++) {
		const struct effort_info *info = effort_info((enum effort)i);

		assert_int_equal(effort_find(info->name), i);
		if (i != 0)
			assert_true(info->parts.pairs >
			    effort_info((enum effort)(i - 1))->parts.pairs);
	}
	assert_int_equal(effort_find("none"), EFFORT_COUNT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_back_for_the_same_exploration),
		cmocka_unit_test(a_damaged_one_is_refused),
		cmocka_unit_test(budgets_are_divided_whole),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 2;
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
