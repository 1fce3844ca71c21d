#include "generate.h"

#include "make.h"

#include <string.h>

#define LOOP_COUNTER (STACK_VA + STACK_BYTES - 64)
#define CODE_START   0x400
#define TRIES        200

static void
add_branch(struct make *make, const void *opcode, unsigned length,
    unsigned bytes, unsigned unit)
{
	uint8_t code[15] = { 0 };
	struct piece *piece;

	memcpy(code, opcode, length);
	piece = unit_add(make, code, length + bytes);
	piece->patch = PATCH_BRANCH;
	piece->patch_at = (uint8_t)length;
	piece->patch_bytes = (uint8_t)bytes;
	piece->unit = (uint8_t)unit;
}

/* MOVS, STOS, LODS, CMPS, SCAS, with and without REP, either way. */
static void
make_string(struct make *make)
{
	static const uint8_t opcodes[] = { 0xa4, 0xa6, 0xaa, 0xac, 0xae };
	uint8_t code[5];
	unsigned length = 0;
	unsigned count = below(make, chance(make, 15) ? PAGE_BYTES : 40);
	uint64_t to = make_place(make, 8, false);

	if (count >= 40 && to < DATA_VA)
		to += DATA_VA - CODE_VA; /* not onto its own code */
	if (chance(make, 4))
		count = 0;
	unit_add_mov(make, RDI, to);
	unit_add_mov(make, RSI,
	    chance(make, 15) ? to - 8 + below(make, 16) /* onto itself */
			     : make_place(make, 8, false));
	unit_add_mov(make, RCX, count);
	if (chance(make, 30)) { /* operands that are equal */
		unit_add(make, "\xf3\xaa", 2);
		unit_add_mov(make, RDI, to);
		unit_add_mov(make, RCX, count + below(make, 9));
	}
	if (chance(make, 35))
		unit_add(make, "\xfd", 1);
	if (chance(make, 20))
		code[length++] = 0x66;
	if (chance(make, 75))
		code[length++] = (uint8_t)(0xf2 + below(make, 2));
	if (chance(make, 25))
		code[length++] = 0x48;
	code[length++] = (uint8_t)(opcodes[below(make, 5)] + below(make, 2));
	unit_add(make, code, length);
	if (chance(make, 80))
		unit_add(make, "\xfc", 1);
}

/* To one of the next units. */
static unsigned
draw_target(struct make *make, unsigned index)
{
	return index + 1 + below(make, 3);
}

static void
make_branch(struct make *make, unsigned index)
{
	uint8_t jcc[2] = { 0x0f, (uint8_t)(0x80 + below(make, 16)) };
	uint8_t jrcxz = (uint8_t)(0xe0 + below(make, 4));
	unsigned to = draw_target(make, index);

	switch (below(make, 5)) {
	case 0:
		add_branch(make, "\xe9", 1, 4, to);
		break;
	case 1: /* LOOPNE, LOOPE, LOOP, JRCXZ: always forward */
		unit_add_mov(make, RCX, below(make, 3));
		add_branch(make, &jrcxz, 1, 1, index + 1);
		break;
	default:
		add_branch(make, jcc, 2, 4, to);
		break;
	}
}

/* DEC of a counter in memory, and back; what comes before defines the flags. */
static void
make_loop(struct make *make, unsigned from)
{
	uint8_t code[8] = { 0x80, 0x2c, 0x25, 0, 0, 0, 0, 1 };
	uint32_t at = LOOP_COUNTER;

	memcpy(code + 3, &at, 4);
	/* SUB of a byte: all flags. */
	unit_add(make, code, sizeof(code));
	add_branch(make, "\x0f\x85", 2, 4, from);
}

/* CALL of a subroutine within, and RET of all forms. */
static void
make_call(struct make *make)
{
	unsigned form = below(make, 3);

	unit_add_mov(make, RSP, RSP_MIDDLE - 256 + below(make, 512));
	if (form == 0) { /* call 1f; jmp 2f; 1: ret; 2: */
		unit_add(make, "\xe8\x02\0\0\0", 5);
		unit_add(make, "\xeb\x01", 2);
		unit_add(make, "\xc3", 1);
	} else if (form == 1) { /* lea rax, [1f]; call rax; jmp 2f; 1: ret 8 */
		unit_add(make, "\x48\x8d\x05\x04\0\0\0", 7);
		unit_add(make, "\xff\xd0", 2);
		unit_add(make, "\xeb\x03", 2);
		unit_add(make, "\xc2\x08\0", 3);
	} else { /* lea rax, [1f]; push rax; ret; int3; 1: */
		unit_add(make, "\x48\x8d\x05\x03\0\0\0", 7);
		unit_add(make, "\x50", 1);
		unit_add(make, "\xc3", 1);
		unit_add(make, "\xcc", 1);
	}
}

