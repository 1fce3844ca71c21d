#include "generate.h"

#include "flags.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

#define RSP_MIDDLE   (STACK_VA + STACK_BYTES / 2)
#define LOOP_COUNTER (STACK_VA + STACK_BYTES - 64)
#define SPARE_BYTES  0x200 /* of the code pages, at either end, for data */
#define CODE_START   0x400
#define TRIES        200

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

struct make {
	uint64_t rng;
	unsigned what;
	struct sequence *sequence;
	struct unit *unit;
};

static unsigned
below(struct make *make, unsigned count)
{
	return random_below(&make->rng, count);
}

static bool
chance(struct make *make, unsigned percent)
{
	return random_chance(&make->rng, percent);
}

static bool
decode(const uint8_t *code, size_t count, struct decoded *d)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(
	    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		&decoder, code, count, &d->insn, d->operand)))
		return false;
	/* Zydis 4.0.0 has R13 for no base: SDM vol. 2, table 2-3. */
	if (d->insn.raw.modrm.mod == 0 && d->insn.raw.modrm.rm == 4 &&
	    d->insn.raw.sib.base == 5 &&
	    (d->insn.attributes & ZYDIS_ATTRIB_HAS_SIB)) {
		for (int i = 0; i < d->insn.operand_count_visible; i++) {
			if (d->operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			    (d->operand[i].mem.base == ZYDIS_REGISTER_R13 ||
				d->operand[i].mem.base == ZYDIS_REGISTER_R13D))
				d->operand[i].mem.base = ZYDIS_REGISTER_NONE;
		}
	}
	return true;
}

static struct piece *
add(struct make *make, const void *code, unsigned length)
{
	struct unit *unit = make->unit;
	struct piece *piece = &unit->piece[unit->count++];
	struct decoded d;

	if (unit->count > PIECES_MAX || !decode(code, length, &d))
		abort();
	*piece = (struct piece){
		.length = (uint8_t)length,
		.reads = (uint16_t)flags_read(&d),
		.keeps = (uint16_t)flags_after(&d, ALL),
		.makes = (uint16_t)flags_after(&d, 0),
		.status_keeps = (uint16_t)status_after(&d, C0 | C1 | C2 | C3),
		.status_makes = (uint16_t)status_after(&d, 0),
	};
	memcpy(piece->code, code, length);
	return piece;
}

static void
add_patched(struct make *make, const struct piece *from)
{
	struct piece *piece = add(make, from->code, from->length);

	piece->patch = from->patch;
	piece->patch_at = from->patch_at;
	piece->target = from->target;
}

/* MOV of an immediate, which needs no flag and leaves all alone. */
static void
add_mov(struct make *make, unsigned reg, uint64_t value)
{
	uint8_t code[10] = { (uint8_t)(0x48 | reg >> 3),
		(uint8_t)(0xb8 | (reg & 7)) };

	memcpy(code + 2, &value, sizeof(value));
	add(make, code, sizeof(code));
}

static void
add_branch(struct make *make, const void *opcode, unsigned length,
    unsigned bytes, unsigned unit)
{
	uint8_t code[15] = { 0 };
	struct piece *piece;

	memcpy(code, opcode, length);
	piece = add(make, code, length + bytes);
	piece->patch = PATCH_BRANCH;
	piece->patch_at = (uint8_t)length;
	piece->patch_bytes = (uint8_t)bytes;
	piece->unit = (uint8_t)unit;
}

/* A value that instructions find interesting. */
static uint64_t
draw_value(struct make *make)
{
	static const uint64_t values[] = { 0, 1, 2, 7, 8, 15, 16, 31, 32, 63,
		64, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff, 0x3ff0000000000000, 0x7ff0000000000000,
		0x7ff8000000000001, 0x7ff0000000000001, 0x0000000000000001,
		0x8000000000000000, 0x3f8000003f800000, 0x7f800000ff800000,
		0x7fc000017f800001, 0x0000000180000001, 0x5555555555555555 };
	uint64_t value = random_next(&make->rng);

	switch (below(make, 4)) {
	case 0:
		return values[below(make, sizeof(values) / sizeof(values[0]))];
	case 1:
		return (uint64_t)(int64_t)(int32_t)(value >>
		    (32 + below(make, 32)));
	default:
		return value;
	}
}

