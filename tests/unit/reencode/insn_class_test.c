/*
 * Goal: an instruction has the class that a decoder of Intel PT needs. Method: one row for
 * each kind of transfer and each neighbour that is none, with the length and the distance
 * that the SDM's opcode map gives; then every prefix of each row, which is cut off.
 */
#include "traces/reencode/input/insn_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
	uint8_t bytes[8];
	uint8_t bits;
	enum insn_class_kind kind;
	unsigned length;
	int32_t distance;
} rows[] = {
	{ { 0x74, 0x10 }, 64, INSN_CLASS_COND, 2, 0x10 }, /* JZ */
	{ { 0x0f, 0x84, 0xff, 0xff, 0xff, 0xff }, 64, INSN_CLASS_COND, 6, -1 },
	{ { 0x0f, 0x84, 0xfe, 0xff }, 16, INSN_CLASS_COND, 4, -2 },
	{ { 0xe2, 0xfe }, 64, INSN_CLASS_COND, 2, -2 },             /* LOOP */
	{ { 0xe3, 0x7f }, 64, INSN_CLASS_COND, 2, 0x7f },           /* JRCXZ */
	{ { 0xc7, 0xf8, 1, 0, 0, 0 }, 64, INSN_CLASS_PLAIN, 6, 1 }, /* XBEGIN */
	{ { 0xeb, 0x80 }, 64, INSN_CLASS_JUMP, 2, -0x80 },
	{ { 0xe9, 0, 0, 0, 0x80 }, 64, INSN_CLASS_JUMP, 5, INT32_MIN },
	{ { 0xe8, 4, 3, 2, 1 }, 64, INSN_CLASS_CALL, 5, 0x01020304 },
	{ { 0xe8, 4, 3, 2, 1 }, 32, INSN_CLASS_CALL, 5, 0x01020304 },
	{ { 0xe8, 4, 3, 2, 1 }, 16, INSN_CLASS_CALL, 3, 0x0304 },
	{ { 0xff, 0xe0 }, 64, INSN_CLASS_JUMP_INDIRECT, 2, 0 },
	{ { 0xff, 0x25, 1, 0, 0, 0 }, 64, INSN_CLASS_JUMP_INDIRECT, 6, 0 },
	{ { 0xff, 0xd0 }, 64, INSN_CLASS_CALL_INDIRECT, 2, 0 },
	{ { 0xff, 0x15, 1, 0, 0, 0 }, 64, INSN_CLASS_CALL_INDIRECT, 6, 0 },
	{ { 0xc3 }, 64, INSN_CLASS_RET, 1, 0 },
	{ { 0xf2, 0xc3 }, 64, INSN_CLASS_RET, 2, 0 },
	{ { 0xc2, 8, 0 }, 64, INSN_CLASS_RET, 3, 0 },
	{ { 0xcb }, 64, INSN_CLASS_FAR, 1, 0 },       /* far RET */
	{ { 0xff, 0x18 }, 64, INSN_CLASS_FAR, 2, 0 }, /* far CALL */
	{ { 0xff, 0x28 }, 64, INSN_CLASS_FAR, 2, 0 }, /* far JMP */
	{ { 0xea, 1, 0, 0, 0, 8, 0 }, 32, INSN_CLASS_FAR, 7, 0 },
	{ { 0xcc }, 64, INSN_CLASS_FAR, 1, 0 }, /* INT3 */
	{ { 0xcd, 0x80 }, 64, INSN_CLASS_FAR, 2, 0 },
	{ { 0xce }, 32, INSN_CLASS_FAR, 1, 0 },                   /* INTO */
	{ { 0xf1 }, 64, INSN_CLASS_FAR, 1, 0 },                   /* INT1 */
	{ { 0x48, 0xcf }, 64, INSN_CLASS_FAR, 2, 0 },             /* IRETQ */
	{ { 0x0f, 0x05 }, 64, INSN_CLASS_FAR, 2, 0 },             /* SYSCALL */
	{ { 0x48, 0x0f, 0x07 }, 64, INSN_CLASS_FAR, 3, 0 },       /* SYSRET */
	{ { 0x0f, 0x34 }, 64, INSN_CLASS_FAR, 2, 0 },             /* SYSENTER */
	{ { 0x0f, 0x35 }, 64, INSN_CLASS_FAR, 2, 0 },             /* SYSEXIT */
	{ { 0x0f, 0x01, 0xc2 }, 64, INSN_CLASS_FAR, 3, 0 },       /* VMLAUNCH */
	{ { 0x0f, 0x01, 0xc3 }, 64, INSN_CLASS_FAR, 3, 0 },       /* VMRESUME */
	{ { 0xf3, 0x0f, 0x01, 0xec }, 64, INSN_CLASS_FAR, 4, 0 }, /* UIRET */
	{ { 0x0f, 0x22, 0xd8 }, 64, INSN_CLASS_MOV_CR3, 3, 0 },
	{ { 0x0f, 0x22, 0xe0 }, 64, INSN_CLASS_PLAIN, 3, 0 }, /* to CR4 */
	{ { 0x0f, 0x20, 0xd8 }, 64, INSN_CLASS_PLAIN, 3, 0 }, /* from CR3 */
	{ { 0x90 }, 64, INSN_CLASS_PLAIN, 1, 0 },
	{ { 0x48, 0x8b, 0x05, 1, 0, 0, 0 }, 64, INSN_CLASS_PLAIN, 7, 0 },
	{ { 0xf3, 0xa4 }, 64, INSN_CLASS_PLAIN, 2, 0 }, /* REP MOVSB */
};

static void
each_row_has_its_class(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct insn_class class;

		assert_true(insn_class_decode(
		    rows[i].bytes, rows[i].length, rows[i].bits, &class));
		assert_int_equal(class.kind, rows[i].kind);
		assert_int_equal(class.length, rows[i].length);
		assert_int_equal(class.distance, rows[i].distance);
	}
}

static void
what_is_cut_off_is_no_instruction(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++)
		for (unsigned n = 0; n < rows[i].length; n++) {
			struct insn_class class;

			assert_false(insn_class_decode(
			    rows[i].bytes, n, rows[i].bits, &class));
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_has_its_class),
		cmocka_unit_test(what_is_cut_off_is_no_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
