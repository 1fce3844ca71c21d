/*
 * Goal: the tables that the driver gives to the hardware are what the SDM
 * wants. Method: physical memory is made up, so that it can lie anywhere in 52
 * bits and run out at will; the tables are read back entry by entry, by the
 * bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "driver/insntrace/core/buffer/topa.h"

#define PAGE       UINT64_C(4096)
#define END        UINT64_C(0x1)
#define INT        UINT64_C(0x4)
#define STOP       UINT64_C(0x10)
#define ADDRESS    UINT64_C(0xffffffffff000)
#define FLAGS      UINT64_C(0x3f)
#define SIZE(n)    ((uint64_t)(n) << 6)

#define BLOCKS_MAX 5000

/* Physical addresses go up from next_pa; block I is freed or not. */
struct fake {
	uint64_t next_pa;
	unsigned count, limit, live;
	struct block {
		void *va;
		uint64_t pa, pages;
	} block[BLOCKS_MAX];
};

static struct fake fake;

static void *
fake_alloc(void *arg, uint64_t pages, uint64_t align_pages)
{
	struct fake *self = arg;
	uint64_t align = align_pages * PAGE;
	struct block *block;

	if (self->count == self->limit)
		return NULL;
	block = &self->block[self->count++];
	block->pages = pages;
	block->pa = (self->next_pa + align - 1) / align * align;
	/* One page stays free: blocks are no neighbours. */
	self->next_pa = block->pa + (pages + 1) * PAGE;
	/* Of a large chunk nobody needs the bytes. */
	block->va = calloc(pages > 16 ? 1 : pages, PAGE);
	assert_non_null(block->va);
	self->live++;
	return block->va;
}

static void
fake_free(void *arg, uint64_t pa, uint64_t pages)
{
	struct fake *self = arg;

	for (unsigned i = 0; i < self->count; i++) {
		struct block *block = &self->block[i];

		if (block->pa != pa || block->va == NULL)
			continue;
		assert_int_equal(block->pages, pages);
		free(block->va);
		block->va = NULL;
		self->live--;
		return;
	}
	fail_msg(
	    "free of 0x%llx, which is not allocated", (unsigned long long)pa);
}

static uint64_t
fake_va_to_pa(void *arg, const void *va)
{
	struct fake *self = arg;

	for (unsigned i = 0; i < self->count; i++)
		if (self->block[i].va == va)
			return self->block[i].pa;
	fail_msg("no such block");
	return 0;
}

static const struct topa_memory memory = {
	.arg = &fake,
	.alloc = fake_alloc,
	.free = fake_free,
	.va_to_pa = fake_va_to_pa,
};

static void
start(uint64_t first_pa)
{
	fake.next_pa = first_pa;
	fake.count = 0;
	fake.live = 0;
	fake.limit = BLOCKS_MAX;
}

static void
build(struct topa *topa, uint32_t count, uint32_t order, bool stop_on_full)
{
	assert_true(topa_build(topa, count, order, stop_on_full, &memory));
}

static void
destroy(struct topa *topa)
{
	topa_free(topa, &memory);
	assert_int_equal(fake.live, 0);
	assert_int_equal(topa->table_count, 0);
}

/* FLAGS of chunk INDEX; GAP: chunks since the last mark, this one included. */
static void
check_marks(const struct topa *topa, bool stop_on_full, uint32_t index,
    uint64_t flags, uint32_t *gap)
{
	bool last = index == topa->chunk_count - 1;

	if (stop_on_full) {
		assert_int_equal(flags, last ? INT | STOP : 0);
		return;
	}
	assert_true(flags == INT || (flags == 0 && !last));
	assert_true(++*gap <= (topa->chunk_count + 3) / 4);
	if (flags == INT)
		*gap = 0;
}

