#include "traces/reencode/input/insn_class.h"

#include <Zydis/Zydis.h>
#include <stdio.h>

/* The kind of INSN, which is no near branch. */
static enum insn_class_kind
insn_class_kind_far(const ZydisDecodedInstruction *insn)
{
	switch ((int)insn->mnemonic) {
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_VMLAUNCH:
	case ZYDIS_MNEMONIC_VMRESUME:
	case ZYDIS_MNEMONIC_UIRET:
		return INSN_CLASS_FAR;
	default:
		break;
	}
	/* SDM vol. 2, "MOV--Move to/from Control Registers": 0F 22 /3. */
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F && insn->opcode == 0x22 &&
	    insn->raw.modrm.reg == 3)
		return INSN_CLASS_MOV_CR3;
	return INSN_CLASS_PLAIN;
}

static enum insn_class_kind
insn_class_kind_of(const ZydisDecodedInstruction *insn)
{
	bool relative = insn->raw.imm[0].is_relative;

	if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return INSN_CLASS_FAR;
	switch ((int)insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		/* XBEGIN counts as one for Zydis; it transfers nothing. */
		return insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN
		    ? INSN_CLASS_PLAIN
		    : INSN_CLASS_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return relative ? INSN_CLASS_JUMP : INSN_CLASS_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return relative ? INSN_CLASS_CALL : INSN_CLASS_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		if (insn->mnemonic == ZYDIS_MNEMONIC_RET)
			return INSN_CLASS_RET;
		break;
	default:
		break;
	}
	return insn_class_kind_far(insn);
}

static void
insn_class_begin(ZydisDecoder *decoder, uint8_t bits)
{
	if (bits == 64)
		ZydisDecoderInit(
		    decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	else if (bits == 32)
		ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LEGACY_32,
		    ZYDIS_STACK_WIDTH_32);
	else
		ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LEGACY_16,
		    ZYDIS_STACK_WIDTH_16);
}

bool
insn_class_decode(const uint8_t *bytes, unsigned count, uint8_t bits,
    struct insn_class *class)
{
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;

	insn_class_begin(&decoder, bits);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&decoder, ZYAN_NULL, bytes, count, &insn)))
		return false;
	*class = (struct insn_class){ .kind = insn_class_kind_of(&insn),
		.length = insn.length };
	if (insn.raw.imm[0].is_relative)
		class->distance = (int32_t)insn.raw.imm[0].value.s;
	return true;
}

void
insn_class_print(const uint8_t *bytes, unsigned count, uint8_t bits,
    uint64_t ip, char *text, size_t room)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisFormatter formatter;
	ZydisDecoder decoder;

	snprintf(text, room, "(no instruction)");
	insn_class_begin(&decoder, bits);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		&decoder, bytes, count, &insn, operands)) ||
	    !ZYAN_SUCCESS(
		ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)))
		return;
	(void)ZydisFormatterFormatInstruction(&formatter, &insn, operands,
	    insn.operand_count_visible, text, room, ip, ZYAN_NULL);
}
