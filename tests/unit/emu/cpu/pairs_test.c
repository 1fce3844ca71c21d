/*
 * Goal: CMPXCHG8B and CMPXCHG16B change ZF and no other flag, what the SDM says of
 * registers and memory, and fault as it says; CMPXCHG of 32 bits leaves bits 63:32 of a
 * register that it does not write alone; traced and counted as any instruction.
 * Method: a guest that runs each form after an ADD and notes everything; the expected
 * values are written out from SDM vol. 2, "CMPXCHG8B/CMPXCHG16B" and "CMPXCHG".
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* RBX = 0x1122334455667788 + 0xffff8880041cf446: CF, no others; ZF by the pair. */
#define FLAGS_UNEQUAL UINT64_C(0x003)
#define FLAGS_EQUAL   UINT64_C(0x043)
#define LOW           UINT64_C(0x1111111122222222)
#define HIGH          UINT64_C(0x3333333344444444)
#define SUM           UINT64_C(0x1121bbc459836bce)
#define RCX           UINT64_C(0xffff8880041cf446)
#define FLAGS_SEEN    UINT64_C(0xcd7)
#define STORED        ((LOW & ~(uint64_t)UINT32_MAX) | (SUM & UINT32_MAX))
/* Of EAX less the destination: 0; 5 - 22222222H, CF and SF; 0 - 1, AF and PF, too. */
#define ZERO    UINT64_C(0x046)
#define BELOW   UINT64_C(0x083)
#define MINUS_1 UINT64_C(0x097)

static const struct {
	uint64_t flags, rax, rdx, low, high;
} expected[] = {
	{ FLAGS_UNEQUAL, LOW, HIGH, LOW, HIGH },
	{ FLAGS_EQUAL, LOW, HIGH, SUM, RCX },
	{ FLAGS_UNEQUAL, 0x22222222, 0x11111111, LOW, HIGH },
	{ FLAGS_EQUAL, 0x5522222222, 0x7711111111,
	    (SUM & UINT32_MAX) | RCX << 32, HIGH },
	{ ZERO, 0x5522222222, 0x77, STORED, HIGH },
	{ BELOW, 0x22222222, 0x77, LOW, HIGH },
	{ ZERO, 0x22222222, 0x77, STORED, HIGH },
	{ ZERO, 0x5522222222, SUM &UINT32_MAX, LOW, HIGH },
	{ MINUS_1, 1, 0x7700000001, LOW, HIGH },
};

static const struct {
	uint64_t vector, error, cr2;
} faults[] = {
	{ 13, 0, 0 },
	{ 14, 3, 0x801010 },
	{ 14, 3, 0x801000 },
	{ 14, 2, 0x802000 },
	{ 13, 0, 0 },
	{ 12, 0, 0 },
	{ 14, 3, 0x801010 },
	{ 14, 0, 0x802000 },
	{ 14, 7, 0x400000 },
	{ 14, 7, GUEST_KERN + 0x400000 },
	{ 14, 6, 0x10000000 },
	{ 0x30, 0, 0 },
};

static void
pairs_are_exchanged_as_the_sdm_says(void **state)
{
	struct guest_options options = { 0 };
	struct guest guest;

	(void)state;
	guest_run_all_ways("pairs", &options, &guest);
	assert_string_equal(guest.result.text, "");
	guest_assert_exit(&guest);
	for (size_t i = 0; i < TZ_ARRAY_LEN(expected); i++) {
		assert_int_equal(
		    guest_note(&guest, 1, i) & FLAGS_SEEN, expected[i].flags);
		assert_int_equal(guest_note(&guest, 2, i), expected[i].rax);
		assert_int_equal(guest_note(&guest, 3, i), expected[i].rdx);
		assert_int_equal(guest_note(&guest, 4, i), expected[i].low);
		assert_int_equal(guest_note(&guest, 5, i), expected[i].high);
	}
	assert_int_equal(guest_note(&guest, 6, 0), 0xa00067);
	assert_int_equal(guest_record_count(&guest, 0), TZ_ARRAY_LEN(faults));
	for (size_t i = 0; i < TZ_ARRAY_LEN(faults); i++) {
		struct guest_record record = guest_record(&guest, 0, i);

		assert_int_equal(record.vector, faults[i].vector);
		assert_int_equal(record.error, faults[i].error);
		if (faults[i].vector == 14)
			assert_int_equal(record.cr2, faults[i].cr2);
	}
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_exchanged_as_the_sdm_says),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