/* Walks the chain from the first table as hardware does. */
static void
check_chain(const struct topa *topa, bool stop_on_full)
{
	uint32_t seen = 0, gap = 0;

	for (uint32_t i = 0; i < topa->table_count; i++) {
		const struct topa_table *table = &topa->table[i];
		uint32_t next = (i + 1) % topa->table_count;
		uint64_t end = table->entry[table->chunk_count];

		assert_int_equal(table->pa % PAGE, 0);
		assert_true(table->chunk_count >= 1);
		for (uint32_t j = 0; j < table->chunk_count; j++, seen++) {
			uint64_t entry = table->entry[j];

			check_marks(
			    topa, stop_on_full, seen, entry & FLAGS, &gap);
			assert_int_equal(
			    entry & ~ADDRESS & ~FLAGS, SIZE(topa->chunk_order));
			assert_int_equal(
			    (entry & ADDRESS) % topa_chunk_bytes(topa), 0);
			assert_int_equal(
			    entry & ADDRESS, topa_chunk_pa(topa, seen));
		}
		assert_int_equal(end, topa->table[next].pa | END);
	}
	assert_int_equal(seen, topa->chunk_count);
}

static void
a_circular_table_interrupts_four_times_a_round(void **state)
{
	struct topa topa;

	(void)state;
	for (uint32_t chunks = 4; chunks <= 256; chunks++) {
		uint32_t count = 0;

		start(0x100000);
		build(&topa, chunks, 0, false);
		assert_int_equal(topa.table_count, 1);
		check_chain(&topa, false);
		for (uint32_t i = 0; i < chunks; i++)
			count += (topa.table[0].entry[i] & INT) != 0;
		assert_int_equal(count, 4);
		destroy(&topa);
	}
}

static void
a_stopping_table_interrupts_and_stops_in_its_last_chunk(void **state)
{
	struct topa topa;

	(void)state;
	start(0x100000);
	build(&topa, 16, 0, true);
	check_chain(&topa, true);
	destroy(&topa);
}

static void
one_chunk_is_both_first_and_last(void **state)
{
	struct topa topa;

	(void)state;
	start(0x100000);
	build(&topa, 1, 0, false);
	assert_int_equal(topa.table[0].entry[0] & FLAGS, INT);
	assert_int_equal(topa.table[0].entry[1], topa.table[0].pa | END);
	assert_int_equal(topa.table[0].entry[2], 0);
	destroy(&topa);
}

static void
a_table_holds_2047_chunks_and_the_next_takes_the_rest(void **state)
{
	static const struct {
		uint32_t chunks, tables, last;
	} rows[] = {
		{ 2046, 1, 2046 },
		{ 2047, 1, 2047 },
		{ 2048, 2, 1 },
		{ 4094, 2, 2047 },
		{ 4095, 3, 1 },
		{ 4096, 3, 2 },
	};
	struct topa topa;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(0x100000);
		build(&topa, rows[i].chunks, 0, (i & 1) != 0);
		assert_int_equal(topa.table_count, rows[i].tables);
		assert_int_equal(
		    topa.table[topa.table_count - 1].chunk_count, rows[i].last);
		check_chain(&topa, (i & 1) != 0);
		destroy(&topa);
	}
}

static void
chunks_of_every_order_are_aligned_to_their_size(void **state)
{
	struct topa topa;

	(void)state;
	for (uint32_t order = 0; order <= TOPA_ORDER_MAX; order++) {
		start(0x101000);
		build(&topa, 5, order, false);
		assert_int_equal(topa_bytes(&topa), (5 * PAGE) << order);
		check_chain(&topa, false);
		destroy(&topa);
	}
}

/* Above 4 GiB, 64 GiB and 2^48, in chunks and in END entries. */
static void
addresses_keep_all_their_bits(void **state)
{
	static const uint64_t places[] = {
		UINT64_C(0xfffff000),
		UINT64_C(0x1234567000),
		UINT64_C(0xfff1234567000),
	};
	struct topa topa;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		start(places[i]);
		build(&topa, 2048, 0, false);
		assert_int_equal(topa.table[0].pa, places[i]);
		check_chain(&topa, false);
		assert_int_equal(
		    topa_chunk_pa(&topa, 2047), fake.block[fake.count - 1].pa);
		destroy(&topa);
	}
}

