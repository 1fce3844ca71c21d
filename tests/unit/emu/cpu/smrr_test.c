/*
 * Goal: a guest can learn where SMRAM is, as on a processor, and not change it.
 * Method: a guest that reads the MSRs of the range and writes them; it is where the
 * machine keeps its PT units from.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define CPUID_MTRR   TZ_BIT(12)
#define MTRRCAP_SMRR TZ_BIT(11)
#define VALID        TZ_BIT(11)
#define VECTOR_GP    13

enum { NOTE_CPUID = 1, NOTE_CAP, NOTE_BASE, NOTE_MASK, NOTE_TYPE };

static void
the_guest_learns_where_smram_is(void **state)
{
	static const uint64_t written[] = { 0xfe, 0x1f2, 0x1f3 };
	struct guest_options options = { .no_decode = true };
	struct guest guest;
	uint64_t base, mask;

	(void)state;
	guest_run_all_ways("smrr", &options, &guest);
	guest_assert_exit(&guest);
	assert_true(guest_note(&guest, NOTE_CPUID, 0) & CPUID_MTRR);
	/* Neither fixed nor variable ranges: all is write-back. */
	assert_int_equal(guest_note(&guest, NOTE_CAP, 0), MTRRCAP_SMRR);
	assert_int_equal(guest_note(&guest, NOTE_TYPE, 0), 0x806);
	base = guest_note(&guest, NOTE_BASE, 0);
	mask = guest_note(&guest, NOTE_MASK, 0);
	assert_int_equal(base, MACHINE_SMRAM_PA | 6);
	assert_true(mask & VALID);
	mask &= ~(uint64_t)0xfff;
	for (uint64_t pa = 0; pa <= UINT32_MAX; pa += 1 << 20)
		assert_int_equal((pa & mask) == (base & mask),
		    pa >= MACHINE_SMRAM_PA &&
			pa < MACHINE_SMRAM_PA + MACHINE_SMRAM_BYTES);
	assert_int_equal(guest_record_count(&guest, 0), TZ_ARRAY_LEN(written));
	for (size_t i = 0; i < TZ_ARRAY_LEN(written); i++) {
		struct guest_record record = guest_record(&guest, 0, i);

		assert_int_equal(record.vector, VECTOR_GP);
		assert_int_equal(record.rcx, written[i]);
	}
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_guest_learns_where_smram_is),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
