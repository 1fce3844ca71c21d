/*
 * The loads and stores of an instruction, with the registers of their addresses,
 * and the instruction's effect on registers.
 */
#include "emu/cpu/insn/insn_zydis.h"

#include <string.h>

#define RCX       1
#define RSP       4
#define RBP       5
#define RSI       6
#define RDI       7

#define RFLAGS_DF TZ_BIT(10)

/* XSAVES and XRSTORS: the header of an area, and component 8 after it. */
#define XSAVE_HEADER 512
#define XSAVE_BYTES  (64 + 128)

/* The number of REG in struct insn_access; INSN_NO_REG if it has none. */
static uint8_t
reg_number(ZydisRegister reg)
{
	ZydisRegister wide;

	if (reg == ZYDIS_REGISTER_FS)
		return INSN_REG_FS_BASE;
	if (reg == ZYDIS_REGISTER_GS)
		return INSN_REG_GS_BASE;
	wide = ZydisRegisterGetLargestEnclosing(
	    ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (ZydisRegisterGetClass(wide) != ZYDIS_REGCLASS_GPR64)
		return INSN_NO_REG;
	return (uint8_t)ZydisRegisterGetId(wide);
}

/* Instructions with a memory operand that they neither load nor store. */
static bool
names_only(const struct decoded *d)
{
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
	case ZYDIS_MNEMONIC_INVLPG:
		return true;
	default:
		break;
	}
	switch ((int)d->insn.meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		return true;
	default:
		return false;
	}
}

static bool
is_string(const struct decoded *d)
{
	return d->insn.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

/* The operands of PUSH, CALL, LEAVE and the like on the stack are hidden ones. */
static bool
is_access(const struct decoded *d, const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    operand->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
	    operand->actions != 0 &&
	    (operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
		is_string(d));
}

/* BT, BTS, BTR and BTC with a register can access memory beyond their operand. */
static void
add_bits(const struct decoded *d, struct insn_access *access)
{
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		break;
	default:
		return;
	}
	if (d->operand[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	access->bits = reg_number(d->operand[1].reg.value);
}

static void
add_access(const struct decoded *d, const ZydisDecodedOperand *operand,
    uint64_t va, struct insn_access *access)
{
	const ZydisRegister base = operand->mem.base;

	*access = (struct insn_access){
		.disp = (uint64_t)operand->mem.disp.value,
		.bytes = operand->size / 8u,
		.base = reg_number(base),
		.index = reg_number(operand->mem.index),
		.segment = INSN_NO_REG,
		.bits = INSN_NO_REG,
		.scale = operand->mem.scale,
		.write = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) !=
		    0,
		.rep = (d->insn.attributes &
			   (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
			       ZYDIS_ATTRIB_HAS_REPNE)) != 0,
		.small = d->insn.address_width == 32,
	};
	if (base == ZYDIS_REGISTER_RIP || base == ZYDIS_REGISTER_EIP)
		access->disp += va + d->insn.length;
	if (operand->mem.segment == ZYDIS_REGISTER_FS ||
	    operand->mem.segment == ZYDIS_REGISTER_GS)
		access->segment = reg_number(operand->mem.segment);
	add_bits(d, access);
	/* POP computes the address of its operand after it increments RSP. */
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_POP && access->base == RSP)
		access->disp += access->bytes;
	if (insn_zydis_classify(d) == INSN_XSAVES ||
	    insn_zydis_classify(d) == INSN_XRSTORS) {
		access->disp += XSAVE_HEADER;
		access->bytes = XSAVE_BYTES;
	}
}

static uint32_t
find_written(const struct decoded *d)
{
	uint32_t written = 0;

	for (int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];
		uint8_t reg;

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		reg = reg_number(operand->reg.value);
		if (reg != INSN_NO_REG)
			written |= UINT32_C(1) << reg;
	}
	/* The decoder does not list all of them. */
	if (is_string(d))
		written |= UINT32_C(1) << RCX | UINT32_C(1) << RSI |
		    UINT32_C(1) << RDI;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_WRFSBASE)
		written |= UINT32_C(1) << INSN_REG_FS_BASE;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_WRGSBASE ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_SWAPGS)
		written |= UINT32_C(1) << INSN_REG_GS_BASE;
	return written;
}

static bool
is_reg(const ZydisDecodedOperand *operand, ZydisRegisterClass class)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    ZydisRegisterGetClass(operand->reg.value) == class;
}

static bool
is_wide_reg(const ZydisDecodedOperand *operand)
{
	return is_reg(operand, ZYDIS_REGCLASS_GPR64);
}

/* REG = FROM + ADD; FROM INSN_NO_REG: ADD alone. */
static void
set_sum(struct insn_uses *uses, uint8_t reg, uint8_t from, uint64_t add)
{
	uses->to = reg;
	uses->from = from;
	uses->add = add;
}

