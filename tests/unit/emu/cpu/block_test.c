/*
 * Goal: a stretch of code is described as it stands, and a description is not
 * used for code that changed or moved.
 * Method: code and tables made by hand in a small RAM.
 */
#include "emu/cpu/engine/stale.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RAM_BYTES 0x2000000
#define P         TZ_BIT(0)
#define W         TZ_BIT(1)
#define PT        0x4000
#define KERNEL    UINT64_C(0xffffff8000000000)

static uint8_t ram[RAM_BYTES];
static struct walk_space space = { ram, RAM_BYTES, 0x1000 };
static struct block_cache *cache;

static void
put(uint64_t table, uint64_t index, uint64_t entry)
{
	memcpy(ram + table + index * 8, &entry, sizeof(entry));
}

static bool
select_space(void)
{
	return block_cache_select(
	    cache, &space, &(struct code_written){ .pages = NULL });
}

static int
setup(void **state)
{
	(void)state;
	memset(ram, 0, sizeof(ram));
	put(0x1000, 0, 0x2000 | P | W);
	put(0x1000, 511, 0x2000 | P | W);
	put(0x2000, 0, 0x3000 | P | W);
	for (uint64_t i = 0; i < 8; i++) {
		put(0x3000, i, (PT + i * 0x1000) | P | W);
		for (uint64_t k = 0; k < 512; k++)
			put(PT + i * 0x1000, k, (i * 512 + k) << 12 | P);
	}
	space.cr3 = 0x1000;
	cache = block_cache_create();
	assert_non_null(cache);
	assert_false(select_space());
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	block_cache_destroy(cache);
	return 0;
}

static void
a_block_is_counted_and_its_end_known(void **state)
{
	/* nop; mov eax, 1; rdmsr; rep movsb; jne 0x20000 */
	static const uint8_t code[] = { 0x90, 0xb8, 1, 0, 0, 0, 0x0f, 0x32,
		0xf3, 0xa4, 0x75, 0xf4 };
	static const uint64_t starts[] = { 0, 1, 6, 8, 10, 12 };
	struct block *block;

	(void)state;
	memcpy(ram + 0x20000, code, sizeof(code));
	block = block_find(cache, &space, 0x20000, sizeof(code));
	assert_non_null(block);
	assert_int_equal(block->insns, 5);
	assert_int_equal(block->last.class, INSN_COND);
	assert_int_equal(block->last.target, 0x20000);
	assert_int_equal(block->last_va, 0x2000a);
	assert_int_equal(block->next_va, 0x2000c);
	assert_true(block->has_sites);
	assert_false(block->ambiguous);
	assert_false(block->writable);
	for (unsigned i = 0; i < TZ_ARRAY_LEN(starts); i++)
		assert_int_equal(
		    block_insns_before(block, 0x20000 + starts[i]), i);
	assert_ptr_equal(
	    block_find(cache, &space, 0x20000, sizeof(code)), block);
	block = block_find(cache, &space, 0x20000, 6);
	assert_int_equal(block->insns, 2);
	assert_false(block->has_sites);
}

static void
a_branch_to_the_next_instruction_is_ambiguous(void **state)
{
	static const uint8_t code[] = { 0x90, 0xe2, 0 };
	struct block *block;

	(void)state;
	memcpy(ram + 0x20000, code, sizeof(code));
	block = block_find(cache, &space, 0x20000, sizeof(code));
	assert_true(block->ambiguous);
	assert_true(block->has_sites);
}