static void
make_frame(struct make *make)
{
	uint8_t enter[4] = { 0xc8, (uint8_t)below(make, 64), 0,
		(uint8_t)(chance(make, 60) ? 0 : below(make, 4)) };
	uint8_t push[5] = { 0x68, (uint8_t)random_next(&make->rng),
		(uint8_t)(random_next(&make->rng) & 0x0c), 0, 0 };

	unit_add_mov(make, RSP, RSP_MIDDLE - 256 + below(make, 512));
	if (chance(make, 50)) {
		/* POPF: arithmetic flags, DF and OF. */
		push[1] &= 0xd5;
		unit_add(make, push, 5);
		unit_add(make, "\x9d", 1);
		if (chance(make, 80))
			unit_add(make, "\xfc", 1);
		return;
	}
	unit_add_mov(make, RBP, RSP_MIDDLE - 512 + below(make, 64) * 8);
	unit_add(make, enter, 4);
	if (chance(make, 70))
		unit_add(make, "\xc9", 1);
}

/* A MOV whose immediate others write, and may be behind them at once. */
static void
make_soft(struct make *make)
{
	uint8_t reg = (uint8_t)below(make, 8);
	uint8_t code[10] = { 0x48, (uint8_t)(0xb8 | (reg == RSP ? RAX : reg)) };

	for (unsigned i = 2; i < 10; i++)
		code[i] = (uint8_t)i;
	make->unit->soft = 1;
	unit_add(make, code, sizeof(code));
}

static void
add_code_address(struct make *make, unsigned reg, unsigned unit, unsigned byte)
{
	uint8_t code[10] = { (uint8_t)(0x48 | reg >> 3),
		(uint8_t)(0xb8 | (reg & 7)) };
	struct piece *piece = unit_add(make, code, sizeof(code));

	piece->patch = PATCH_CODE;
	piece->patch_at = 2;
	piece->patch_bytes = 8;
	piece->unit = (uint8_t)unit;
	piece->target = byte;
}

/* Writes the immediate of SOFT's MOV, or to data near it and then that. */
static void
make_hard(struct make *make, unsigned soft)
{
	static const uint8_t stores[][4] = { { 0x88, 0x07 },
		{ 0x66, 0x89, 0x07 }, { 0x89, 0x07 }, { 0x48, 0x89, 0x07 },
		{ 0x00, 0x07 }, { 0x48, 0x87, 0x07 }, { 0xf0, 0xff, 0x07 },
		{ 0x0f, 0x11, 0x07 }, { 0x48, 0xab }, { 0xf6, 0x17 } };
	static const uint8_t lengths[] = { 2, 3, 2, 3, 2, 3, 3, 3, 2, 2 };
	static const uint8_t widths[] = { 1, 2, 4, 8, 1, 8, 4, 0, 8, 1 };
	unsigned form = below(make, sizeof(lengths));
	uint64_t spare = CODE_VA + CODE_BYTES - SPARE_BYTES;

	if (widths[form] == 0)
		form = 3;
	if (chance(make, 30)) { /* the page is written before */
		unit_add_mov(make, RDI, spare + below(make, SPARE_BYTES - 8));
		unit_add(make, "\x88\x07", 2);
	}
	add_code_address(make, RDI, soft, below(make, 9u - widths[form]));
	unit_add(make, stores[form], lengths[form]);
}

/* Loads MXCSR: rounding, DAZ, FTZ, exceptions that are not masked, a reserved bit. */
static void
make_mxcsr(struct make *make)
{
	uint32_t value = 0x1f80 | below(make, 4) << 13;
	uint8_t code[8] = { 0xc7, 0x04, 0x24 };

	if (chance(make, 20))
		value |= 0x8000;
	if (chance(make, 20))
		value |= 0x0040;
	if (chance(make, 30))
		value &= ~(below(make, 64) << 7);
	if (chance(make, 3))
		value |= 0x10000;
	memcpy(code + 3, &value, 4);
	unit_add_mov(make, RSP, RSP_MIDDLE);
	unit_add(make, code, 7);
	unit_add(make, "\x0f\xae\x14\x24", 4);
}

