#include "emu/cpu/insn/insn_legacy.h"

#include <Zydis/Zydis.h>

static const struct {
	ZydisMnemonic mnemonic;
	enum insn_legacy_op op;
} ops[] = {
	{ ZYDIS_MNEMONIC_MOV, LEGACY_MOV },
	{ ZYDIS_MNEMONIC_ADD, LEGACY_ADD },
	{ ZYDIS_MNEMONIC_AND, LEGACY_AND },
	{ ZYDIS_MNEMONIC_CMP, LEGACY_CMP },
	{ ZYDIS_MNEMONIC_BT, LEGACY_BT },
	{ ZYDIS_MNEMONIC_JB, LEGACY_JC },
	{ ZYDIS_MNEMONIC_JNB, LEGACY_JNC },
	{ ZYDIS_MNEMONIC_JZ, LEGACY_JZ },
	{ ZYDIS_MNEMONIC_JNZ, LEGACY_JNZ },
	{ ZYDIS_MNEMONIC_JMP, LEGACY_JMP },
	{ ZYDIS_MNEMONIC_RDMSR, LEGACY_RDMSR },
	{ ZYDIS_MNEMONIC_WRMSR, LEGACY_WRMSR },
	{ ZYDIS_MNEMONIC_NOP, LEGACY_NOP },
};

static enum insn_legacy_op
find_op(ZydisMnemonic mnemonic)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(ops); i++)
		if (ops[i].mnemonic == mnemonic)
			return ops[i].op;
	return LEGACY_OTHER;
}

static bool
read_register(ZydisRegister reg, struct insn_legacy_operand *out)
{
	out->value = (uint32_t)ZydisRegisterGetId(reg);
	switch ((int)ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
		out->kind = LEGACY_REG;
		return true;
	case ZYDIS_REGCLASS_SEGMENT:
		out->kind = LEGACY_SEGMENT;
		return true;
	case ZYDIS_REGCLASS_CONTROL:
		out->kind = LEGACY_CONTROL;
		return out->value == 0 || out->value == 3 || out->value == 4;
	default:
		return false;
	}
}

static bool
read_operand(const ZydisDecodedInstruction *insn,
    const ZydisDecodedOperand *operand, uint32_t ip,
    struct insn_legacy_operand *out)
{
	ZyanU64 target;

	out->bytes = (uint8_t)(operand->size / 8);
	switch ((int)operand->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		return read_register(operand->reg.value, out);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		out->kind = LEGACY_MEMORY;
		out->value = (uint32_t)operand->mem.disp.value;
		return operand->mem.base == ZYDIS_REGISTER_NONE &&
		    operand->mem.index == ZYDIS_REGISTER_NONE;
	case ZYDIS_OPERAND_TYPE_POINTER:
		out->kind = LEGACY_TARGET;
		out->value = operand->ptr.offset;
		out->selector = operand->ptr.segment;
		return true;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		out->kind = LEGACY_CONSTANT;
		out->value = (uint32_t)operand->imm.value.u;
		if (!operand->imm.is_relative)
			return true;
		out->kind = LEGACY_TARGET;
		if (!ZYAN_SUCCESS(
			ZydisCalcAbsoluteAddress(insn, operand, ip, &target)))
			return false;
		out->value = (uint32_t)target;
		return true;
	default:
		return false;
	}
}

bool
insn_legacy_decode(
    const uint8_t *bytes, size_t count, uint32_t ip, struct insn_legacy *insn)
{
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;

	ZydisDecoderInit(
	    &decoder, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		&decoder, bytes, count, &decoded, operand)))
		return false;
	*insn = (struct insn_legacy){ .op = find_op(decoded.mnemonic),
		.length = decoded.length };
	if (insn->op == LEGACY_NOP)
		return true;
	for (unsigned i = 0; i < decoded.operand_count_visible; i++)
		if (i > 1 ||
		    !read_operand(&decoded, &operand[i], ip,
			i == 0 ? &insn->to : &insn->from))
			insn->op = LEGACY_OTHER;
	if (insn->op == LEGACY_JMP && insn->to.kind == LEGACY_TARGET &&
	    operand[0].type == ZYDIS_OPERAND_TYPE_POINTER)
		insn->op = LEGACY_JMP_FAR;
	return true;
}