static void
find_mov(const struct decoded *d, struct insn_uses *uses)
{
	const ZydisDecodedOperand *source = &d->operand[1];
	uint8_t to = reg_number(d->operand[0].reg.value);

	if (is_wide_reg(source))
		set_sum(uses, to, reg_number(source->reg.value), 0);
	else if (source->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		set_sum(uses, to, INSN_NO_REG, source->imm.value.u);
}

static void
find_lea(const struct decoded *d, uint64_t va, struct insn_uses *uses)
{
	const ZydisDecodedOperand *source = &d->operand[1];
	uint8_t to = reg_number(d->operand[0].reg.value);
	uint64_t disp = (uint64_t)source->mem.disp.value;

	if (d->insn.address_width != 64 ||
	    source->mem.index != ZYDIS_REGISTER_NONE)
		return;
	if (source->mem.base == ZYDIS_REGISTER_RIP)
		set_sum(uses, to, INSN_NO_REG, va + d->insn.length + disp);
	else
		set_sum(uses, to, reg_number(source->mem.base), disp);
}

static void
find_add(const struct decoded *d, bool minus, struct insn_uses *uses)
{
	const ZydisDecodedOperand *source = &d->operand[1];
	uint8_t to = reg_number(d->operand[0].reg.value);

	if (source->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		set_sum(uses, to, to,
		    minus ? -source->imm.value.u : source->imm.value.u);
}

/* A 32-bit register with a constant: bits 63:32 become 0. */
static void
find_constant(const struct decoded *d, struct insn_uses *uses)
{
	const ZydisDecodedOperand *source = &d->operand[1];
	uint8_t to = reg_number(d->operand[0].reg.value);

	if (d->insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    source->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		set_sum(uses, to, INSN_NO_REG, (uint32_t)source->imm.value.u);
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_XOR &&
	    source->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    source->reg.value == d->operand[0].reg.value)
		set_sum(uses, to, INSN_NO_REG, 0);
}

void
insn_zydis_find_sum(
    const struct decoded *d, uint64_t va, struct insn_uses *uses)
{
	bool wide = is_wide_reg(&d->operand[0]);

	if (is_reg(&d->operand[0], ZYDIS_REGCLASS_GPR32))
		find_constant(d, uses);
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		set_sum(uses, RSP, RSP, -(d->insn.operand_width / UINT64_C(8)));
		return;
	case ZYDIS_MNEMONIC_POP:
		if (!wide || reg_number(d->operand[0].reg.value) != RSP)
			set_sum(uses, RSP, RSP, d->insn.operand_width / 8u);
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		set_sum(uses, RSP, RBP, 8);
		return;
	default:
		break;
	}
	if (!wide)
		return;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_MOV)
		find_mov(d, uses);
	else if (d->insn.mnemonic == ZYDIS_MNEMONIC_LEA)
		find_lea(d, va, uses);
	else if (d->insn.mnemonic == ZYDIS_MNEMONIC_ADD)
		find_add(d, false, uses);
	else if (d->insn.mnemonic == ZYDIS_MNEMONIC_SUB)
		find_add(d, true, uses);
}

void
insn_uses(
    const uint8_t *bytes, size_t count, uint64_t va, struct insn_uses *uses)
{
	struct decoded d;
	bool none;

	*uses = (struct insn_uses){ .to = INSN_NO_REG };
	if (!insn_zydis_decode(bytes, count, &d))
		return;
	none = names_only(&d);
	for (int i = 0; i < d.insn.operand_count && !none; i++) {
		if (!is_access(&d, &d.operand[i]))
			continue;
		TZ_ASSERT(uses->access_count < INSN_ACCESSES_MAX);
		add_access(
		    &d, &d.operand[i], va, &uses->access[uses->access_count++]);
	}
	insn_zydis_find_sum(&d, va, uses);
	uses->written = find_written(&d);
	if (uses->to != INSN_NO_REG)
		uses->written &= ~(UINT32_C(1) << uses->to);
}

uint64_t
insn_access_va(const struct insn_access *access, const uint64_t *value)
{
	uint64_t va = access->disp;

	if (access->base != INSN_NO_REG)
		va += value[access->base];
	if (access->index != INSN_NO_REG)
		va += value[access->index] * access->scale;
	if (access->bits != INSN_NO_REG)
		va += insn_zydis_bit_offset(access->bytes, value[access->bits]);
	if (access->small)
		va = (uint32_t)va;
	if (access->segment != INSN_NO_REG)
		va += value[access->segment];
	return va;
}

void
insn_access_extent(const struct insn_access *access,
    const struct insn_regs *regs, struct insn_extent *extent)
{
	uint64_t value[INSN_REGS] = { [INSN_REG_FS_BASE] = regs->fs_base,
		[INSN_REG_GS_BASE] = regs->gs_base };
	uint64_t turns = 1;

	memcpy(value, regs->gpr, sizeof(regs->gpr));
	if (access->rep)
		turns = access->small ? (uint32_t)value[RCX] : value[RCX];
	if (turns > UINT32_MAX / access->bytes)
		turns = UINT32_MAX / access->bytes;
	extent->va = insn_access_va(access, value);
	extent->bytes = turns * access->bytes;
	if (turns > 0 && access->rep && (regs->rflags & RFLAGS_DF))
		extent->va -= extent->bytes - access->bytes;
}
