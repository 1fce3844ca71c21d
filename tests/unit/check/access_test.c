/*
 * Goal: every load and store of the driver in memory that was freed is found, by
 * whichever address and whoever does it for the driver, once; and no other.  Method:
 * runs as tables of events and accesses; what the kernel's table of frames says of the
 * memory; pairs of runs and saved states for what is kept.
 */
#include "tests/unit/check/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/guest/memory/frame.h"

#define GOOD      CHECK_COUNT
#define STEPS_MAX 12
#define FREED     (ABI_DMAP + RIG_FREED)
#define OTHER     (ABI_DMAP + RIG_OTHER)
#define SLAB32    (FRAME_SLAB | 1u << 8)

#define STORE(at) DO(STORE, RIG_TEXT, at, 0)
#define LOAD(at)  DO(LOAD, RIG_TEXT, at, 0)

struct run {
	const char *name;
	enum check_id row; /* GOOD: none */
	struct rig_step steps[STEPS_MAX];
};

static const struct run runs[] = {
	{ "a store", CHECK_STORE_FREED, { STORE(FREED) } },
	{ "a load", CHECK_LOAD_FREED, { LOAD(FREED + 0xff8) } },
	{ "a store that ends in it", CHECK_STORE_FREED, { STORE(FREED - 4) } },
	{ "a store that begins in it", CHECK_STORE_FREED,
	    { STORE(FREED + 0xffc) } },
	{ "before and after it", GOOD,
	    { STORE(FREED - 8), STORE(FREED + 0x1000) } },
	{ "of live memory", GOOD, { STORE(OTHER), LOAD(OTHER + 0xff8) } },
	{ "not by the driver", GOOD, { DO(STORE, RIG_SITE, FREED, 0) } },
	{ "loaded twice, said once", CHECK_LOAD_FREED,
	    { LOAD(FREED), LOAD(FREED + 8) } },
	{ "stored twice, said once", CHECK_STORE_FREED,
	    { STORE(FREED + 8), STORE(FREED) } },
	{ "where it was allocated again", GOOD,
	    { EV(ALLOC, FREED + 0x100, 0x100, 1), STORE(FREED + 0x100),
		LOAD(FREED + 0x1f8) } },
	{ "beside what was allocated again", CHECK_STORE_FREED,
	    { EV(ALLOC, FREED + 0x100, 0x100, 1), STORE(FREED + 0x200) } },
	{ "before what was allocated again", CHECK_LOAD_FREED,
	    { EV(ALLOC, FREED + 0x100, 0x100, 1), LOAD(FREED + 0xfc) } },
	{ "freed once more", CHECK_STORE_FREED,
	    { EV(ALLOC, FREED + 0x100, 0x100, 1), EV(FREE, FREED + 0x100, 0, 2),
		STORE(FREED + 0x1f8) } },
	{ "of an item whose page others use", CHECK_STORE_FREED,
	    { EV(ALLOC, FREED, 32, 1), EV(ALLOC, FREED + 32, 32, 1),
		EV(FREE, FREED + 32, 0, 2), STORE(FREED), STORE(FREED + 56) } },
	{ "behind an item's bytes", GOOD,
	    { DO(FRAME, RIG_FREED, SLAB32, 1), EV(ALLOC, FREED, 20, 1),
		STORE(FREED + 24) } },
	{ "of the next item", CHECK_STORE_FREED,
	    { DO(FRAME, RIG_FREED, SLAB32, 1), EV(ALLOC, FREED, 20, 1),
		STORE(FREED + 32) } },
	{ "of an item that the kernel took", GOOD,
	    { DO(FRAME, RIG_FREED, SLAB32, 2), STORE(FREED + 32) } },
	{ "of a frame that the kernel took", GOOD,
	    { DO(FRAME, RIG_FREED, FRAME_TAKEN, 0), STORE(FREED + 32) } },
	{ "beside an item that the kernel took", CHECK_LOAD_FREED,
	    { DO(FRAME, RIG_FREED, SLAB32, 2), LOAD(FREED + 64) } },
	{ "of a page that was mapped elsewhere", CHECK_STORE_FREED,
	    { EV(ALLOC, RIG_MAPPED, 2 * RIG_PAGE, 1),
		EV(FREE, RIG_MAPPED, 0, 2), STORE(ABI_DMAP + 0x82000) } },
	{ "by another address", CHECK_STORE_FREED,
	    { EV(ALLOC, ABI_DMAP + 0x80000, RIG_PAGE, 1),
		EV(FREE, ABI_DMAP + 0x80000, 0, 2), STORE(RIG_MAPPED + 8) } },
	{ "of memory that is not there", GOOD,
	    { STORE(8), LOAD(UINT64_MAX - 7), STORE(ABI_DMAP + 0x2000000) } },
	{ "by memset", CHECK_STORE_FREED, { CALL("memset", FREED + 8, 1) } },
	{ "by memset of nothing", GOOD, { CALL("memset", FREED + 8, 0) } },
	{ "by memset of the bytes before", GOOD,
	    { CALL("memset", FREED - 64, 64) } },
	{ "by memset from there on", CHECK_STORE_FREED,
	    { CALL("memset", FREED - 64, 65) } },
	{ "by memset over pages", CHECK_STORE_FREED,
	    { CALL("memset", FREED - 0x1800, 0x3000) } },
	{ "by copyin", CHECK_STORE_FREED, { CALL("copyin", FREED, 8) } },
	{ "by copyout", CHECK_LOAD_FREED, { CALL("copyout", FREED, 8) } },
	{ "by memcmp, which may stop before", GOOD,
	    { CALL("memcmp", FREED - 1, 8) } },
	{ "by memcmp", CHECK_LOAD_FREED, { CALL("memcmp", FREED, 8) } },
	{ "of a lock", CHECK_STORE_FREED,
	    { CALL("mutex_lock", FREED + 24, 0) } },
	{ "of too many bytes", GOOD, { CALL("memset", OTHER, UINT64_MAX) } },
	{ "by memset of the kernel's data", CHECK_FOREIGN_STORE,
	    { CALL("memset", RIG_KDATA, 4) } },
	{ "to a variable of the kernel that it may store to", GOOD,
	    { STORE(RIG_SHARED), CALL("memset", RIG_SHARED + 4, 4) } },
	{ "before that variable", CHECK_FOREIGN_STORE,
	    { STORE(RIG_SHARED - 8) } },
	{ "into that variable from before it", CHECK_FOREIGN_STORE,
	    { STORE(RIG_SHARED - 4) } },
	{ "beyond that variable's end", CHECK_FOREIGN_STORE,
	    { STORE(RIG_SHARED + 4) } },
	{ "by memset of the driver's data", GOOD,
	    { CALL("memset", RIG_DATA, 16) } },
	{ "by copyout of the kernel's data", GOOD,
	    { CALL("copyout", RIG_KDATA, 4) } },
};

