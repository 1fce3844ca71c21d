/*
 * Goal: every relocation type writes the value that the System V ABI gives for
 * it, in its own width, and refuses values that do not fit.  Method: one field
 * between guard bytes, values worked out by hand.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "harness/load/elf/reloc.h"

#define PLACE  UINT64_C(0xffffffff80400010)
#define KERNEL UINT64_C(0xffffffff80201234)

struct row {
	uint32_t type;
	uint64_t symbol;
	int64_t addend;
	uint64_t expected; /* of the low reloc_size bytes */
	enum reloc_result result;
};

static const struct row rows[] = {
	{ R_X86_64_NONE, KERNEL, 7, 0, RELOC_OK },
	{ R_X86_64_64, KERNEL, 4, KERNEL + 4, RELOC_OK },
	{ R_X86_64_64, 0, -1, UINT64_MAX, RELOC_OK },
	{ R_X86_64_PC64, KERNEL, -4, KERNEL - 4 - PLACE, RELOC_OK },
	{ R_X86_64_32, 0x1000, 2, 0x1002, RELOC_OK },
	{ R_X86_64_32, 0xffffffff, 0, 0xffffffff, RELOC_OK },
	{ R_X86_64_32, 0xffffffff, 1, 0, RELOC_OVERFLOW },
	{ R_X86_64_32, KERNEL, 0, 0, RELOC_OVERFLOW },
	{ R_X86_64_32S, KERNEL, 0, 0x80201234, RELOC_OK },
	{ R_X86_64_32S, 0x7fffffff, 0, 0x7fffffff, RELOC_OK },
	{ R_X86_64_32S, 0x80000000, 0, 0, RELOC_OVERFLOW },
	{ R_X86_64_32S, UINT64_C(0xffffffff7fffffff), 0, 0, RELOC_OVERFLOW },
	{ R_X86_64_PC32, KERNEL, -4, (uint32_t)(KERNEL - 4 - PLACE), RELOC_OK },
	{ R_X86_64_PC32, PLACE, INT32_MAX, INT32_MAX, RELOC_OK },
	{ R_X86_64_PC32, PLACE, INT64_C(0x80000000), 0, RELOC_OVERFLOW },
	{ R_X86_64_PC32, 0, 0, 0x7fbffff0, RELOC_OK },
	{ R_X86_64_PC32, UINT64_C(0x100000000), 0, 0, RELOC_OVERFLOW },
	{ R_X86_64_PLT32, KERNEL, -4, (uint32_t)(KERNEL - 4 - PLACE),
	    RELOC_OK },
	{ R_X86_64_GOTPCREL, KERNEL, -4, 0, RELOC_UNKNOWN },
	{ 0xffffffff, KERNEL, 0, 0, RELOC_UNKNOWN },
};

static void
each_type_writes_its_value_and_nothing_beside(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		uint8_t field[12], expected[12];

		memset(field, 0xa5, sizeof(field));
		memset(expected, 0xa5, sizeof(expected));
		if (row->result == RELOC_OK)
			memcpy(expected, &row->expected, reloc_size(row->type));
		assert_int_equal(reloc_apply(row->type, field, PLACE,
				     row->symbol, row->addend),
		    row->result);
		assert_memory_equal(field, expected, sizeof(field));
	}
}

static void
types_have_names_and_sizes(void **state)
{
	(void)state;
	assert_string_equal(reloc_name(R_X86_64_PLT32), "R_X86_64_PLT32");
	assert_null(reloc_name(R_X86_64_GOTPCREL));
	assert_int_equal(reloc_size(R_X86_64_PC64), 8);
	assert_int_equal(reloc_size(R_X86_64_32S), 4);
	assert_int_equal(reloc_size(R_X86_64_NONE), 0);
	assert_int_equal(reloc_size(R_X86_64_GOTPCREL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_writes_its_value_and_nothing_beside),
		cmocka_unit_test(types_have_names_and_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