static void
a_build_that_runs_out_of_memory_frees_all(void **state)
{
	static const unsigned limits[] = { 0, 1, 2, 3, 4, 5, 100, 2051 };
	struct topa topa;

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		start(0x100000);
		fake.limit = limits[i];
		assert_false(topa_build(&topa, 2048, 0, false, &memory));
		assert_int_equal(fake.count, limits[i]);
		assert_int_equal(fake.live, 0);
	}
}

static uint64_t
ptrs(uint64_t index, uint64_t offset)
{
	return offset << 32 | index << 7 | 0x7f;
}

static void
a_table_that_changed_is_noticed_and_freed(void **state)
{
	struct topa topa;

	(void)state;
	start(0x100000);
	build(&topa, 2050, 0, false);
	assert_true(topa_intact(&topa));
	for (uint32_t i = 0; i <= 2047; i += 23) {
		topa.table[0].entry[i] ^= PAGE;
		assert_false(topa_intact(&topa));
		topa.table[0].entry[i] ^= PAGE;
	}
	assert_true(topa_intact(&topa));
	topa.table[1].entry[3] ^= STOP;
	assert_false(topa_intact(&topa));
	topa.table[0].entry[7] = 0;
	destroy(&topa);
}

/*
 * 512 GiB: regions of 128 MiB at the upper end of 52 bits of address, in three tables.
 * Each region is aligned to its size, and each place in the tables has its position.
 */
static void
the_largest_buffer_has_its_place(void **state)
{
	const uint64_t region = UINT64_C(128) << 20;
	struct topa topa;
	uint64_t position;

	(void)state;
	start(UINT64_C(0xff00000100000));
	build(&topa, TOPA_CHUNKS_MAX, TOPA_ORDER_MAX, false);
	assert_true(
	    topa_chunk_pa(&topa, TOPA_CHUNKS_MAX - 1) < UINT64_C(1) << 52);
	assert_int_equal(topa_bytes(&topa), UINT64_C(512) << 30);
	assert_int_equal(topa.table_count, 3);
	check_chain(&topa, false);
	for (uint32_t i = 0; i < TOPA_CHUNKS_MAX; i += 13) {
		const struct topa_table *table = &topa.table[i / 2047];

		assert_true(topa_position(&topa, table->pa,
		    ptrs(i % 2047, (uint32_t)region - 1), &position));
		assert_int_equal(position, (i + 1) * region - 1);
	}
	assert_true(topa_position(
	    &topa, topa.table[2].pa, ptrs(1, (uint32_t)region), &position));
	assert_int_equal(position, topa_bytes(&topa));
	destroy(&topa);
}

/* 4 GiB of chunks: sizes and positions take more than 32 bits. */
static void
a_large_buffer_keeps_its_size(void **state)
{
	static const struct topa topa = {
		.chunk_count = 4096,
		.chunk_order = 8,
		.table_count = 1,
		.table = { { .pa = 0x1000, .chunk_count = 4096 } },
	};
	uint64_t position;

	(void)state;
	assert_int_equal(topa_bytes(&topa), UINT64_C(1) << 32);
	assert_true(topa_position(&topa, 0x1000, ptrs(4096, 0), &position));
	assert_int_equal(position, UINT64_C(1) << 32);
}

