/*
 * Goal: a 16-byte operand of SSE raises #GP, #SS or #PF at its own instruction, and half of
 * it is never loaded or stored, whether its address is known at the entry of its block or
 * not, and though the block has run before.
 * Method: a guest that runs each instruction at a list of places; what each place raises
 * follows here from SDM vol. 1, 4.1.1, and vol. 3, 4.7.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define VA   UINT64_C(0x800000)
#define MARK UINT64_C(0x1122334455667788)
/* CF, PF, AF and ZF, of those that an ADD changes. */
#define FLAGS      UINT64_C(0x055)
#define FLAGS_SEEN UINT64_C(0x8d5)

enum { SS = 12, GP = 13, PF = 14 };

static const uint64_t places[] = { VA + 0x100, VA + 0x110, VA + 0x120,
	VA + 0x108, VA + 0x130, VA + 0x10d, VA + 0x140, VA + 0xff0, VA + 0xff8,
	VA + 0xff1, VA + 0x150, VA + 0x1100, VA + 0x2000, VA + 0x160,
	UINT64_C(0x800000000000), UINT64_C(0x7ffffffffff8),
	UINT64_C(0x7ffffffffff0), VA + 0x170, VA + 0x1ff8 };

/* The instructions of the guest, in its order. */
static const struct row {
	unsigned offset, bytes;
	bool aligned, store, stack;
	bool constant; /* OFFSET from an aligned place that can be accessed */
} rows[] = {
	{ 0, 16, true, true, false, false },
	{ 16, 16, true, false, false, false },
	{ 8, 16, true, false, false, false },
	{ 0, 16, true, false, false, false },
	{ 24, 16, true, false, false, false },
	{ 24, 16, true, false, false, false },
	{ 0, 16, false, true, false, false },
	{ 1, 16, false, false, false, false },
	{ 0, 16, true, false, true, false },
	{ 0, 16, false, true, true, false },
	{ 0, 16, true, false, false, true },
	{ 8, 16, true, false, false, true },
	{ 0, 8, false, true, true, false },
	{ 0, 16, false, false, false, false },
};

struct wide_fault {
	unsigned vector;
	uint64_t error, cr2;
};

/* The pages: one that is written, one that is read, then none. */
static bool
page_faults(const struct row *row, uint64_t va, struct wide_fault *fault)
{
	bool present = va >= VA && va < VA + 0x2000;

	if (present && (va < VA + 0x1000 || !row->store))
		return false;
	*fault = (struct wide_fault){ PF,
		(present ? 1u : 0u) | (row->store ? 2u : 0u), va };
	return true;
}

/* False: none. */
static bool
expect(const struct row *row, uint64_t place, struct wide_fault *fault)
{
	uint64_t va = place + row->offset, last = va + row->bytes - 1;

	*fault = (struct wide_fault){ GP, 0, 0 };
	if (row->constant)
		return row->aligned && row->offset % 16 != 0;
	if (last >> 47 != 0) {
		fault->vector = row->stack ? SS : GP;
		return true;
	}
	if (row->aligned && va % 16 != 0)
		return true;
	return page_faults(row, va, fault) ||
	    page_faults(row,
		va / 4096 == last / 4096 ? va : last & ~UINT64_C(4095), fault);
}

static void
wide_operands_fault_where_the_sdm_says(void **state)
{
	struct guest_options options = { 0 };
	struct wide_fault fault;
	struct guest guest;
	size_t at = 0;

	(void)state;
	guest_run_all_ways("wide", &options, &guest);
	assert_string_equal(guest.result.text, "");
	guest_assert_exit(&guest);
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < TZ_ARRAY_LEN(places); k++) {
			struct guest_record record;

			if (!expect(&rows[i], places[k], &fault))
				continue;
			record = guest_record(&guest, 0, at++);
			assert_int_equal(record.rip, guest_note(&guest, 1, i));
			assert_int_equal(record.rcx, places[k]);
			assert_int_equal(record.vector, fault.vector);
			assert_int_equal(record.error, fault.error);
			assert_int_equal(record.rflags & FLAGS_SEEN, FLAGS);
			if (fault.vector == PF)
				assert_int_equal(record.cr2, fault.cr2);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		struct guest_record record = guest_record(&guest, 0, at++);

		assert_int_equal(record.rip, VA + 0x3000);
		assert_int_equal(record.vector, GP);
	}
	assert_int_equal(guest_record_count(&guest, 0), at);
	assert_int_equal(guest_note(&guest, 2, 0), MARK);
	assert_int_equal(guest_note(&guest, 3, 0), 0);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wide_operands_fault_where_the_sdm_says),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