/* CMPXCHG of 32 bits is a site unless the block itself has made RAX small. */
static void
cmpxchg_after_a_small_rax_is_no_site(void **state)
{
	static const struct {
		uint8_t code[12];
		unsigned size;
		bool site;
	} rows[] = {
		/* cmpxchg [rdi], edx, alone and after: xor eax, eax; mov eax, 1; */
		{ { 0x0f, 0xb1, 0x17 }, 3, true },
		{ { 0x31, 0xc0, 0x0f, 0xb1, 0x17 }, 5, false },
		{ { 0xb8, 1, 0, 0, 0, 0x0f, 0xb1, 0x17 }, 8, false },
		/* mov eax, [rdi]; mov rax, [rdi]; mov al, 1; cmpxchg */
		{ { 0x8b, 0x07, 0x0f, 0xb1, 0x17 }, 5, false },
		{ { 0x48, 0x8b, 0x07, 0x0f, 0xb1, 0x17 }, 6, true },
		{ { 0xb0, 1, 0x0f, 0xb1, 0x17 }, 5, true },
		{ { 0x0f, 0xb1, 0x17, 0x0f, 0xb1, 0x17 }, 6, true },
		/* xor eax, eax; then not rax; add al, 1; cpuid is a site itself */
		{ { 0x31, 0xc0, 0x48, 0xf7, 0xd0, 0x0f, 0xb1, 0x17 }, 8, true },
		{ { 0x31, 0xc0, 0x04, 1, 0x0f, 0xb1, 0x17 }, 7, false },
		{ { 0x31, 0xc0, 0x0f, 0xa2, 0x0f, 0xb1, 0x17 }, 7, true },
		/* xor eax, eax; mul rdx */
		{ { 0x31, 0xc0, 0x48, 0xf7, 0xe2, 0x0f, 0xb1, 0x17 }, 8, true },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		const struct block *block;

		block_cache_flush(cache);
		memcpy(ram + 0x20000, rows[i].code, rows[i].size);
		block = block_find(cache, &space, 0x20000, rows[i].size);
		assert_non_null(block);
		if (block->has_sites != rows[i].site)
			fail_msg("row %zu", i);
	}
}

static void
writable_code_becomes_stale(void **state)
{
	struct block *block;

	(void)state;
	put(PT, 0x20, 0x20000 | P | W);
	memset(ram + 0x20000, 0x90, 8);
	block = block_find(cache, &space, 0x20000, 8);
	assert_true(block->writable);
	assert_false(block_is_stale(block));
	ram[0x20008] = 1;
	assert_false(block_is_stale(block));
	ram[0x20007] = 0x40;
	assert_true(block_is_stale(block));
}

static void
a_block_over_two_pages_is_writable_if_either_is(void **state)
{
	(void)state;
	memset(ram + 0x20ff0, 0x90, 32);
	put(PT, 0x21, 0x21000 | P | W);
	assert_true(block_find(cache, &space, 0x20ff8, 16)->writable);
	assert_false(block_find(cache, &space, 0x20ff0, 16)->writable);
}

static void
moved_or_changed_pages_flush(void **state)
{
	(void)state;
	memset(ram + 0x20000, 0x90, 0x4000);
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	assert_false(select_space());
	put(PT, 0x20, 0x22000 | P);
	assert_true(select_space());
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	ram[0x22100] = 0xcc;
	assert_true(select_space());
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	put(PT, 0x20, 0);
	assert_true(select_space());
	assert_false(select_space());
}

static void
a_page_that_becomes_writable_flushes(void **state)
{
	(void)state;
	memset(ram + 0x20000, 0x90, 8);
	assert_false(block_find(cache, &space, 0x20000, 4)->writable);
	put(PT, 0x20, 0x20000 | P | W);
	assert_true(select_space());
	assert_true(block_find(cache, &space, 0x20000, 4)->writable);
	put(PT, 0x20, 0x20000 | P);
	assert_true(select_space());
	assert_false(block_find(cache, &space, 0x20000, 4)->writable);
}

/* One bit a page; what is not written in an epoch is not looked at twice. */
static void
only_written_pages_are_looked_at(void **state)
{
	static uint64_t pages[RAM_BYTES / 4096 / 64];
	struct code_written written = { pages, 7 };

	(void)state;
	memset(pages, 0, sizeof(pages));
	memset(ram + 0x20000, 0x90, 8);
	assert_false(block_cache_select(cache, &space, &written));
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	ram[0x20100] = 1;
	assert_false(block_cache_select(cache, &space, &written));
	pages[0] |= TZ_BIT(0x20);
	assert_true(block_cache_select(cache, &space, &written));
	/* Another epoch: what was written before it is not known. */
	pages[0] = 0;
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	ram[0x20100] = 2;
	written.epoch = 8;
	assert_true(block_cache_select(cache, &space, &written));
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	ram[0x20100] = 3;
	written.pages = NULL;
	assert_true(block_cache_select(cache, &space, &written));
}