/* Where an operand of SIZE bytes is. */
static uint64_t
draw_place(struct make *make, unsigned size, bool aligned)
{
	unsigned percent = below(make, 100);
	uint64_t place;

	if (size == 0)
		size = 1;
	if (percent < 78)
		place = DATA_VA + 64 + below(make, DATA_BYTES - 128 - size);
	else if (percent < 88)
		place = DATA_VA + PAGE_BYTES * (1 + below(make, 2)) -
		    below(make, size + 1);
	else if (percent < 91)
		place = FIXED_VA + 64 + below(make, FIXED_BYTES - 128 - size);
	else if (percent < 94)
		place = STACK_VA + 64 + below(make, STACK_BYTES - 256 - size);
	else if (percent < 99)
		place = CODE_VA +
		    (chance(make, 50) ? 0u : CODE_BYTES - SPARE_BYTES) +
		    below(make, SPARE_BYTES - size);
	else
		place = DATA_VA + DATA_BYTES - below(make, size + 1);
	return aligned && !chance(make, 4) ? place & ~UINT64_C(15) : place;
}

static bool
is_set_known(ZydisISASet set)
{
	switch ((int)set) {
	case ZYDIS_ISA_SET_I86:
	case ZYDIS_ISA_SET_I186:
	case ZYDIS_ISA_SET_I386:
	case ZYDIS_ISA_SET_I486REAL:
	case ZYDIS_ISA_SET_PENTIUMREAL:
	case ZYDIS_ISA_SET_PPRO:
	case ZYDIS_ISA_SET_CMOV:
	case ZYDIS_ISA_SET_LONGMODE:
	case ZYDIS_ISA_SET_LAHF:
	case ZYDIS_ISA_SET_FAT_NOP:
	case ZYDIS_ISA_SET_CMPXCHG16B:
	case ZYDIS_ISA_SET_PENTIUMMMX:
	case ZYDIS_ISA_SET_SSE:
	case ZYDIS_ISA_SET_SSE2:
	case ZYDIS_ISA_SET_SSE2MMX:
	case ZYDIS_ISA_SET_SSE3:
	case ZYDIS_ISA_SET_SSE_PREFETCH:
	case ZYDIS_ISA_SET_SSEMXCSR:
	case ZYDIS_ISA_SET_CLFSH:
	case ZYDIS_ISA_SET_PAUSE:
		return true;
	default:
		return false;
	}
}

/* Not drawn: what shows the host, the system's state, or has a unit of its own. */
static bool
is_left_to_others(ZydisMnemonic mnemonic)
{
	static const ZydisMnemonic list[] = { ZYDIS_MNEMONIC_CPUID,
		ZYDIS_MNEMONIC_RDTSC, ZYDIS_MNEMONIC_RDTSCP,
		ZYDIS_MNEMONIC_RDPMC, ZYDIS_MNEMONIC_SGDT, ZYDIS_MNEMONIC_SIDT,
		ZYDIS_MNEMONIC_SLDT, ZYDIS_MNEMONIC_STR, ZYDIS_MNEMONIC_SMSW,
		ZYDIS_MNEMONIC_LAR, ZYDIS_MNEMONIC_LSL, ZYDIS_MNEMONIC_VERR,
		ZYDIS_MNEMONIC_VERW, ZYDIS_MNEMONIC_INT, ZYDIS_MNEMONIC_INT1,
		ZYDIS_MNEMONIC_INT3, ZYDIS_MNEMONIC_UD0, ZYDIS_MNEMONIC_UD1,
		ZYDIS_MNEMONIC_UD2, ZYDIS_MNEMONIC_POPF, ZYDIS_MNEMONIC_POPFQ,
		ZYDIS_MNEMONIC_ENTER, ZYDIS_MNEMONIC_LEAVE, ZYDIS_MNEMONIC_RSM,
		ZYDIS_MNEMONIC_LDMXCSR, ZYDIS_MNEMONIC_LSS, ZYDIS_MNEMONIC_LFS,
		ZYDIS_MNEMONIC_LGS, ZYDIS_MNEMONIC_STD, ZYDIS_MNEMONIC_SYSCALL,
		ZYDIS_MNEMONIC_STMXCSR, ZYDIS_MNEMONIC_XLAT };

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (list[i] == mnemonic)
			return true;
	}
	return false;
}

