/*
 * Goal: instructions are told apart as PT and the machine need it; conditions
 * and addresses are computed as the SDM defines them.
 * Method: bytes from the SDM's encodings; every condition over every value of
 * the flags that it reads, against formulas written out from vol. 1, appendix
 * B.
 */
#include "emu/cpu/insn/insn_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VA UINT64_C(0x1000)

struct row {
	const char *bytes;
	uint8_t length;
	enum insn_class class;
	uint64_t target;
};

#define ROW(bytes, class, target)                \
 {                                               \
  bytes, sizeof(bytes) - 1, INSN_##class, target \
 }

static const struct row rows[] = {
	ROW("\x90", PLAIN, 0),
	ROW("\x0f\x05", SYSCALL, 0),
	ROW("\x74\x10", COND, VA + 0x12),
	ROW("\x0f\x85\x00\xff\xff\xff", COND, VA + 6 - 0x100),
	ROW("\xe2\xfe", COND, VA),
	ROW("\x67\xe3\x00", COND, VA + 3),
	ROW("\xeb\xfe", JMP_DIRECT, VA),
	ROW("\xe9\x00\x01\x00\x00", JMP_DIRECT, VA + 0x105),
	ROW("\xe8\x00\x00\x00\x00", CALL_DIRECT, VA + 5),
	ROW("\xff\xe0", JMP_INDIRECT, 0),
	ROW("\xff\x24\x25\x00\x10\x00\x00", JMP_INDIRECT, 0),
	ROW("\xff\xd0", CALL_INDIRECT, 0),
	ROW("\xff\x10", CALL_INDIRECT, 0),
	ROW("\xc3", RET, 0),
	ROW("\xf3\xc3", RET, 0),
	ROW("\xc2\x08\x00", RET, 0),
	ROW("\xcb", FAR, 0),
	ROW("\x48\xcb", FAR, 0),
	ROW("\xff\x28", FAR, 0),
	ROW("\xff\x18", FAR, 0),
	ROW("\x48\xcf", IRET, 0),
	ROW("\xcf", IRET, 0),
	ROW("\x48\x0f\x07", SYSRET, 0),
	ROW("\x0f\x22\xd8", MOV_CR3, 0),
	ROW("\x0f\x20\xd8", PLAIN, 0),
	ROW("\x0f\x22\xc0", MOV_CR, 0),
	ROW("\x0f\x22\xe0", MOV_CR, 0),
	ROW("\x0f\x01\x38", INVLPG, 0),
	ROW("\xfb", STI, 0),
	ROW("\x9d", POPF, 0),
	ROW("\xf3\xa4", REP, 0),
	ROW("\xf3\xaa", REP, 0),
	ROW("\xf2\xae", REP, 0),
	ROW("\xa4", PLAIN, 0),
	ROW("\xf3\x0f\x10\xc0", PLAIN, 0),
	ROW("\x0f\x32", RDMSR, 0),
	ROW("\x0f\x30", WRMSR, 0),
	ROW("\x0f\xa2", CPUID, 0),
	ROW("\x0f\x31", RDTSC, 0),
	ROW("\x0f\x01\xf9", RDTSCP, 0),
	ROW("\x0f\x01\xd0", XGETBV, 0),
	ROW("\x0f\x01\xd1", XSETBV, 0),
	ROW("\x48\x0f\xc7\x29", XSAVES, 0),
	ROW("\x48\x0f\xc7\x19", XRSTORS, 0),
	ROW("\xf4", HLT, 0),
	ROW("\xf3\x90", PAUSE, 0),
	ROW("\xee", OUT, 0),
	ROW("\xec", IN, 0),
	ROW("\x66\xe5\x10", IN, 0),
	ROW("\x0f\x23\xf8", MOV_DR, 0),
	ROW("\x0f\x23\xf0", MOV_DR, 0),
	ROW("\x0f\x21\xc3", MOV_DR, 0),
	ROW("\x44\x0f\x22\xc0", MOV_CR8, 0),
	ROW("\x44\x0f\x20\xc3", MOV_CR8, 0),
	ROW("\x0f\x20\xc0", PLAIN, 0),
	ROW("\xf3\x6e", UNMODELLED, 0),
	ROW("\x0f\x33", RDPMC, 0),
	ROW("\x0f\xc7\xf0", UNMODELLED, 0),
	ROW("\x0f\xae\x21", XSAVE, 0),
	ROW("\x0f\xae\x31", XSAVEOPT, 0),
	ROW("\x0f\xc7\x21", XSAVEC, 0),
	ROW("\x0f\xae\x29", XRSTOR, 0),
	ROW("\x0f\xae\x39", CHECKED, 0),
	ROW("\x0f\xb1\x11", CMPXCHG32, 0),
	ROW("\x0f\xb1\xd1", CMPXCHG32_REG, 0),
	ROW("\x48\x0f\xb1\x11", PLAIN, 0),
	ROW("\x0f\xb0\x11", PLAIN, 0),
	ROW("\x0f\x34", UNMODELLED, 0),
	ROW("\xcc", PLAIN, 0),
	ROW("\xcd\x80", PLAIN, 0),
};