static void
a_writable_block_over_two_pages_becomes_stale(void **state)
{
	struct block *block;

	(void)state;
	put(PT, 0x20, 0x20000 | P | W);
	put(PT, 0x21, 0x28000 | P | W);
	memset(ram + 0x20ff8, 0x90, 8);
	memset(ram + 0x28000, 0x90, 8);
	block = block_find(cache, &space, 0x20ffc, 8);
	assert_false(block_is_stale(block));
	ram[0x21000] = 1;
	ram[0x28004] = 1;
	assert_false(block_is_stale(block));
	ram[0x28003] = 1;
	assert_true(block_is_stale(block));
	ram[0x28003] = 0x90;
	assert_false(block_is_stale(block));
	ram[0x20ffc] = 1;
	assert_true(block_is_stale(block));
}

/* Number of pages that the engines are to translate anew. */
static unsigned
take_changes(void)
{
	struct code_change change;
	unsigned count = 0;

	while (block_cache_take_change(cache, &change)) {
		assert_int_equal(change.va, 0x20000);
		assert_int_equal(change.pa, 0x20000);
		count++;
	}
	return count;
}

/* The page held the same when it was decoded from last; the block did not. */
static void
a_stale_block_is_translated_anew_whatever_its_page_held(void **state)
{
	(void)state;
	put(PT, 0x20, 0x20000 | P | W);
	memset(ram + 0x20000, 0x90, 8);
	assert_non_null(block_find(cache, &space, 0x20000, 8));
	ram[0x20002] = 0x40;
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	assert_int_equal(take_changes(), 1);
	ram[0x20002] = 0x90;
	assert_non_null(block_find(cache, &space, 0x20000, 8));
	assert_int_equal(take_changes(), 0);
	ram[0x20002] = 0x40;
	assert_null(block_find(cache, &space, 0x20000, 8));
	assert_int_equal(take_changes(), 1);
}

static void
writable_code_is_translated_anew_after_a_flush(void **state)
{
	(void)state;
	put(PT, 0x20, 0x20000 | P | W);
	memset(ram + 0x20000, 0x90, 8);
	assert_non_null(block_find(cache, &space, 0x20000, 8));
	assert_int_equal(take_changes(), 0);
	block_cache_flush(cache);
	assert_non_null(block_find(cache, &space, 0x20000, 8));
	assert_int_equal(take_changes(), 1);
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	assert_int_equal(take_changes(), 0);
}

static void
read_only_code_that_is_decoded_is_looked_at(void **state)
{
	(void)state;
	memset(ram + 0x20000, 0x90, 8);
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	ram[0x20006] = 0x40;
	assert_non_null(block_find(cache, &space, 0x20000, 4));
	assert_int_equal(take_changes(), 0);
	assert_null(block_find(cache, &space, 0x20000, 8));
	assert_int_equal(take_changes(), 1);
	block_cache_flush(cache);
	assert_non_null(block_find(cache, &space, 0x20000, 8));
	assert_int_equal(take_changes(), 0);
}

/* A block says what its own space translated, but the engine keeps one for both. */
static void
spaces_that_share_writable_code_flush(void **state)
{
	uint32_t age;

	(void)state;
	put(PT, 0x20, 0x20000 | P | W);
	memset(ram + 0x20000, 0x90, 16);
	memcpy(ram + 0x1f00000, ram + 0x1000, 4096);
	assert_non_null(block_find(cache, &space, 0x20000, 8));
	age = block_cache_age(cache);
	space.cr3 = 0x1f00000;
	select_space();
	assert_int_equal(block_cache_age(cache), age);
	assert_non_null(block_find(cache, &space, 0x20000, 8));
	assert_int_equal(take_changes(), 1);
	space.cr3 = 0x1000;
	select_space();
	assert_int_not_equal(block_cache_age(cache), age);
	assert_non_null(block_find(cache, &space, 0x20000, 8));
	assert_int_equal(take_changes(), 1);
}