static bool
is_operand_known(const struct decoded *d, const ZydisDecodedOperand *operand)
{
	ZydisRegister reg = operand->reg.value;
	bool written = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return operand->mem.segment != ZYDIS_REGISTER_FS &&
		    operand->mem.segment != ZYDIS_REGISTER_GS &&
		    operand->mem.type != ZYDIS_MEMOP_TYPE_VSIB &&
		    operand->mem.type != ZYDIS_MEMOP_TYPE_MIB;
	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return true;
	switch ((int)ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		return !written ||
		    operand->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT ||
		    ZydisRegisterGetLargestEnclosing(
			d->insn.machine_mode, reg) != ZYDIS_REGISTER_RSP;
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_FLAGS:
		return true;
	default:
		return false;
	}
}

static bool
has_prefix(const struct decoded *d, uint8_t prefix)
{
	for (int i = 0; i < d->insn.raw.prefix_count; i++) {
		if (d->insn.raw.prefixes[i].value == prefix)
			return true;
	}
	return false;
}

/* The machine ends the run by the name of these: emu/cpu/README.md. */
static bool
is_refused(const struct decoded *d)
{
	bool rip = d->operand[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    (d->operand[0].mem.base == ZYDIS_REGISTER_RIP ||
		d->operand[0].mem.base == ZYDIS_REGISTER_EIP);
	bool repne = has_prefix(d, 0xf2), repe = has_prefix(d, 0xf3);
	uint8_t opcode = d->insn.opcode;

	if (repne && repe)
		return true;
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_LAHF:
	case ZYDIS_MNEMONIC_SAHF:
		return d->insn.attributes & ZYDIS_ATTRIB_HAS_REX;
	case ZYDIS_MNEMONIC_NEG:
		return d->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK;
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		return rip &&
		    d->operand[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	case ZYDIS_MNEMONIC_TEST:
		return (opcode & 0xfe) == 0xf6 && d->insn.raw.modrm.reg == 1;
	case ZYDIS_MNEMONIC_MOV:
		return (opcode & 0xfe) == 0xc6 && d->insn.raw.rex.R;
	case ZYDIS_MNEMONIC_NOP:
		return d->insn.opcode_map == ZYDIS_OPCODE_MAP_0F &&
		    d->operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		break;
	}
	return has_prefix(d, 0x66) && (repne || repe) &&
	    (d->insn.meta.isa_ext == ZYDIS_ISA_EXT_MMX ||
		d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE ||
		d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE2 ||
		d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE3);
}

/*
 * Their results are the implementation's choice: the SDM gives an error bound
 * ("RCPPS", "RSQRTPS"), nothing (BSWAP of 16 bits; BSF and BSR of 0), or what AMD and
 * Intel do differently (PAUSE with REX.B).
 */
static bool
is_choice(const struct decoded *d)
{
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_RCPPS:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTPS:
	case ZYDIS_MNEMONIC_RSQRTSS:
		return true;
	case ZYDIS_MNEMONIC_BSWAP:
		return d->insn.operand_width == 16;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
		return d->insn.operand_width == 32;
	case ZYDIS_MNEMONIC_PAUSE:
		return d->insn.attributes & ZYDIS_ATTRIB_HAS_REX;
	case ZYDIS_MNEMONIC_CMPPS:
	case ZYDIS_MNEMONIC_CMPPD:
	case ZYDIS_MNEMONIC_CMPSS:
	case ZYDIS_MNEMONIC_CMPSD:
		return d->operand[2].imm.value.u > 7;
	default:
		return false;
	}
}

static bool
is_drawn(const struct make *make, const struct decoded *d)
{
	switch ((int)d->insn.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
		return false;
	default:
		break;
	}
	if (!is_set_known(d->insn.meta.isa_set) ||
	    (d->insn.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) ||
	    is_left_to_others(d->insn.mnemonic))
		return false;
	if (!(make->what & MAKE_SSE) &&
	    (d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE ||
		d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE2 ||
		d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE3 ||
		d->insn.meta.isa_ext == ZYDIS_ISA_EXT_MMX))
		return false;
	if (is_refused(d) || is_choice(d))
		return false;
	for (unsigned i = 0; i < d->insn.operand_count; i++) {
		if (!is_operand_known(d, &d->operand[i]))
			return false;
	}
	return true;
}

