/*
 * Goal: the walk finds each block again however many there are, with its target, the
 * address after it and its direct calls, and says what no block can be.  Method: images
 * of a few kinds of instructions.
 */
#include "tests/unit/reencode/remake.h"
#include "traces/reencode/input/code_blocks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BASE UINT64_C(0x400000)
/* More than there is room for at first. */
#define BLOCKS 100000

struct image {
	struct memory_image *memory_image;
	struct code_blocks *blocks;
};

static void
begin(struct image *image)
{
	image->memory_image = memory_image_create();
	assert_non_null(image->memory_image);
	image->blocks = code_blocks_create(image->memory_image);
	assert_non_null(image->blocks);
}

static void
end(struct image *image)
{
	code_blocks_destroy(image->blocks);
	memory_image_destroy(image->memory_image);
}

/* The block that is WANTED, after BEFORE. */
static struct code_block *
find(struct image *image, struct code_block *before,
    const struct code_blocks_key *wanted)
{
	const char *text = NULL;
	uint64_t at;
	struct code_block *block = code_block(
	    image->blocks, before, wanted, &text, &at);

	if (block == NULL) {
		fail_msg("%#lx: %s", (unsigned long)wanted->ip, text);
		return NULL;
	}
	assert_true(code_blocks_is(block, wanted));
	return block;
}

/* The first COUNT blocks of jumps, each two bytes on, found in turn, twice. */
static void
many(size_t count)
{
	static uint8_t bytes[2 * BLOCKS + INSN_CLASS_BYTES_MAX];
	struct code_block *before, *block;
	struct image image;

	begin(&image);
	/* JZ */
	for (size_t i = 0; i < BLOCKS; i++)
		bytes[2 * i] = 0x74;
	remake_put(image.memory_image, bytes, sizeof(bytes), BASE);
	for (unsigned pass = 0; pass < 2; pass++) {
		before = code_blocks_none(image.blocks);
		for (size_t i = 0; i < count; i++) {
			uint64_t ip = BASE + 2 * i;
			struct code_blocks_key key = code_blocks_key(
			    ip, ip, 1, 64);

			/* By the block before it, then without one. */
			block = find(&image, before, &key);
			assert_ptr_equal(
			    find(&image, code_blocks_none(image.blocks), &key),
			    block);
			assert_int_equal(
			    code_blocks_kind(block), INSN_CLASS_COND);
			assert_int_equal(code_blocks_nlip(block), key.ip + 2);
			assert_int_equal(code_blocks_target(block), key.ip + 2);
			before = block;
		}
	}
	assert_int_equal((image.blocks->block_count - 1), count);
	assert_int_equal(image.blocks->insns, count);
	end(&image);
}

/* What becomes of the block that makes the table grow is seen until it grows again. */
static void
test_many(void **state)
{
	(void)state;
	for (size_t count = BLOCKS; count > BLOCKS / 100; count /= 2)
		many(count);
}

static void
test_calls(void **state)
{
	/* CALL +1; NOP; CALL +0, which only reads the IP; JMP -12 */
	static const uint8_t bytes[64] = { 0xe8, 1, 0, 0, 0, 0x90, 0xe8, 0, 0,
		0, 0, 0xeb, 0xf3 };
	const struct code_blocks_key all = code_blocks_key(
	    BASE, BASE + 11, 3, 32);
	const struct code_blocks_key none = code_blocks_key(
	    BASE + 6, BASE + 11, 2, 32);
	struct code_block *block;
	struct image image;
	const uint64_t *call;
	size_t count;

	(void)state;
	begin(&image);
	remake_put(image.memory_image, bytes, sizeof(bytes), BASE);
	block = find(&image, code_blocks_none(image.blocks), &all);
	assert_int_equal(code_blocks_kind(block), INSN_CLASS_JUMP);
	assert_int_equal(code_blocks_target(block), BASE);
	assert_true(code_blocks_has_calls(block));
	call = code_blocks_calls(image.blocks, block, &count);
	assert_int_equal(count, 1);
	assert_int_equal(call[0], BASE + 5);
	assert_false(code_blocks_has_calls(find(&image, block, &none)));
	end(&image);
}

/* In 32-bit mode a target is taken modulo 4 GiB, in 64-bit mode not. */
static void
test_wraps(void **state)
{
	static const uint8_t bytes[64] = { 0xe9, 0, 0, 0xff, 0xff };
	const uint64_t ip = 0x1000;
	const struct code_blocks_key narrow = code_blocks_key(ip, ip, 1, 32);
	const struct code_blocks_key wide = code_blocks_key(ip, ip, 1, 64);
	struct image image;

	(void)state;
	begin(&image);
	remake_put(image.memory_image, bytes, sizeof(bytes), ip);
	assert_int_equal(code_blocks_target(find(
			     &image, code_blocks_none(image.blocks), &narrow)),
	    0xffff1005);
	assert_int_equal(code_blocks_target(find(
			     &image, code_blocks_none(image.blocks), &wide)),
	    0xffffffffffff1005);
	end(&image);
}

/* JMP as far as it goes. */
static const uint8_t far[64] = { 0xe9, 0xfb, 0xff, 0xff, 0x7f };
#define HOP UINT64_C(0x80000000)
/* So many of them are too many for a block. */
#define HOPS 256

static void
test_far(void **state)
{
	const struct code_blocks_key most = code_blocks_key(
	    BASE, BASE + (HOPS - 1) * HOP, HOPS, 64);
	const struct code_blocks_key more = code_blocks_key(
	    BASE, BASE + HOPS * HOP, HOPS + 1, 64);
	struct code_block *block;
	const char *text = NULL;
	struct image image;
	uint64_t at = 0;

	(void)state;
	begin(&image);
	for (uint64_t n = 0; n <= HOPS; n++)
		remake_put(
		    image.memory_image, far, sizeof(far), BASE + n * HOP);
	block = find(&image, code_blocks_none(image.blocks), &most);
	assert_int_equal(code_blocks_target(block), BASE + HOPS * HOP);
	assert_null(code_block(image.blocks, block, &more, &text, &at));
	assert_string_equal(text, "a block with jumps over 512 GiB");
	assert_int_equal(at, BASE + HOPS * HOP);
	assert_int_equal((image.blocks->block_count - 1), 1);
	end(&image);
}

/* A block of COUNT instructions from IP to END_IP cannot be: TEXT, at AT. */
static void
refuse(struct image *image, uint64_t ip, uint64_t end_ip, uint16_t count,
    const char *text, uint64_t at)
{
	const struct code_blocks_key key = code_blocks_key(
	    ip, end_ip, count, 64);
	const char *said = NULL;
	uint64_t there = 0;

	assert_null(code_block(image->blocks, code_blocks_none(image->blocks),
	    &key, &said, &there));
	assert_string_equal(said, text);
	assert_int_equal(there, at);
	assert_int_equal(image->blocks->block_count - 1, 0);
}

static void
test_refuses(void **state)
{
	/* RET; an opcode that is none */
	static const uint8_t bytes[64] = { 0xc3, 0x06 };
	struct image image;

	(void)state;
	begin(&image);
	remake_put(image.memory_image, bytes, sizeof(bytes), BASE);
	refuse(&image, BASE, BASE + 1, 1, "the decoder's block ends elsewhere",
	    BASE);
	refuse(&image, BASE, BASE + 1, 2,
	    "a branch that the decoder ran through", BASE);
	refuse(&image, BASE + 1, BASE + 1, 1, "no instruction", BASE + 1);
	refuse(&image, 64, 64, 1, "no image has memory there", 64);
	end(&image);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_wraps),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