/* From an empty stack, with a control word, a few loads, and an operation. */
static void
make_x87(struct make *make)
{
	uint16_t control = (uint16_t)(0x037f | below(make, 4) << 10);
	uint8_t word[6] = { 0x66, 0xc7, 0x04, 0x24 };
	unsigned loads = 2 + below(make, 2);

	if (chance(make, 30))
		control = (uint16_t)((control & ~0x300) |
		    (chance(make, 50) ? 0x200 : 0));
	if (chance(make, 30)) {
		control &= (uint16_t)~below(make, 64);
		make->x87_unmasked = true;
	}
	memcpy(word + 4, &control, 2);
	unit_add_mov(make, RSP, RSP_MIDDLE);
	unit_add(make, "\xdb\xe3", 2);
	unit_add(make, word, 6);
	unit_add(make, "\xd9\x2c\x24", 3);
	unit_add_mov(make, RBX, DATA_VA + 64 + 8 * below(make, 256));
	for (unsigned i = 0; i < loads; i++) {
		uint8_t code[3] = { chance(make, 50) ? 0xdd : 0xd9, 0x43,
			(uint8_t)(8 * below(make, 15)) };

		unit_add(make, code, 3);
	}
	draw_x87(make);
	if (chance(make, 50))
		draw_x87(make);
}

static void
make_unit(struct make *make, unsigned index, unsigned soft)
{
	unsigned percent = below(make, 100);

	if (percent < 6)
		make_string(make);
	else if (percent < 12)
		make_branch(make, index);
	else if (percent < 15)
		make_call(make);
	else if (percent < 18)
		make_frame(make);
	else if (percent < 22 && soft != 0)
		make_hard(make, soft);
	else if (percent < 24 && (make->what & MAKE_SSE))
		make_mxcsr(make);
	else if (percent < 28 && (make->what & MAKE_X87))
		make_x87(make);
	else
		draw_insn(make);
}

static void
make_state(struct make *make, struct state *state)
{
	uint32_t mxcsr = 0x1f80 | below(make, 4) << 13;
	uint16_t fcw = 0x037f;

	for (unsigned i = 0; i < 16; i++)
		state->gpr[i] = make_value(make);
	state->gpr[RSP] = RSP_MIDDLE - 256 + below(make, 512);
	state->rflags = 0x202 | (random_next(&make->rng) & ALL);
	state->cs = 0;
	memcpy(state->fx, &fcw, 2);
	if (make->what & MAKE_SSE)
		memcpy(state->fx + 24, &mxcsr, 4);
	else
		memcpy(state->fx + 24, &(uint32_t){ 0x1f80 }, 4);
	memcpy(state->fx + 28, &(uint32_t){ 0xffff }, 4);
	for (unsigned i = 0; i < 16; i++) {
		for (unsigned j = 0; j < 2; j++) {
			uint64_t value = make_value(make);

			memcpy(state->fx + 160 + 16 * i + 8 * j, &value, 8);
		}
	}
}

void
sequence_make(uint64_t seed, unsigned what, struct sequence *sequence)
{
	struct make make = { .rng = seed, .what = what, .sequence = sequence };
	unsigned soft = 0, loop = 0, wanted;

	memset(sequence, 0, sizeof(*sequence));
	sequence->seed = seed;
	make_state(&make, &sequence->state);
	sequence->start = CODE_START + below(&make, PAGE_BYTES);
	wanted = 4 + below(&make, UNITS_MAX - 8);
	/* One unit that others may write, after them or before. */
	if (chance(&make, 35))
		soft = 1 + below(&make, wanted - 1);
	/* Some go round a few times. */
	if (chance(&make, 30))
		loop = 1 + below(&make, wanted - 1);
	while (sequence->count < wanted) {
		unsigned index = sequence->count++;

		make.unit = &sequence->unit[index];
		for (unsigned try = 0;; try++) {
			memset(make.unit, 0, sizeof(*make.unit));
			if (index == soft && soft != 0)
				make_soft(&make);
			else if (index == loop && loop != 0 &&
			    !(make.x87_unmasked && make.has_maskmovq))
				make_loop(&make, below(&make, loop));
			else
				make_unit(&make, index, soft);
			if (!sequence_is_undefined(sequence))
				break;
			if (try < TRIES)
				continue;
			/* CMP EAX, EAX defines them all. */
			memset(make.unit, 0, sizeof(*make.unit));
			unit_add(&make, "\x39\xc0", 2);
			break;
		}
	}
}