/* Random bytes that are an instruction, of any encoding. */
static void
draw_code(struct make *make, uint8_t code[15], struct decoded *d)
{
	static const uint8_t segments[] = { 0x2e, 0x36, 0x3e, 0x26 };

	do {
		uint64_t low = random_next(&make->rng);
		uint64_t high = random_next(&make->rng);
		unsigned at = 0;

		memcpy(code, &low, 8);
		memcpy(code + 8, &high, 7);
		if (chance(make, 6))
			code[at++] = 0xf0;
		if (chance(make, 18))
			code[at++] = 0x66;
		if (chance(make, 4))
			code[at++] = 0x67;
		if (chance(make, 2))
			code[at++] = segments[below(make, 4)];
		if (chance(make, 10))
			code[at++] = (uint8_t)(0xf2 + below(make, 2));
		if (chance(make, 45))
			code[at++] = (uint8_t)(0x40 + below(make, 16));
		if (chance(make, (make->what & MAKE_SSE) ? 50 : 40))
			code[at++] = 0x0f;
		memset(d, 0, sizeof(*d));
	} while (!decode(code, 15, d) || !is_drawn(make, d));
}

/* The explicit memory operand; NULL: there is none, or it is not accessed. */
static const ZydisDecodedOperand *
find_memory(const struct decoded *d)
{
	for (unsigned i = 0; i < d->insn.operand_count_visible; i++) {
		if (d->operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    d->operand[i].mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		    d->operand[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			return &d->operand[i];
	}
	return NULL;
}

static bool
uses_stack(const struct decoded *d)
{
	for (unsigned i = d->insn.operand_count_visible;
	     i < d->insn.operand_count; i++) {
		if (d->operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    d->operand[i].mem.base == ZYDIS_REGISTER_RSP)
			return true;
	}
	return false;
}

/* The number of the general register that REG is part of; -1: none. */
static int
number_of(ZydisRegister reg)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(
	    ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(wide) != ZYDIS_REGCLASS_GPR64)
		return -1;
	return ZydisRegisterGetId(wide);
}

static bool
is_aligned(const struct decoded *d, const ZydisDecodedOperand *operand)
{
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_LDDQU:
		return false;
	default:
		return operand->size == 128;
	}
}

static bool
is_bit_test(const struct decoded *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_BT ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_BTS ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_BTR ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_BTC;
}

/* Makes the registers of an effective address lead to a place. */
static bool
fix_address(struct make *make, const struct decoded *d,
    const ZydisDecodedOperand *operand, struct piece *piece)
{
	int base = number_of(operand->mem.base);
	int index = number_of(operand->mem.index);
	int64_t offset = operand->mem.disp.value;
	uint64_t place = draw_place(
	    make, operand->size / 8u, is_aligned(d, operand));
	unsigned at = d->insn.raw.disp.offset;
	int64_t step = (int64_t)below(make, 17) - 8;
	uint32_t low;

	if (base == RSP || (base == RBP && chance(make, 30)))
		place = RSP_MIDDLE - 256 + below(make, 512);
	if (base == RSP && d->insn.raw.disp.size == 32) {
		offset = (int64_t)below(make, 128) - 64;
		memcpy(piece->code + at, &(int32_t){ (int32_t)offset }, 4);
	}
	if (operand->mem.base == ZYDIS_REGISTER_RIP ||
	    operand->mem.base == ZYDIS_REGISTER_EIP) {
		piece->patch = PATCH_RELATIVE;
		piece->patch_at = (uint8_t)at;
		piece->target = place;
		return true;
	}
	if (index >= 0 && index == base) {
		place -= (place - (uint64_t)offset) % (1u + operand->mem.scale);
		add_mov(make, (unsigned)base,
		    (place - (uint64_t)offset) / (1u + operand->mem.scale));
		return true;
	}
	if (index >= 0)
		add_mov(make, (unsigned)index, (uint64_t)step);
	else
		step = 0;
	place -= (uint64_t)(step * operand->mem.scale);
	if (base >= 0) {
		add_mov(make, (unsigned)base, place - (uint64_t)offset);
		return true;
	}
	if (d->insn.raw.disp.size != 32)
		return d->insn.raw.disp.size == 64;
	low = (uint32_t)place;
	memcpy(piece->code + at, &low, 4);
	return true;
}

