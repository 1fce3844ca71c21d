/*
 * Goal: the walk finds each block again however many there are, with its target, the
 * address after it and its direct calls, and says what no block can be.  Method: images
 * of a few kinds of instructions.
 */
#include "tests/unit/reencode/remake.h"
#include "traces/reencode/walk.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BASE UINT64_C(0x400000)
/* More than there is room for at first. */
#define BLOCKS 100000

struct image {
	struct pieces *pieces;
	struct walk *walk;
};

static void
begin(struct image *image)
{
	image->pieces = pieces_create();
	assert_non_null(image->pieces);
	image->walk = walk_create(image->pieces);
	assert_non_null(image->walk);
}

static void
end(struct image *image)
{
	walk_destroy(image->walk);
	pieces_destroy(image->pieces);
}

/* The block that is WANTED, behind BEFORE. */
static struct walk_block *
find(struct image *image, struct walk_block *before,
    const struct walk_key *wanted)
{
	const char *text = NULL;
	uint64_t at;
	struct walk_block *block = walk_again(image->walk, before, wanted);

	if (block == NULL)
		block = walk_block(image->walk, before, wanted, &text, &at);
	if (block == NULL) {
		fail_msg("%#lx: %s", (unsigned long)wanted->ip, text);
		return NULL;
	}
	assert_true(walk_is(block, wanted));
	return block;
}

/* The first COUNT blocks of jumps, each two bytes on, found in turn, twice. */
static void
many(size_t count)
{
	static uint8_t bytes[2 * BLOCKS + FORM_BYTES_MAX];
	struct walk_block *before, *block;
	struct image image;

	begin(&image);
	/* JZ */
	for (size_t i = 0; i < BLOCKS; i++)
		bytes[2 * i] = 0x74;
	remake_put(image.pieces, bytes, sizeof(bytes), BASE);
	for (unsigned pass = 0; pass < 2; pass++) {
		before = walk_none(image.walk);
		for (size_t i = 0; i < count; i++) {
			uint64_t ip = BASE + 2 * i;
			struct walk_key key = walk_key(ip, ip, 1, 64);

			if (pass == 1 && i != 0)
				assert_non_null(
				    walk_again(image.walk, before, &key));
			/* The second time not by what came before it. */
			block = find(&image,
			    pass == 0 ? before : walk_none(image.walk), &key);
			assert_int_equal(walk_kind(block), WALK_COND);
			assert_int_equal(walk_nlip(block), key.ip + 2);
			assert_int_equal(walk_target(block), key.ip + 2);
			before = block;
		}
	}
	assert_int_equal(walk_blocks(image.walk), count);
	assert_int_equal(walk_insns(image.walk), count);
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
	const struct walk_key all = walk_key(BASE, BASE + 11, 3, 32);
	const struct walk_key none = walk_key(BASE + 6, BASE + 11, 2, 32);
	struct walk_block *block;
	struct image image;
	const uint64_t *call;
	size_t count;

	(void)state;
	begin(&image);
	remake_put(image.pieces, bytes, sizeof(bytes), BASE);
	block = find(&image, walk_none(image.walk), &all);
	assert_int_equal(walk_kind(block), WALK_JUMP);
	assert_int_equal(walk_target(block), BASE);
	assert_true(walk_has_calls(block));
	call = walk_calls(image.walk, block, &count);
	assert_int_equal(count, 1);
	assert_int_equal(call[0], BASE + 5);
	assert_false(walk_has_calls(find(&image, block, &none)));
	end(&image);
}

/* In 32-bit mode a target is taken modulo 4 GiB, in 64-bit mode not. */
static void
test_wraps(void **state)
{
	static const uint8_t bytes[64] = { 0xe9, 0, 0, 0xff, 0xff };
	const uint64_t ip = 0x1000;
	const struct walk_key narrow = walk_key(ip, ip, 1, 32);
	const struct walk_key wide = walk_key(ip, ip, 1, 64);
	struct image image;

	(void)state;
	begin(&image);
	remake_put(image.pieces, bytes, sizeof(bytes), ip);
	assert_int_equal(
	    walk_target(find(&image, walk_none(image.walk), &narrow)),
	    0xffff1005);
	assert_int_equal(
	    walk_target(find(&image, walk_none(image.walk), &wide)),
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
	const struct walk_key most = walk_key(
	    BASE, BASE + (HOPS - 1) * HOP, HOPS, 64);
	const struct walk_key more = walk_key(
	    BASE, BASE + HOPS * HOP, HOPS + 1, 64);
	struct walk_block *block;
	const char *text = NULL;
	struct image image;
	uint64_t at = 0;

	(void)state;
	begin(&image);
	for (uint64_t n = 0; n <= HOPS; n++)
		remake_put(image.pieces, far, sizeof(far), BASE + n * HOP);
	block = find(&image, walk_none(image.walk), &most);
	assert_int_equal(walk_target(block), BASE + HOPS * HOP);
	assert_null(walk_block(image.walk, block, &more, &text, &at));
	assert_string_equal(text, "a block with jumps over 512 GiB");
	assert_int_equal(at, BASE + HOPS * HOP);
	assert_int_equal(walk_blocks(image.walk), 1);
	end(&image);
}

/* A block of COUNT instructions from IP to END_IP cannot be: TEXT, at AT. */
static void
refuse(struct image *image, uint64_t ip, uint64_t end_ip, uint16_t count,
    const char *text, uint64_t at)
{
	const struct walk_key key = walk_key(ip, end_ip, count, 64);
	const char *said = NULL;
	uint64_t there = 0;

	assert_null(walk_block(
	    image->walk, walk_none(image->walk), &key, &said, &there));
	assert_string_equal(said, text);
	assert_int_equal(there, at);
	assert_int_equal(walk_blocks(image->walk), 0);
}

static void
test_refuses(void **state)
{
	/* RET; an opcode that is none */
	static const uint8_t bytes[64] = { 0xc3, 0x06 };
	struct image image;

	(void)state;
	begin(&image);
	remake_put(image.pieces, bytes, sizeof(bytes), BASE);
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
