/* The memory accesses of an instruction. */
#include "emu/cpu/insn/insn_zydis.h"

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

/*
 * SDM vol. 1, 6.2.5 "Stack Behavior in 64-Bit Mode": the address of the stack has 64 bits,
 * whatever the address-size prefix says.  PUSH, POP, CALL and RET name it implicitly.
 */
static bool
is_stack(const ZydisDecodedOperand *operand)
{
	return operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
		operand->mem.base) == ZYDIS_REGISTER_RSP;
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
	if (d->insn.address_width == 32 && !is_stack(operand))
		ea = (uint32_t)ea;
	if (operand->mem.segment == ZYDIS_REGISTER_FS)
		ea += regs->fs_base;
	if (operand->mem.segment == ZYDIS_REGISTER_GS)
		ea += regs->gs_base;
	return ea;
}

/*
 * SDM vol. 1, 4.1.1 "Alignment of Words, Doublewords, Quadwords, and Double
 * Quadwords": the instructions that require alignment, and those for unaligned
 * operands.
 */
static bool
is_aligned(const struct decoded *d, const ZydisDecodedOperand *operand)
{
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_LDDQU:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
		return false;
	default:
		return insn_zydis_is_vector(d) && operand->size == 128;
	}
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
			.written = insn_zydis_is_written(operand),
			.stack = operand->mem.segment == ZYDIS_REGISTER_SS,
			.aligned = is_aligned(&d, operand),
		};
		return true;
	}
	return false;
}

static bool is_local_class(enum insn_class class)
{
	return (class <= INSN_RET && class != INSN_REP) || class == INSN_CLI ||
	    class == INSN_CHECKED || class == INSN_CMPXCHG32 ||
	    class == INSN_CMPXCHG32_REG;
}

static bool
is_local(const struct decoded *d)
{
	if (!is_local_class(insn_zydis_classify(d)) ||
	    (d->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK))
		return false;
	for (int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];

		if (insn_zydis_is_accessed(operand) &&
		    (operand->mem.base != ZYDIS_REGISTER_RSP ||
			operand->mem.index != ZYDIS_REGISTER_NONE ||
			d->insn.mnemonic == ZYDIS_MNEMONIC_XCHG))
			return false;
	}
	return true;
}

bool
insn_is_split(const uint8_t *bytes, size_t count)
{
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d) ||
	    !is_local_class(insn_zydis_classify(&d)) ||
	    (d.insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
	    d.insn.mnemonic == ZYDIS_MNEMONIC_XCHG)
		return false;
	for (int i = 0; i < d.insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &d.operand[i];

		if (insn_zydis_is_accessed(operand) &&
		    insn_zydis_is_written(operand) &&
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) &&
		    operand->mem.base != ZYDIS_REGISTER_RSP)
			return operand->size >= 8 && operand->size <= 64;
	}
	return false;
}

/*
 * Offset in bytes from the operand to the word that BTS, BTR and BTC with a
 * register access.
 */
static uint64_t
bit_offset(const struct decoded *d, uint64_t va, const struct insn_regs *regs)
{
	if ((d->insn.mnemonic != ZYDIS_MNEMONIC_BTS &&
		d->insn.mnemonic != ZYDIS_MNEMONIC_BTR &&
		d->insn.mnemonic != ZYDIS_MNEMONIC_BTC) ||
	    d->operand[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return 0;
	return insn_zydis_bit_offset(d->operand[0].size / 8u,
	    register_value(d->operand[1].reg.value, va, regs));
}

bool
insn_refers_to(const uint8_t *bytes, size_t count, uint64_t va, uint64_t begin,
    uint64_t end)
{
	static const struct insn_regs none = { .rflags = 0 };
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d))
		return false;
	for (int i = 0; i < d.insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &d.operand[i];
		uint64_t at = end;

		if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    !operand->imm.is_relative)
			at = operand->imm.value.u;
		else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			at = operand_va(&d, operand, va, &none);
		if (at >= begin && at < end)
			return true;
	}
	return false;
}

bool
insn_is_local(const uint8_t *bytes, size_t count)
{
	struct decoded d;

	return insn_zydis_decode(bytes, count, &d) && is_local(&d);
}

struct insn_page
insn_page(const uint8_t *bytes, size_t count, uint64_t va,
    const struct insn_regs *regs, uint64_t page_va)
{
	struct insn_page page = { .written = false };
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d))
		return page;
	for (int i = 0; i < d.insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d.operand[i];
		uint64_t size = operand->size / 8u;
		uint64_t start;

		if (!insn_zydis_is_accessed(operand) || size == 0)
			continue;
		start = operand_va(&d, operand, va, regs);
		if (i == 0)
			start += bit_offset(&d, va, regs);
		/* For PUSH and CALL, the operand's address uses RSP before it is
		 * decremented. */
		if (insn_zydis_is_written(operand) && is_stack(operand))
			start -= size;
		if (start >> 12 != page_va >> 12 &&
		    (start + size - 1) >> 12 != page_va >> 12)
			continue;
		if (insn_zydis_is_written(operand))
			page.written = true;
		else
			page.read_first = true;
	}
	return page;
}