/* Makes other operands sensible; false: the instruction is not wanted so. */
static bool
fix_values(struct make *make, const struct decoded *d,
    const ZydisDecodedOperand *memory)
{
	int base = memory != NULL ? number_of(memory->mem.base) : -1;
	int index = memory != NULL ? number_of(memory->mem.index) : -1;

	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		if (chance(make, 10))
			return true;
		add_mov(make, RDX, chance(make, 70) ? 0 : below(make, 3));
		add_mov(make, RAX, draw_value(make) >> below(make, 64));
		return true;
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		if (d->insn.operand_width != 16)
			return true;
		if (d->operand[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return (d->operand[2].imm.value.u & 31) <= 16;
		if (base == RCX || index == RCX)
			return false;
		add_mov(make, RCX, below(make, 17));
		return true;
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
		/* Whether bytes that are not stored fault is a choice. */
		add_mov(
		    make, RDI, DATA_VA + 64 + below(make, DATA_BYTES - 128));
		return true;
	default:
		break;
	}
	if (is_bit_test(d) && memory != NULL &&
	    d->operand[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		int reg = number_of(d->operand[1].reg.value);

		if (reg == base || reg == index || reg == RSP)
			return false;
		add_mov(make, (unsigned)reg,
		    (uint64_t)((int64_t)below(make, 512) - 256));
	}
	return true;
}

/* RDI and the other memory operand of MASKMOV are hidden; POP [RSP] moves. */
static bool
is_unwanted(const struct decoded *d, const ZydisDecodedOperand *memory)
{
	if (memory == NULL)
		return false;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU)
		return false;
	/* An absolute address of 8 bytes. */
	return d->insn.raw.disp.size == 64;
}

/*
 * Before a CMPXCHG, which is PIECE: MOV of its destination to the accumulator, so that
 * they are equal, and a bit beyond 32 ones.
 */
static void
add_comparand(struct make *make, const struct decoded *d,
    const ZydisDecodedOperand *memory, const struct piece *piece)
{
	static const uint8_t bts[] = { 0x48, 0x0f, 0xba, 0xe8, 40 };
	struct piece mov = *piece;
	unsigned modrm = d->insn.raw.modrm.offset, at = 0;

	if (memory != NULL &&
	    (number_of(memory->mem.base) == 0 ||
		number_of(memory->mem.index) == 0))
		return;
	/* 0FH B0H is 8AH with another register; it has no LOCK. */
	for (unsigned from = 0; from < piece->length; from++) {
		uint8_t byte = piece->code[from];

		if (from == modrm - 2 || (from < modrm && byte == 0xf0)) {
			mov.patch_at--;
			continue;
		}
		if (from == modrm - 1)
			byte = (uint8_t)(0x8a | (byte & 1));
		else if (from == modrm)
			byte &= 0xc7;
		else if (from < modrm && byte >> 4 == 4)
			byte &= 0xfb;
		mov.code[at++] = byte;
	}
	mov.length = (uint8_t)at;
	add_patched(make, &mov);
	if (chance(make, 70))
		add(make, bts, sizeof(bts));
}

static void
make_random(struct make *make)
{
	const ZydisDecodedOperand *memory;
	struct decoded d;
	struct piece piece;

	for (;;) {
		piece = (struct piece){ .length = 0 };
		make->unit->count = 0;
		draw_code(make, piece.code, &d);
		piece.length = d.insn.length;
		memory = find_memory(&d);
		if (is_unwanted(&d, memory))
			continue;
		if (uses_stack(&d) && chance(make, 50))
			add_mov(make, RSP, RSP_MIDDLE - 256 + below(make, 512));
		if (!fix_values(make, &d, memory))
			continue;
		if (memory == NULL || memory->actions == 0 ||
		    d.insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ||
		    d.insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU ||
		    fix_address(make, &d, memory, &piece))
			break;
	}
	if (d.insn.mnemonic == ZYDIS_MNEMONIC_CMPXCHG && chance(make, 60))
		add_comparand(make, &d, memory, &piece);
	add_patched(make, &piece);
}

/* MOVS, STOS, LODS, CMPS, SCAS, with and without REP, either way. */
static void
make_string(struct make *make)
{
	static const uint8_t opcodes[] = { 0xa4, 0xa6, 0xaa, 0xac, 0xae };
	uint8_t code[5];
	unsigned length = 0;
	unsigned count = below(make, 40);

	if (chance(make, 4))
		count = 0;
	add_mov(make, RDI, draw_place(make, 8, false));
	add_mov(make, RSI, draw_place(make, 8, false));
	if (chance(make, 15)) /* onto itself, a few bytes on */
		add_mov(make, RSI,
		    DATA_VA + 0x800 - 8 + below(make, 16) +
			0 * (uint64_t)count);
	add_mov(make, RCX, count);
	if (chance(make, 35))
		add(make, "\xfd", 1);
	if (chance(make, 20))
		code[length++] = 0x66;
	if (chance(make, 75))
		code[length++] = (uint8_t)(0xf2 + below(make, 2));
	if (chance(make, 25))
		code[length++] = 0x48;
	code[length++] = (uint8_t)(opcodes[below(make, 5)] + below(make, 2));
	add(make, code, length);
	if (chance(make, 80))
		add(make, "\xfc", 1);
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
		add_mov(make, RCX, below(make, 3));
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
	add(make, code, sizeof(code));
	add_branch(make, "\x0f\x85", 2, 4, from);
}

/* CALL of a subroutine within, and RET of all forms. */
static void
make_call(struct make *make)
{
	unsigned form = below(make, 3);

	add_mov(make, RSP, RSP_MIDDLE - 256 + below(make, 512));
	if (form == 0) { /* call 1f; jmp 2f; 1: ret; 2: */
		add(make, "\xe8\x02\0\0\0", 5);
		add(make, "\xeb\x01", 2);
		add(make, "\xc3", 1);
	} else if (form == 1) { /* lea rax, [1f]; call rax; jmp 2f; 1: ret 8 */
		add(make, "\x48\x8d\x05\x04\0\0\0", 7);
		add(make, "\xff\xd0", 2);
		add(make, "\xeb\x03", 2);
		add(make, "\xc2\x08\0", 3);
	} else { /* lea rax, [1f]; push rax; ret; int3; 1: */
		add(make, "\x48\x8d\x05\x03\0\0\0", 7);
		add(make, "\x50", 1);
		add(make, "\xc3", 1);
		add(make, "\xcc", 1);
	}
}

static void
make_frame(struct make *make)
{
	uint8_t enter[4] = { 0xc8, (uint8_t)below(make, 64), 0,
		(uint8_t)(chance(make, 60) ? 0 : below(make, 4)) };
	uint8_t push[5] = { 0x68, (uint8_t)random_next(&make->rng),
		(uint8_t)(random_next(&make->rng) & 0x0c), 0, 0 };

	add_mov(make, RSP, RSP_MIDDLE - 256 + below(make, 512));
	if (chance(make, 50)) {
		/* POPF: arithmetic flags, DF and OF. */
		push[1] &= 0xd5;
		add(make, push, 5);
		add(make, "\x9d", 1);
		if (chance(make, 80))
			add(make, "\xfc", 1);
		return;
	}
	add_mov(make, RBP, RSP_MIDDLE - 512 + below(make, 64) * 8);
	add(make, enter, 4);
	if (chance(make, 70))
		add(make, "\xc9", 1);
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
	add(make, code, sizeof(code));
}

static void
add_code_address(struct make *make, unsigned reg, unsigned unit, unsigned byte)
{
	uint8_t code[10] = { (uint8_t)(0x48 | reg >> 3),
		(uint8_t)(0xb8 | (reg & 7)) };
	struct piece *piece = add(make, code, sizeof(code));

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
		add_mov(make, RDI, spare + below(make, SPARE_BYTES - 8));
		add(make, "\x88\x07", 2);
	}
	add_code_address(make, RDI, soft, below(make, 9u - widths[form]));
	add(make, stores[form], lengths[form]);
}