static void
every_place_in_the_tables_has_one_position(void **state)
{
	struct topa topa;
	uint64_t position;

	(void)state;
	start(0x100000);
	build(&topa, 2050, 1, false);
	assert_true(
	    topa_position(&topa, topa.table[0].pa, ptrs(0, 0), &position));
	assert_int_equal(position, 0);
	assert_true(
	    topa_position(&topa, topa.table[0].pa, ptrs(7, 8191), &position));
	assert_int_equal(position, 7 * 8192 + 8191);
	assert_true(
	    topa_position(&topa, topa.table[1].pa, ptrs(2, 5), &position));
	assert_int_equal(position, 2049 * 8192 + 5);
	/* A full region, and the END entry not yet followed. */
	assert_true(
	    topa_position(&topa, topa.table[1].pa, ptrs(2, 8192), &position));
	assert_int_equal(position, topa_bytes(&topa));
	assert_true(
	    topa_position(&topa, topa.table[1].pa, ptrs(3, 0), &position));
	assert_int_equal(position, topa_bytes(&topa));
	destroy(&topa);
}

static void
a_place_outside_the_tables_has_no_position(void **state)
{
	struct topa topa;
	uint64_t position;

	(void)state;
	start(0x100000);
	build(&topa, 4, 0, false);
	assert_false(topa_position(&topa, 0, ptrs(0, 0), &position));
	assert_false(
	    topa_position(&topa, topa.table[0].pa, ptrs(5, 0), &position));
	assert_false(
	    topa_position(&topa, topa.table[0].pa, ptrs(4, 1), &position));
	assert_false(
	    topa_position(&topa, topa.table[0].pa, ptrs(0, 4097), &position));
	destroy(&topa);
}

/* Chunk I is page 100 + 3 I. */
static uint64_t
given_chunk(void *arg, uint32_t index)
{
	assert_ptr_equal(arg, &fake);
	return (100 + 3 * index) * TOPA_PAGE_BYTES;
}

static void
chunks_of_the_callers_stay_the_callers(void **state)
{
	struct topa_memory given = memory;
	struct topa topa;

	(void)state;
	given.chunk = given_chunk;
	start(0x100000);
	assert_true(topa_build(&topa, 3000, 0, false, &given));
	/* Two tables and their copies. */
	assert_int_equal(fake.live, 4);
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(
		    topa_chunk_pa(&topa, i), (100 + 3 * i) * TOPA_PAGE_BYTES);
	topa_free(&topa, &given);
	assert_int_equal(fake.live, 0);
}

static void
pmis_are_where_the_marks_are(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= 9; count++) {
		struct topa topa;

		start(0x100000);
		build(&topa, count, 0, false);
		for (uint32_t i = 0; i < count; i++) {
			uint64_t end = (i + 1) * TOPA_PAGE_BYTES;
			bool marked = (topa.table[0].entry[i] & INT) != 0;

			assert_int_equal(
			    topa_raises_pmi(&topa, end - 1, end), marked);
			assert_false(topa_raises_pmi(&topa, end, end + 4095));
		}
		destroy(&topa);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_circular_table_interrupts_four_times_a_round),
		cmocka_unit_test(
		    a_stopping_table_interrupts_and_stops_in_its_last_chunk),
		cmocka_unit_test(one_chunk_is_both_first_and_last),
		cmocka_unit_test(
		    a_table_holds_2047_chunks_and_the_next_takes_the_rest),
		cmocka_unit_test(
		    chunks_of_every_order_are_aligned_to_their_size),
		cmocka_unit_test(addresses_keep_all_their_bits),
		cmocka_unit_test(a_build_that_runs_out_of_memory_frees_all),
		cmocka_unit_test(a_table_that_changed_is_noticed_and_freed),
		cmocka_unit_test(a_large_buffer_keeps_its_size),
		cmocka_unit_test(the_largest_buffer_has_its_place),
		cmocka_unit_test(every_place_in_the_tables_has_one_position),
		cmocka_unit_test(a_place_outside_the_tables_has_no_position),
		cmocka_unit_test(chunks_of_the_callers_stay_the_callers),
		cmocka_unit_test(pmis_are_where_the_marks_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