static void
a_part_of_a_block_over_two_pages_becomes_stale(void **state)
{
	struct block *block;

	(void)state;
	put(PT, 0x20, 0x20000 | P | W);
	put(PT, 0x21, 0x28000 | P | W);
	memset(ram + 0x20ff8, 0x90, 8);
	memset(ram + 0x28000, 0x90, 8);
	block = block_find(cache, &space, 0x20ffc, 8);
	ram[0x20ffd] = 1;
	ram[0x28002] = 1;
	for (uint32_t begin = 0; begin < 8; begin++) {
		for (uint32_t end = begin + 1; end <= 10; end++)
			assert_int_equal(block_is_part_stale(block, begin, end),
			    (begin <= 1 && end > 1) || (begin <= 6 && end > 6));
	}
}

static void
single_instructions_are_found_until_a_flush(void **state)
{
	struct block *user, *kernel;

	(void)state;
	memset(ram + 0x20000, 0x90, 16);
	memcpy(ram + 0x1f00000, ram + 0x1000, 4096);
	assert_null(block_find_insn(cache, 0x20000));
	user = block_find(cache, &space, 0x20000, 1);
	kernel = block_find(cache, &space, KERNEL + 0x20001, 1);
	block_note_insn(cache, user);
	block_note_insn(cache, kernel);
	assert_ptr_equal(block_find_insn(cache, 0x20000), user);
	assert_ptr_equal(block_find_insn(cache, KERNEL + 0x20001), kernel);
	assert_null(block_find_insn(cache, 0x20001));
	/* Another space. */
	space.cr3 = 0x1f00000;
	assert_false(select_space());
	assert_null(block_find_insn(cache, 0x20000));
	assert_ptr_equal(block_find_insn(cache, KERNEL + 0x20001), kernel);
	ram[0x20800] = 1;
	assert_true(select_space());
	assert_null(block_find_insn(cache, KERNEL + 0x20001));
}

static void
user_spaces_do_not_share_and_the_kernel_does(void **state)
{
	struct block *user, *kernel;

	(void)state;
	memset(ram + 0x20000, 0x90, 16);
	memcpy(ram + 0x1f00000, ram + 0x1000, 4096);
	user = block_find(cache, &space, 0x20000, 8);
	kernel = block_find(cache, &space, KERNEL + 0x20000, 8);
	assert_ptr_not_equal(user, kernel);
	space.cr3 = 0x1f00000;
	assert_false(select_space());
	assert_ptr_not_equal(block_find(cache, &space, 0x20000, 8), user);
	assert_ptr_equal(
	    block_find(cache, &space, KERNEL + 0x20000, 8), kernel);
	space.cr3 = 0x1000;
	assert_false(select_space());
	assert_ptr_equal(block_find(cache, &space, 0x20000, 8), user);
}

/* As when a new process gets the CR3 of an old one; a page of the kernel drops all. */
static void
a_moved_page_drops_its_half(void **state)
{
	struct block *user, *kernel;

	(void)state;
	memset(ram + 0x20000, 0x90, 0x20000);
	user = block_find(cache, &space, 0x20000, 8);
	kernel = block_find(cache, &space, KERNEL + 0x30000, 8);
	put(PT, 0x20, 0x22000 | P);
	assert_true(select_space());
	assert_ptr_not_equal(block_find(cache, &space, 0x20000, 8), user);
	assert_ptr_equal(
	    block_find(cache, &space, KERNEL + 0x30000, 8), kernel);
	user = block_find(cache, &space, 0x20000, 8);
	put(PT, 0x30, 0x32000 | P);
	assert_true(select_space());
	(void)block_find(cache, &space, KERNEL + 0x20010, 8);
	assert_ptr_not_equal(block_find(cache, &space, 0x20000, 8), user);
	/* Each user space takes a number; there are fewer than this. */
	for (uint64_t i = 0; i < 200; i++) {
		user = block_find(cache, &space, 0x20000, 8);
		assert_non_null(user);
		put(PT, 0x20, (i % 2 ? 0x22000 : 0x24000) | P);
		assert_true(select_space());
		assert_false(select_space());
	}
}

static void
a_full_cache_says_so_and_a_flush_empties_it(void **state)
{
	unsigned found = 0;

	(void)state;
	memset(ram + 0x20000, 0x90, 0x20000);
	while (found < 0x18000 &&
	    block_find(cache, &space, 0x20000 + found, 1) != NULL)
		found++;
	assert_int_equal(found, 65536);
	block_cache_flush(cache);
	assert_non_null(block_find(cache, &space, 0x20000 + found, 1));
}