static void
every_class_is_recognised(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct insn insn;
		uint8_t bytes[INSN_BYTES_MAX];

		memcpy(bytes, rows[i].bytes, rows[i].length);
		assert_true(insn_decode(bytes, rows[i].length, VA, &insn));
		if (insn.class != rows[i].class)
			fail_msg("row %zu has class %d", i, (int)insn.class);
		assert_int_equal(insn.length, rows[i].length);
		assert_int_equal(insn.target, rows[i].target);
		/* One byte less is none. */
		assert_false(
		    insn_decode(bytes, rows[i].length - 1u, VA, &insn) &&
		    insn.length == rows[i].length);
	}
}

static bool
definition(unsigned cc, uint64_t f)
{
	bool cf = f & 1, pf = f & 4, zf = f & 0x40, sf = f & 0x80;
	bool of = f & 0x800;
	const bool holds[16] = { of, !of, cf, !cf, zf, !zf, cf || zf,
		!cf && !zf, sf, !sf, pf, !pf, sf != of, sf == of,
		zf || sf != of, !zf && sf == of };

	return holds[cc];
}

static void
conditions_hold_as_defined(void **state)
{
	(void)state;
	for (unsigned cc = 0; cc < 16; cc++) {
		for (uint64_t f = 0; f < 0x1000; f++) {
			struct insn_regs regs = { .rflags = f };
			uint8_t near[] = { (uint8_t)(0x70 | cc), 0 };
			uint8_t far[] = { 0x0f, (uint8_t)(0x80 | cc), 0, 0, 0,
				0 };

			if (f & 0x72a)
				continue;
			assert_int_equal(
			    insn_cond_taken(near, 2, &regs), definition(cc, f));
			assert_int_equal(
			    insn_cond_taken(far, 6, &regs), definition(cc, f));
		}
	}
}

static void
loops_count_in_their_address_size(void **state)
{
	static const uint64_t counts[] = { 0, 1, 2, 0x100000000, 0x100000001,
		UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(counts); i++) {
		for (unsigned zf = 0; zf < 2; zf++) {
			struct insn_regs regs = {
				.gpr[1] = counts[i],
				.rflags = zf ? 0x40 : 0,
			};

			for (unsigned small = 0; small < 2; small++) {
				uint8_t code[3] = { 0x67, 0, 0 };
				uint64_t mask = small ? UINT32_MAX : UINT64_MAX;
				bool more = ((counts[i] - 1) & mask) != 0;
				const bool taken[4] = { more && !zf, more && zf,
					more, (counts[i] & mask) == 0 };

				for (unsigned op = 0; op < 4; op++) {
					code[1] = (uint8_t)(0xe0 + op);
					assert_int_equal(
					    insn_cond_taken(code + 1 - small,
						2 + small, &regs),
					    taken[op]);
				}
			}
		}
	}
}

static void
memory_operands_have_their_address(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t length;
		uint64_t va;
		unsigned size;
		bool read, written;
	} operands[] = {
		{ "\x8b\x03", 2, 0x3000, 4, true, false },
		{ "\x89\x43\x10", 3, 0x3010, 4, false, true },
		{ "\x01\x43\xf0", 3, 0x2ff0, 4, true, true },
		{ "\x48\x8b\x04\xcb", 4, 0x3000 + 8 * 5, 8, true, false },
		{ "\x8a\x05\x10\x00\x00\x00", 6, VA + 6 + 16, 1, true, false },
		{ "\x64\x8b\x03", 3, 0x3000 + 0x70000, 4, true, false },
		{ "\x65\x8b\x03", 3, 0x3000 + 0x90000, 4, true, false },
		{ "\x67\x8b\x02", 3, 0xfffffffe, 4, true, false },
		{ "\xc7\x04\x25\x00\x03\xe0\xfe\x00\x00\x00\x00", 11,
		    0xfffffffffee00300, 4, false, true },
	};
	const struct insn_regs regs = {
		.gpr = { [1] = 5, [2] = 0xfffffffffffffffe, [3] = 0x3000 },
		.fs_base = 0x70000,
		.gs_base = 0x90000
	};
	struct insn_memory memory;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(operands); i++) {
		uint8_t bytes[INSN_BYTES_MAX];

		memcpy(bytes, operands[i].bytes, operands[i].length);
		assert_true(insn_memory_operand(
		    bytes, operands[i].length, VA, &regs, &memory));
		assert_int_equal(memory.va, operands[i].va);
		assert_int_equal(memory.bytes, operands[i].size);
		assert_int_equal(memory.read, operands[i].read);
		assert_int_equal(memory.written, operands[i].written);
	}
	/* LEA computes an address and accesses nothing. */
	assert_false(insn_memory_operand(
	    (const uint8_t *)"\x8d\x03", 2, VA, &regs, &memory));
	assert_false(insn_memory_operand(
	    (const uint8_t *)"\x90", 1, VA, &regs, &memory));
}

#define TOP UINT64_C(0x7ffe00005000)

