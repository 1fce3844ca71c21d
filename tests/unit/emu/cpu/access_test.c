/*
 * Goal: of each load and store of a block it is known from which registers, and when,
 * its address can be computed, and that only where it is so.  Method: blocks by their
 * bytes, with what holds of their last access written down; addresses computed from
 * values.
 */
#include "emu/cpu/access/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define VA       UINT64_C(0x1000)
#define NONE     INSN_NO_REG
#define INSNS    6
#define ACCESSES 16
#define END(reg) (ACCESS_AT_END + (reg))

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R12 = 12 };

struct row {
	const char *name;
	struct code {
		const char *bytes;
		uint8_t length;
	} insn[INSNS];
	bool site;
	uint8_t base, index;
	uint64_t disp;
	struct access_sum frame;
};

#define I(bytes)           \
 {                         \
  bytes, sizeof(bytes) - 1 \
 }

static const struct row rows[] = {
	{ "mov [rbx + 8], rax", { I("\x48\x89\x43\x08") }, false, END(RBX),
	    NONE, 8, { END(RBP), 0 } },
	{ "mov rbx, [rbx + 8]", { I("\x48\x8b\x5b\x08") }, false, RBX, NONE, 8,
	    { END(RBP), 0 } },
	{ "the base is loaded before", /* mov rax, [rbx]; mov [rax], ecx */
	    { I("\x48\x8b\x03"), I("\x89\x08") }, false, END(RAX), NONE, 0,
	    { END(RBP), 0 } },
	{ "loaded before, lost after", /* ...; xor eax, eax */
	    { I("\x48\x8b\x03"), I("\x89\x08"), I("\x31\xc0") }, true, RAX,
	    NONE, 0, { RBP, 0 } },
	{ "loaded before, kept elsewhere", /* ..; mov rdx, rax; ..; xor */
	    { I("\x48\x8b\x03"), I("\x48\x89\xc2"), I("\x89\x08"),
		I("\x31\xc0") },
	    false, END(RDX), NONE, 0, { END(RBP), 0 } },
	{ "kept elsewhere too late", /* mov rdx, rax after the store */
	    { I("\x48\x8b\x03"), I("\x89\x08"), I("\x48\x89\xc2"),
		I("\x31\xc0") },
	    true, RAX, NONE, 0, { RBP, 0 } },
	{ "a chain", /* mov rax, [rax]; mov rax, [rax]; mov rax, [rax] */
	    { I("\x48\x8b\x00"), I("\x48\x8b\x00"), I("\x48\x8b\x00") }, true,
	    RAX, NONE, 0, { RBP, 0 } },
	{ "sums", /* lea rsi, [rbx + 24]; add rsi, 8; sub rsi, -1; mov [rsi + 2], al */
	    {
		I("\x48\x8d\x73\x18"),
		I("\x48\x83\xc6\x08"),
		I("\x48\x83\xee\xff"),
		I("\x88\x46\x02"),
	    },
	    false, END(RBX), NONE, 35, { END(RBP), 0 } },
	{ "a sum that goes on after", /* mov rax, [rbx]; mov [rax], cl; add rax, 1 */
	    { I("\x48\x8b\x03"), I("\x88\x08"), I("\x48\x83\xc0\x01") }, true,
	    RAX, NONE, 0, { RBP, 0 } },
	{ "numbers", /* movabs rax, 0x1122334455667788; mov [rax + 8], cl; xor */
	    { I("\x48\xb8\x88\x77\x66\x55\x44\x33\x22\x11"), I("\x88\x48\x08"),
		I("\x31\xc0") },
	    false, NONE, NONE, 0x1122334455667790, { END(RBP), 0 } },
	{ "by RIP", /* mov [rip + 16], eax */
	    { I("\x90"), I("\x89\x05\x10\x00\x00\x00") }, false, NONE, NONE,
	    VA + 7 + 16, { END(RBP), 0 } },
	{ "half a register", /* mov ebx, ebx; mov [rbx], al; xor ebx, ebx */
	    { I("\x89\xdb"), I("\x88\x03"), I("\x31\xdb") }, true, RBX, NONE, 0,
	    { RBP, 0 } },
	{ "two registers", /* mov [r12 + rcx * 8 + 1], al; xor ecx, ecx */
	    { I("\x41\x88\x44\xcc\x01"), I("\x31\xc9") }, false, END(R12), RCX,
	    1, { END(RBP), 0 } },
	{ "the frame is made", /* push rbp; mov rbp, rsp; mov [rbp - 8], al */
	    { I("\x55"), I("\x48\x89\xe5"), I("\x88\x45\xf8") }, false,
	    END(RSP), NONE, (uint64_t)-8, { END(RSP), 0 } },
	{ "the frame is left", /* mov [rbx], al; leave; (ret) */
	    { I("\x88\x03"), I("\xc9") }, false, END(RBX), NONE, 0,
	    { RBP, 0 } },
	{ "made and left", /* push rbp; mov rbp, rsp; mov [rbx], al; pop rbp */
	    { I("\x55"), I("\x48\x89\xe5"), I("\x88\x03"), I("\x5d") }, false,
	    END(RBX), NONE, 0, { RSP, (uint64_t)-8 } },
	{ "a string", /* stosb */
	    { I("\xaa") }, false, RDI, NONE, 0, { END(RBP), 0 } },
	{ "after a string", /* scasb; stosb */
	    { I("\xae"), I("\xaa") }, true, RDI, NONE, 0, { RBP, 0 } },
	{ "a string at a known place", /* mov rdi, rbx; mov ecx, 3; rep stosb */
	    { I("\x48\x89\xdf"), I("\xb9\x03\x00\x00\x00"), I("\xf3\xaa") },
	    false, END(RBX), NONE, 0, { END(RBP), 0 } },
};

/* Describes ROW; its last access. */
static struct block_access
describe(const struct row *row, unsigned *count)
{
	struct block_access access[ACCESSES];
	struct access_flow flow;
	uint64_t va = VA;

	*count = 0;
	access_flow_begin(&flow);
	for (unsigned i = 0; i < INSNS && row->insn[i].length != 0; i++) {
		uint8_t bytes[INSN_BYTES_MAX];

		memcpy(bytes, row->insn[i].bytes, row->insn[i].length);
		*count += access_flow_insn(
		    &flow, bytes, row->insn[i].length, va, &access[*count]);
		va += row->insn[i].length;
	}
	access_flow_end(&flow, access, *count);
	assert_int_not_equal(*count, 0);
	return access[*count - 1];
}

static void
each_address_has_its_registers(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		unsigned count;
		struct block_access access = describe(&rows[i], &count);

		if (access.site != rows[i].site ||
		    access.at.base != rows[i].base ||
		    access.at.index != rows[i].index ||
		    access.frame.place != rows[i].frame.place)
			fail_msg("%s: %s base %u index %u frame %u",
			    rows[i].name, access.site ? "site" : "",
			    access.at.base, access.at.index,
			    access.frame.place);
		assert_int_equal(access.at.disp, rows[i].disp);
		if (!access.site)
			assert_int_equal(access.frame.add, rows[i].frame.add);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_its_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
