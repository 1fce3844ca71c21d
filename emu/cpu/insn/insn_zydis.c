/*
 * One instruction as Zydis decodes it, with Zydis's mistakes corrected, and what
 * its operands alone tell.
 */
#include "emu/cpu/insn/insn_zydis.h"

/*
 * SDM vol. 2, table 2-3 "32-Bit Addressing Forms with the SIB Byte": base 101B with
 * mod 00B is a displacement alone, whatever REX.B says.  Zydis 4.0.0 wrongly uses
 * R13.
 */
static void
drop_base(struct decoded *d)
{
	if (!(d->insn.attributes & ZYDIS_ATTRIB_HAS_SIB) ||
	    d->insn.raw.modrm.mod != 0 || d->insn.raw.sib.base != 5)
		return;
	for (int i = 0; i < d->insn.operand_count; i++) {
		ZydisDecodedOperand *operand = &d->operand[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    operand->encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM)
			continue;
		operand->mem.base = ZYDIS_REGISTER_NONE;
		operand->mem.disp.has_displacement = true;
		operand->mem.disp.value = d->insn.raw.disp.value;
	}
}

/*
 * SDM vol. 2, "CLFLUSH - Flush Cache Line": it faults like the load of one byte.
 * Zydis treats it as an access to a cache line.
 */
static void
make_load(struct decoded *d)
{
	if (d->insn.mnemonic != ZYDIS_MNEMONIC_CLFLUSH)
		return;
	d->operand[0].actions = ZYDIS_OPERAND_ACTION_READ;
	d->operand[0].size = 8;
}

bool
insn_zydis_decode(const uint8_t *bytes, size_t count, struct decoded *out)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(
	    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		&decoder, bytes, count, &out->insn, out->operand)))
		return false;
	drop_base(out);
	make_load(out);
	return true;
}

bool
insn_zydis_is_accessed(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    (operand->mem.type == ZYDIS_MEMOP_TYPE_MEM ||
		operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB) &&
	    operand->actions != 0;
}

bool
insn_zydis_is_written(const ZydisDecodedOperand *operand)
{
	return (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

bool
insn_zydis_is_vector(const struct decoded *d)
{
	return d->insn.meta.isa_ext == ZYDIS_ISA_EXT_MMX ||
	    d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE ||
	    d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE2 ||
	    d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE3;
}

bool
insn_zydis_stores(const struct decoded *d)
{
	for (int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];

		if (insn_zydis_is_accessed(operand) &&
		    insn_zydis_is_written(operand) &&
		    operand->mem.base != ZYDIS_REGISTER_RSP)
			return true;
	}
	return false;
}

static bool
has_mmx(const struct decoded *d)
{
	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		if (d->operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(d->operand[i].reg.value) ==
			ZYDIS_REGCLASS_MMX)
			return true;
	}
	return false;
}

bool
insn_zydis_is_checked(const struct decoded *d)
{
	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];

		if (!insn_zydis_is_accessed(operand))
			continue;
		return d->insn.meta.category == ZYDIS_CATEGORY_SETCC ||
		    d->insn.mnemonic == ZYDIS_MNEMONIC_RCL ||
		    d->insn.mnemonic == ZYDIS_MNEMONIC_RCR ||
		    d->insn.mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
		    (insn_zydis_is_vector(d) &&
			(operand->size == 128 || has_mmx(d)));
	}
	return false;
}

uint64_t
insn_zydis_bit_offset(uint32_t bytes, uint64_t bit)
{
	int64_t width = bytes * INT64_C(8);
	int64_t at = width == 16 ? (int16_t)bit
	    : width == 32        ? (int32_t)bit
				 : (int64_t)bit;

	/* Rounds towards minus infinity. */
	return (uint64_t)((at - (at & (width - 1))) / 8);
}