static void
written_pages_are_known(void **state)
{
	const struct insn_regs regs = {
		.gpr = { [3] = 0x3ffe, [4] = TOP, [7] = 0x7000, [6] = 0x8000 }
	};
	/* The prefix for an address of 32 bits does not apply to the stack. */
	static const struct {
		const char *bytes;
		uint8_t length;
		uint64_t page;
		bool written;
	} pages[] = {
		{ "\x89\x03", 2, 0x3000, true },
		{ "\x89\x03", 2, 0x4000, true },
		{ "\x89\x03", 2, 0x5000, false },
		{ "\x8b\x03", 2, 0x3000, false },
		{ "\x50", 1, TOP - 0x1000, true },
		{ "\x50", 1, TOP, false },
		{ "\x58", 1, TOP, false },
		{ "\xe8\x00\x00\x00\x00", 5, TOP - 0x1000, true },
		{ "\x67\xe8\x00\x00\x00\x00", 6, TOP - 0x1000, true },
		{ "\x67\x50", 2, TOP - 0x1000, true },
		{ "\xff\xd0", 2, TOP - 0x1000, true },
		{ "\xff\x33", 2, 0x3000, false },
		{ "\xff\x33", 2, TOP - 0x1000, true },
		{ "\xa4", 1, 0x7000, true },
		{ "\xa4", 1, 0x8000, false },
		{ "\x9c", 1, TOP - 0x1000, true },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(pages); i++) {
		uint8_t bytes[INSN_BYTES_MAX];

		memcpy(bytes, pages[i].bytes, pages[i].length);
		if (insn_page(bytes, pages[i].length, VA, &regs, pages[i].page)
			.written != pages[i].written)
			fail_msg("row %zu", i);
	}
}

static void
software_interrupts_and_ud_are_known(void **state)
{
	const uint8_t int80[] = { 0xcd, 0x80 }, int3[] = { 0xcc };
	const uint8_t int1[] = { 0xf1 }, nop[] = { 0x90 };
	const uint8_t ud2[] = { 0x0f, 0x0b };

	(void)state;
	assert_int_equal(insn_software_vector(int80, 2), 0x80);
	assert_int_equal(insn_software_vector(int3, 1), 3);
	assert_int_equal(insn_software_vector(int1, 1), 1);
	assert_int_equal(insn_software_vector(nop, 1), -1);
	assert_int_equal(insn_software_vector(int80, 1), -1);
	assert_true(insn_is_ud(ud2, 2));
	assert_false(insn_is_ud(nop, 1));
}

static void
out_names_its_port_and_size(void **state)
{
	static const struct {
		uint8_t bytes[3], length;
		int port;
		unsigned size;
	} outs[] = { { { 0xee }, 1, -1, 1 }, { { 0xef }, 1, -1, 4 },
		{ { 0x66, 0xef }, 2, -1, 2 }, { { 0xe6, 0xe9 }, 2, 0xe9, 1 },
		{ { 0xe7, 0x80 }, 2, 0x80, 4 } };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(outs); i++) {
		unsigned size;
		int port;

		insn_port_operands(outs[i].bytes, outs[i].length, &port, &size);
		assert_int_equal(port, outs[i].port);
		assert_int_equal(size, outs[i].size);
	}
}

/* What was decoded before is what is decoded now, also where bytes change or lack. */
static void
known_instructions_are_decoded_alike(void **state)
{
	static const uint64_t places[] = { 0, VA, VA + 1, UINT64_MAX - 3 };
	struct insn_cache *cache = calloc(1, sizeof(*cache));
	uint64_t seed = 1;

	(void)state;
	assert_non_null(cache);
	for (unsigned i = 0; i < 200000; i++) {
		struct insn want = { 0 }, have = { 0 };
		uint8_t bytes[INSN_BYTES_MAX];
		const struct row *row;
		uint64_t va;
		size_t count;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		row = &rows[(seed >> 32) % TZ_ARRAY_LEN(rows)];
		va = places[(seed >> 40) % TZ_ARRAY_LEN(places)];
		count = 1 + (seed >> 48) % sizeof(bytes);
		memset(bytes, (uint8_t)(seed >> 56), sizeof(bytes));
		memcpy(bytes, row->bytes, row->length);
		/* Now and then another byte of it. */
		if ((seed >> 60) == 0)
			bytes[row->length - 1] ^= 1;
		if (insn_decode(bytes, count, va, &want) !=
			insn_cache_decode(cache, bytes, count, va, &have) ||
		    want.class != have.class || want.length != have.length ||
		    want.stores != have.stores || want.target != have.target)
			fail_msg("%u: another instruction", i);
	}
	free(cache);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_class_is_recognised),
		cmocka_unit_test(conditions_hold_as_defined),
		cmocka_unit_test(loops_count_in_their_address_size),
		cmocka_unit_test(memory_operands_have_their_address),
		cmocka_unit_test(written_pages_are_known),
		cmocka_unit_test(software_interrupts_and_ud_are_known),
		cmocka_unit_test(out_names_its_port_and_size),
		cmocka_unit_test(known_instructions_are_decoded_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
