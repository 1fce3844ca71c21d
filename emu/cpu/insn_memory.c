/*
 * What an instruction does to memory.
 */
#include "emu/cpu/insn_zydis.h"

static uint64_t
register_value(ZydisRegister reg, uint64_t next, const struct insn_regs *regs)
{
	ZydisRegister wide;
	int id;

	if (reg == ZYDIS_REGISTER_NONE)
		return 0;
	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
		return next;
	wide = ZydisRegisterGetLargestEnclosing(
	    ZYDIS_MACHINE_MODE_LONG_64, reg);
	id = ZydisRegisterGetId(wide);
	if (ZydisRegisterGetClass(wide) != ZYDIS_REGCLASS_GPR64 || id < 0 ||
	    id > 15)
		return 0;
	return regs->gpr[id];
}

static uint64_t
operand_va(const struct decoded *d, const ZydisDecodedOperand *operand,
    uint64_t va, const struct insn_regs *regs)
{
	uint64_t next = va + d->insn.length;
	uint64_t ea = (uint64_t)operand->mem.disp.value;

	ea += register_value(operand->mem.base, next, regs);
	ea += register_value(operand->mem.index, next, regs) *
	    operand->mem.scale;
	if (d->insn.address_width == 32)
		ea = (uint32_t)ea;
	if (operand->mem.segment == ZYDIS_REGISTER_FS)
		ea += regs->fs_base;
	if (operand->mem.segment == ZYDIS_REGISTER_GS)
		ea += regs->gs_base;
	return ea;
}

static bool
is_written(const ZydisDecodedOperand *operand)
{
	return (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

bool
insn_memory_operand(const uint8_t *bytes, size_t count, uint64_t va,
    const struct insn_regs *regs, struct insn_memory *memory)
{
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d))
		return false;
	for (int i = 0; i < d.insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d.operand[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    operand->mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		*memory = (struct insn_memory){
			.va = operand_va(&d, operand, va, regs),
			.bytes = operand->size / 8u,
			.read = (operand->actions &
				    ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
			.written = is_written(operand),
		};
		return true;
	}
	return false;
}

static bool is_local_class(enum insn_class class)
{
	return (class <= INSN_RET && class != INSN_REP) || class == INSN_CLI;
}

/* LEA and NOP name memory that they do not touch. */
static bool
is_accessed(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    (operand->mem.type == ZYDIS_MEMOP_TYPE_MEM ||
		operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB) &&
	    operand->actions != 0;
}

static bool
is_local(const struct decoded *d)
{
	if (!is_local_class(insn_zydis_classify(d)) ||
	    (d->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK))
		return false;
	for (int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];

		if (is_accessed(operand) &&
		    (operand->mem.base != ZYDIS_REGISTER_RSP ||
			operand->mem.index != ZYDIS_REGISTER_NONE ||
			d->insn.mnemonic == ZYDIS_MNEMONIC_XCHG))
			return false;
	}
	return true;
}

bool
insn_is_local(const uint8_t *bytes, size_t count)
{
	struct decoded d;

	return insn_zydis_decode(bytes, count, &d) && is_local(&d);
}

bool
insn_writes_page(const uint8_t *bytes, size_t count, uint64_t va,
    const struct insn_regs *regs, uint64_t page_va)
{
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d))
		return false;
	for (int i = 0; i < d.insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d.operand[i];
		uint64_t size = operand->size / 8u;
		uint64_t start;

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    !is_written(operand) || size == 0)
			continue;
		start = operand_va(&d, operand, va, regs);
		/* PUSH and CALL name RSP as it is before they lower it. */
		if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		    operand->mem.base == ZYDIS_REGISTER_RSP)
			start -= size;
		if (start >> 12 == page_va >> 12 ||
		    (start + size - 1) >> 12 == page_va >> 12)
			return true;
	}
	return false;
}