static void
each_use_of_freed_memory_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(runs); i++) {
		struct check *check = rig_create(false);

		rig_play(check, runs[i].steps);
		if (check_count(check) != (runs[i].row != GOOD) ||
		    (runs[i].row != GOOD &&
			check_at(check, 0)->id != runs[i].row))
			fail_msg("%s: %zu violations, the first %s",
			    runs[i].name, check_count(check),
			    check_count(check) == 0
				? "none"
				: check_info(check_at(check, 0)->id)->name);
		check_destroy(check);
	}
}

/* A pointer to freed memory is read through, then written through: both are said. */
static void
a_store_follows_from_a_load(void **state)
{
	static const struct rig_step steps[] = { LOAD(FREED), STORE(FREED + 8),
		{ 0 } };
	struct check *check = rig_create(false);

	(void)state;
	rig_play(check, steps);
	assert_int_equal(check_count(check), 2);
	assert_int_equal(check_at(check, 0)->id, CHECK_LOAD_FREED);
	assert_int_equal(check_at(check, 1)->id, CHECK_STORE_FREED);
	assert_true(check_is_symptom(check_at(check, 1), check_at(check, 0)));
	check_destroy(check);
}

/* A panic of a guarded heap names the calls that allocated and freed. */
static void
a_fault_names_the_object(void **state)
{
	static const struct rig_step steps[] = {
		{ RIG_PANICS,
		    .text = "use after free: 0x10, of 8 bytes at 0x10 "
			    "allocated by 0xffffffff81000020, freed by "
			    "0xffffffff81000040" },
		{ 0 }
	};
	struct check *check = rig_create(false);

	(void)state;
	rig_play(check, steps);
	assert_int_equal(check_count(check), 1);
	assert_int_equal(check_at(check, 0)->id, CHECK_USE_AFTER_FREE);
	assert_int_equal(check_at(check, 0)->object_va, RIG_TEXT + 0x1f);
	assert_int_equal(check_at(check, 0)->blame.rip, RIG_TEXT + 0x3f);
	check_destroy(check);
}