/* Loads MXCSR: rounding, DAZ, FTZ, and flags that are up. */
static void
make_mxcsr(struct make *make)
{
	uint32_t value = 0x1f80 | below(make, 4) << 13;
	uint8_t code[8] = { 0xc7, 0x04, 0x24 };

	if (chance(make, 20))
		value |= 0x8000;
	if (chance(make, 20))
		value |= 0x0040;
	memcpy(code + 3, &value, 4);
	add_mov(make, RSP, RSP_MIDDLE);
	add(make, code, 7);
	add(make, "\x0f\xae\x14\x24", 4);
}

/* A random x87 instruction; its memory operand is made valid. */
static void
add_x87(struct make *make)
{
	uint8_t code[15];
	const ZydisDecodedOperand *memory;
	struct decoded d;
	struct piece piece;

	for (;;) {
		uint64_t low = random_next(&make->rng);

		memcpy(code, &low, 8);
		memset(code + 8, 0x11, 7);
		code[0] = (uint8_t)(0xd8 + below(make, 8));
		memset(&d, 0, sizeof(d));
		if (!decode(code, 15, &d) ||
		    (d.insn.meta.isa_set != ZYDIS_ISA_SET_X87 &&
			d.insn.meta.isa_set != ZYDIS_ISA_SET_FCMOV &&
			d.insn.meta.isa_set != ZYDIS_ISA_SET_SSE3X87 &&
			d.insn.meta.isa_set != ZYDIS_ISA_SET_PPRO))
			continue;
		switch ((int)d.insn.mnemonic) {
		case ZYDIS_MNEMONIC_FSIN:
		case ZYDIS_MNEMONIC_FCOS:
		case ZYDIS_MNEMONIC_FSINCOS:
		case ZYDIS_MNEMONIC_FPTAN:
		case ZYDIS_MNEMONIC_FPATAN:
		case ZYDIS_MNEMONIC_F2XM1:
		case ZYDIS_MNEMONIC_FYL2X:
		case ZYDIS_MNEMONIC_FYL2XP1:
		case ZYDIS_MNEMONIC_FLDENV:
		case ZYDIS_MNEMONIC_FNSTENV:
		case ZYDIS_MNEMONIC_FNSAVE:
		case ZYDIS_MNEMONIC_FRSTOR:
		case ZYDIS_MNEMONIC_FLDCW:
		case ZYDIS_MNEMONIC_FNSTSW:
		case ZYDIS_MNEMONIC_FDISI8087_NOP:
		case ZYDIS_MNEMONIC_FENI8087_NOP:
		case ZYDIS_MNEMONIC_FSETPM287_NOP:
			continue;
		default:
			break;
		}
		memory = find_memory(&d);
		if (memory != NULL &&
		    (number_of(memory->mem.base) == RSP ||
			d.insn.raw.disp.size == 64))
			continue;
		break;
	}
	piece = (struct piece){ .length = d.insn.length };
	memcpy(piece.code, code, sizeof(code));
	if (memory != NULL && !fix_address(make, &d, memory, &piece))
		return;
	add_patched(make, &piece);
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
	memcpy(word + 4, &control, 2);
	add_mov(make, RSP, RSP_MIDDLE);
	add(make, "\xdb\xe3", 2);
	add(make, word, 6);
	add(make, "\xd9\x2c\x24", 3);
	add_mov(make, RBX, DATA_VA + 64 + 8 * below(make, 256));
	for (unsigned i = 0; i < loads; i++) {
		uint8_t code[3] = { chance(make, 50) ? 0xdd : 0xd9, 0x43,
			(uint8_t)(8 * below(make, 15)) };

		add(make, code, 3);
	}
	add_x87(make);
	if (chance(make, 50))
		add_x87(make);
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
		make_random(make);
}

static void
make_state(struct make *make, struct state *state)
{
	uint32_t mxcsr = 0x1f80 | below(make, 4) << 13;
	uint16_t fcw = 0x037f;

	for (unsigned i = 0; i < 16; i++)
		state->gpr[i] = draw_value(make);
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
			uint64_t value = draw_value(make);

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
			else if (index == loop && loop != 0)
				make_loop(&make, below(&make, loop));
			else
				make_unit(&make, index, soft);
			if (!sequence_is_undefined(sequence))
				break;
			if (try < TRIES)
				continue;
			/* CMP EAX, EAX defines them all. */
			memset(make.unit, 0, sizeof(*make.unit));
			add(&make, "\x39\xc0", 2);
			break;
		}
	}
}