static void
too_many_pages_say_so(void **state)
{
	uint64_t va = 0x100000;
	unsigned pages = 0;

	(void)state;
	memset(ram + va, 0x90, RAM_BYTES / 2 - va);
	while (pages < 2048 && block_find(cache, &space, va, 1) != NULL) {
		va += 4096;
		pages++;
	}
	assert_int_equal(pages, 1024);
}

/*
 * Only where the addresses of all 16-byte operands follow from the registers at the
 * entry, a block needs no hooks.
 */
static void
wide_operands_are_known_at_the_entry(void **state)
{
	static const struct {
		const char *name, *code;
		uint32_t size;
		bool sites;
		uint8_t count;
	} rows[] = {
		{ "one", "\x0f\x28\x44\x24\x08", 5, true, 1 },
		{ "equal but for a multiple of 16",
		    "\x0f\x28\x44\x24\x08\x0f\x29\x44\x24\x18", 10, true, 1 },
		{ "a sum: push rax", "\x50\x0f\x28\x44\x24\x08", 6, true, 1 },
		{ "not aligned: two places",
		    "\x0f\x10\x44\x24\x08\x0f\x11\x44\x24\x18", 10, true, 2 },
		{ "a number", "\x0f\x28\x05\x09\0\0\0", 7, false, 0 },
		{ "a number that is not aligned", "\x0f\x28\x05\x08\0\0\0", 7,
		    true, 0 },
		{ "loaded: mov rax, [rax]", "\x48\x8b\0\x0f\x28\0", 6, true,
		    0 },
		{ "with FS", "\x64\x0f\x28\0", 4, true, 0 },
		{ "sete [rax]", "\x0f\x94\0", 3, true, 0 },
		{ "RDMSR after it", "\x0f\x28\0\x0f\x32", 5, true, 0 },
		{ "jnz to the next", "\x0f\x28\0\x75\0", 5, true, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++)
		memcpy(ram + 0x20000 + i * 0x100, rows[i].code, rows[i].size);
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct block *block = block_find(
		    cache, &space, 0x20000 + i * 0x100, rows[i].size);

		assert_non_null(block);
		if (block->has_sites != rows[i].sites ||
		    block->wide_count != rows[i].count)
			fail_msg("%s: %d, %u", rows[i].name, block->has_sites,
			    block->wide_count);
	}
}

static void
too_many_wide_operands_need_hooks(void **state)
{
	/* movups xmm0, [rax + i] */
	static const uint8_t code[] = { 0x0f, 0x10, 0x40, 0 };

	(void)state;
	for (uint8_t i = 0; i <= BLOCK_WIDE_MAX; i++) {
		memcpy(ram + 0x20000 + 4 * i, code, sizeof(code));
		ram[0x20003 + 4 * i] = i;
	}
	for (uint32_t i = 1; i <= BLOCK_WIDE_MAX + 1; i++) {
		struct block *block = block_find(cache, &space, 0x20000, 4 * i);

		assert_non_null(block);
		assert_true(block->has_sites);
		assert_int_equal(
		    block->wide_count, i <= BLOCK_WIDE_MAX ? i : 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_block_is_counted_and_its_end_known, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_branch_to_the_next_instruction_is_ambiguous, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    cmpxchg_after_a_small_rax_is_no_site, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    writable_code_becomes_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_block_over_two_pages_is_writable_if_either_is, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    moved_or_changed_pages_flush, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_page_that_becomes_writable_flushes, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    only_written_pages_are_looked_at, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_writable_block_over_two_pages_becomes_stale, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_stale_block_is_translated_anew_whatever_its_page_held,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    writable_code_is_translated_anew_after_a_flush, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    read_only_code_that_is_decoded_is_looked_at, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    spaces_that_share_writable_code_flush, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_part_of_a_block_over_two_pages_becomes_stale, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    single_instructions_are_found_until_a_flush, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_moved_page_drops_its_half, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    user_spaces_do_not_share_and_the_kernel_does, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_full_cache_says_so_and_a_flush_empties_it, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    too_many_pages_say_so, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    wide_operands_are_known_at_the_entry, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    too_many_wide_operands_need_hooks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