/* The place is the driver's; the function that it called and the object are named. */
static void
a_use_names_the_object(void **state)
{
	static const struct {
		struct rig_step step;
		const char *text;
	} uses[] = {
		{ STORE(OTHER + 0x2008),
		    "8 bytes to 0xffff800000032008, allocated by 0x1233, freed "
		    "by 0xffffffff810000ff" },
		{ CALL("memset", OTHER + 0x2000, 9),
		    "memset: 9 bytes to 0xffff800000032000, allocated by "
		    "0x1233, freed by 0xffffffff810000ff" },
		{ CALL("mutex_lock", OTHER + 0x2010, 0),
		    "mutex_lock at 0xffff800000032010, allocated by 0x1233, "
		    "freed by 0xffffffff810000ff" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(uses); i++) {
		const struct rig_step steps[] = { EV(ALLOC, OTHER + 0x2000, 64,
						      0x1234),
			EV(FREE, OTHER + 0x2000, 0, RIG_TEXT + 0x100),
			uses[i].step, { 0 } };
		const struct check_violation *violation;
		struct check *check = rig_create(false);

		rig_play(check, steps);
		assert_int_equal(check_count(check), 1);
		violation = check_at(check, 0);
		assert_string_equal(violation->text, uses[i].text);
		assert_int_equal(violation->rip, RIG_TEXT);
		assert_int_equal(violation->site.rip, RIG_TEXT);
		assert_int_equal(violation->object_va, 0x1233);
		assert_int_equal(violation->blame.rip, RIG_TEXT + 0xff);
		check_destroy(check);
	}
}

static uint64_t
hash_of(const struct rig_step *steps)
{
	struct check *check = rig_create(false);
	uint64_t hash;

	rig_play(check, steps);
	hash = check_hash(check);
	check_destroy(check);
	return hash;
}

#define TWO EV(ALLOC, OTHER + 0x2000, 64, 1), EV(ALLOC, OTHER + 0x2040, 64, 1)

static void
the_hash_knows_what_was_freed(void **state)
{
	static const struct rig_step live[] = { TWO, { 0 } };
	static const struct rig_step one[] = { TWO,
		EV(FREE, OTHER + 0x2000, 0, 2), EV(FREE, OTHER + 0x2040, 0, 2),
		{ 0 } };
	static const struct rig_step turned[] = { TWO,
		EV(FREE, OTHER + 0x2040, 0, 2), EV(FREE, OTHER + 0x2000, 0, 2),
		{ 0 } };
	static const struct rig_step other[] = { TWO,
		EV(FREE, OTHER + 0x2000, 0, 2), EV(FREE, OTHER + 0x2040, 0, 3),
		{ 0 } };
	static const struct rig_step again[] = { TWO,
		EV(FREE, OTHER + 0x2000, 0, 2),
		EV(ALLOC, OTHER + 0x2000, 64, 1), { 0 } };

	(void)state;
	assert_int_not_equal(hash_of(live), hash_of(one));
	assert_int_equal(hash_of(one), hash_of(turned));
	assert_int_not_equal(hash_of(one), hash_of(other));
	assert_int_equal(hash_of(live), hash_of(again));
}

static void
a_state_goes_back(void **state)
{
	static const struct rig_step use[] = { STORE(FREED), { 0 } };
	static const struct rig_step taken[] = { EV(ALLOC, FREED, RIG_PAGE, 1),
		EV(ALLOC, OTHER + 0x2000, 64, 1),
		EV(FREE, OTHER + 0x2000, 0, 2), STORE(FREED), { 0 } };
	static const struct rig_step other[] = { STORE(OTHER + 0x2000), { 0 } };
	struct check *check = rig_create(false);
	void *saved = malloc(check_size(check));
	uint64_t hash = check_hash(check);

	(void)state;
	assert_non_null(saved);
	check_save(check, saved);
	for (int i = 0; i < 2; i++) {
		rig_play(check, taken);
		assert_int_equal(check_count(check), 0);
		check_restore(check, saved);
		assert_int_equal(check_hash(check), hash);
		rig_play(check, other);
		assert_int_equal(check_count(check), 0);
		rig_play(check, use);
		assert_int_equal(check_count(check), 1);
		assert_int_not_equal(check_hash(check), hash);
		check_restore(check, saved);
	}
	/* What was said in one run is said in the next. */
	rig_play(check, use);
	check_begin(check);
	rig_play(check, use);
	assert_int_equal(check_count(check), 1);
	free(saved);
	check_destroy(check);
}

/* Parts come and go in any order; each is found as long as it is there. */
static void
many_parts_are_kept(void **state)
{
	struct check *check = rig_create(false);
	struct rig_step step[2] = { { 0 }, { 0 } };
	static bool freed[256];
	uint32_t random = 1;

	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		unsigned item;

		random = random * 1103515245 + 12345;
		item = random >> 16 & 255;
		step[0] = freed[item]
		    ? (struct rig_step)EV(
			  ALLOC, OTHER + 0x20000 + item * 48, 48, item)
		    : (struct rig_step)EV(
			  ALLOC, OTHER + 0x20000 + item * 48, 48, 1);
		rig_play(check, step);
		freed[item] = false;
		if (random >> 30 != 0) {
			step[0] = (struct rig_step)EV(
			    FREE, OTHER + 0x20000 + item * 48, 0, 2);
			rig_play(check, step);
			freed[item] = true;
		}
	}
	for (unsigned item = 0; item < 256; item++) {
		step[0] = (struct rig_step)STORE(OTHER + 0x20010 + item * 48);
		check_begin(check);
		rig_play(check, step);
		if (check_count(check) != freed[item])
			fail_msg("item %u", item);
	}
	check_destroy(check);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_use_of_freed_memory_is_found),
		cmocka_unit_test(a_store_follows_from_a_load),
		cmocka_unit_test(a_fault_names_the_object),
		cmocka_unit_test(a_use_names_the_object),
		cmocka_unit_test(the_hash_knows_what_was_freed),
		cmocka_unit_test(a_state_goes_back),
		cmocka_unit_test(many_parts_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
