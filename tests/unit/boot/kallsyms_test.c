/*
 * Goal: the symbols of a kernel are found in its memory, whatever version has laid out
 * their tables.  Method: the tables as scripts/kallsyms.c of Linux 4.6, 6.4 and 7.0
 * writes them, made here, between bytes that look like them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/boot/kallsyms.h"

#define SYMBOLS   600
#define RAM_BYTES ((size_t)1 << 16)
#define BEGIN_VA  UINT64_C(0xffffffff81000000) /* of the first byte of RAM */
#define TEXT_VA   UINT64_C(0xffffffff81200000) /* of the first symbol */
#define STEP      0x40

enum layout { BASE_BEFORE, BASE_AFTER, DISTANCES };

struct image {
	uint8_t ram[RAM_BYTES];
	size_t end, align;
};

static void
put(struct image *image, const void *bytes, size_t count)
{
	assert_true(image->end + count <= sizeof(image->ram));
	memcpy(image->ram + image->end, bytes, count);
	image->end += count;
}

static void
put_word(struct image *image, uint32_t word)
{
	put(image, &word, sizeof(word));
}

static void
begin_table(struct image *image)
{
	while (image->end % image->align != 0)
		put(image, "", 1);
}

static void
put_addresses(struct image *image, enum layout layout)
{
	uint64_t base = TEXT_VA;

	begin_table(image);
	for (unsigned i = 0; i < SYMBOLS; i++) {
		uint64_t from = layout == DISTANCES ? BEGIN_VA + image->end
						    : base;

		put_word(image, (uint32_t)(TEXT_VA + STEP * i - from));
	}
	if (layout == DISTANCES)
		return;
	begin_table(image);
	put(image, &base, sizeof(base));
}

/*
 * Names are 't' and the name; the token of a byte is the byte, but number 1 is "number_".
 */
static void
put_names(struct image *image)
{
	uint32_t markers[(SYMBOLS + 255) / 256];
	size_t begin;

	begin_table(image);
	put_word(image, SYMBOLS);
	begin_table(image);
	begin = image->end;
	for (unsigned i = 0; i < SYMBOLS; i++) {
		char name[16];
		int length = snprintf(name, sizeof(name), "t\1%u", i);
		uint8_t count = (uint8_t)length;

		if (i % 256 == 0)
			markers[i / 256] = (uint32_t)(image->end - begin);
		put(image, &count, 1);
		put(image, name, count);
	}
	begin_table(image);
	put(image, markers, sizeof(markers));
}

static void
put_tokens(struct image *image)
{
	uint16_t index[256];
	size_t begin;

	begin_table(image);
	begin = image->end;
	for (unsigned i = 0; i < 256; i++) {
		char token[2] = { (char)i, '\0' };

		index[i] = (uint16_t)(image->end - begin);
		if (i == 1)
			put(image, "number_", 8);
		else
			put(image, token, i == 0 ? 1 : 2);
	}
	begin_table(image);
	put(image, index, sizeof(index));
}

static void
put_tables(struct image *image, enum layout layout)
{
	image->align = layout == DISTANCES ? 4 : 8;
	/* Digits that are no tokens, at an address that is not a multiple of eight. */
	put(image, "\0000\0001\0002\0003\0004\0005\0006\0007\0008\0009", 21);
	while (image->end % 8 != 4)
		put(image, "", 1);
	if (layout == BASE_BEFORE)
		put_addresses(image, layout);
	put_names(image);
	put_tokens(image);
	if (layout != BASE_BEFORE)
		put_addresses(image, layout);
}

static void
each_layout_is_read(void **state)
{
	(void)state;
	for (int layout = BASE_BEFORE; layout <= DISTANCES; layout++) {
		struct image *image = calloc(1, sizeof(*image));
		struct kallsyms *kallsyms;
		char text[64];

		assert_non_null(image);
		put_tables(image, (enum layout)layout);
		kallsyms = kallsyms_read(image->ram, RAM_BYTES, BEGIN_VA);
		assert_non_null(kallsyms);
		assert_true(
		    kallsyms_format(kallsyms, TEXT_VA, text, sizeof(text)));
		assert_string_equal(text, "number_0+0x0");
		assert_true(kallsyms_format(
		    kallsyms, TEXT_VA + STEP * 257 + 0x1c, text, sizeof(text)));
		assert_string_equal(text, "number_257+0x1c");
		assert_false(
		    kallsyms_format(kallsyms, TEXT_VA - 1, text, sizeof(text)));
		assert_false(kallsyms_format(kallsyms,
		    TEXT_VA + STEP * (SYMBOLS - 1), text, sizeof(text)));
		kallsyms_free(kallsyms);
		free(image);
	}
}

static void
damaged_tables_are_refused(void **state)
{
	(void)state;
	for (int layout = BASE_BEFORE; layout <= DISTANCES; layout++) {
		struct image *image = calloc(1, sizeof(*image));
		size_t end;

		assert_non_null(image);
		assert_null(kallsyms_read(image->ram, RAM_BYTES, BEGIN_VA));
		put_tables(image, (enum layout)layout);
		end = image->end;
		/* Each byte that is not there, and each bit that is wrong. */
		for (size_t bytes = 0; bytes < end; bytes += 61)
			kallsyms_free(
			    kallsyms_read(image->ram, bytes, BEGIN_VA));
		for (size_t at = 0; at < end; at += 61) {
			image->ram[at] ^= (uint8_t)(1u << at % 8);
			kallsyms_free(kallsyms_read(image->ram, end, BEGIN_VA));
			image->ram[at] ^= (uint8_t)(1u << at % 8);
		}
		free(image);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_layout_is_read),
		cmocka_unit_test(damaged_tables_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
