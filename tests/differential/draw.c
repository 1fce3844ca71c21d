/*
 * A random instruction: which ones are drawn, and the operands that they get.
 */
#include "make.h"

#include <string.h>

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
 * Intel do differently (PAUSE with REX.B), or processors do (how much MOVSXD to 16 bits
 * reads).
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
	case ZYDIS_MNEMONIC_MOVSXD:
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
	} while (!unit_decode(code, 15, d) || !is_drawn(make, d));
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

/*
 * Where the operand is.  An x87 instruction with an exception that is not masked has it
 * where no page fault can be: processors differ in which of the two comes first.
 */
static uint64_t
draw_place(struct make *make, const struct decoded *d,
    const ZydisDecodedOperand *operand)
{
	if (make->x87_unmasked &&
	    d->insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	    (d->insn.opcode & 0xf8) == 0xd8)
		return DATA_VA + 64 + below(make, DATA_BYTES - 256);
	return make_place(make, operand->size / 8u, is_aligned(d, operand));
}

/* Makes the registers of an effective address lead to a place. */
static bool
fix_address(struct make *make, const struct decoded *d,
    const ZydisDecodedOperand *operand, struct piece *piece)
{
	int base = number_of(operand->mem.base);
	int index = number_of(operand->mem.index);
	int64_t offset = operand->mem.disp.value;
	uint64_t place = draw_place(make, d, operand);
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
		unit_add_mov(make, (unsigned)base,
		    (place - (uint64_t)offset) / (1u + operand->mem.scale));
		return true;
	}
	if (index >= 0)
		unit_add_mov(make, (unsigned)index, (uint64_t)step);
	else
		step = 0;
	place -= (uint64_t)(step * operand->mem.scale);
	if (base >= 0) {
		unit_add_mov(make, (unsigned)base, place - (uint64_t)offset);
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
		unit_add_mov(make, RDX, chance(make, 70) ? 0 : below(make, 3));
		unit_add_mov(make, RAX, make_value(make) >> below(make, 64));
		return true;
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		if (d->insn.operand_width != 16)
			return true;
		if (d->operand[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return (d->operand[2].imm.value.u & 31) <= 16;
		if (base == RCX || index == RCX)
			return false;
		unit_add_mov(make, RCX, below(make, 17));
		return true;
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
		/* The engine does not wait for an x87 exception at MASKMOVQ. */
		if (make->x87_unmasked)
			return false;
		make->has_maskmovq = true;
		/* Whether bytes that are not stored fault is a choice. */
		unit_add_mov(
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
		unit_add_mov(make, (unsigned)reg,
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
	unit_add_patched(make, &mov);
	if (chance(make, 70))
		unit_add(make, bts, sizeof(bts));
}

void
draw_insn(struct make *make)
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
			unit_add_mov(
			    make, RSP, RSP_MIDDLE - 256 + below(make, 512));
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
	unit_add_patched(make, &piece);
}

/* x87 functions, and what shows pointers or unmasks exceptions: see README.md. */
static bool
is_x87_left_out(ZydisMnemonic mnemonic)
{
	switch ((int)mnemonic) {
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
		return true;
	default:
		return false;
	}
}

void
draw_x87(struct make *make)
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
		if (!unit_decode(code, 15, &d) ||
		    (d.insn.meta.isa_set != ZYDIS_ISA_SET_X87 &&
			d.insn.meta.isa_set != ZYDIS_ISA_SET_FCMOV &&
			d.insn.meta.isa_set != ZYDIS_ISA_SET_SSE3X87 &&
			d.insn.meta.isa_set != ZYDIS_ISA_SET_PPRO))
			continue;
		if (is_x87_left_out(d.insn.mnemonic))
			continue;
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
	unit_add_patched(make, &piece);
}
