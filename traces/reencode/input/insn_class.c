#include "traces/reencode/input/insn_class.h"

#include <Zydis/Zydis.h>

_Static_assert(8 * INSN_CLASS_HEAD_MAX <= INSN_CLASS_COUNT_SHIFT &&
	INSN_CLASS_KEY_BITS <= INSN_CLASS_LENGTH_SHIFT,
    "a key has room for a head and lies below what is known of it");

/* What INSN is where no rule of a near branch says it. */
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

/* SDM vol. 3, table "COFI Type for Branch Instructions". */
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

/*
 * Where INSN's displacement or immediate begins, or it ends.  Of 3DNow!, where the last
 * byte is an opcode and no immediate, all is head.
 */
static uint8_t
insn_class_head(const ZydisDecodedInstruction *insn)
{
	uint8_t head = insn->length;

	if (insn->raw.disp.size != 0 && insn->raw.disp.offset < head)
		head = insn->raw.disp.offset;
	for (size_t i = 0; i < TZ_ARRAY_LEN(insn->raw.imm); i++)
		if (insn->raw.imm[i].size != 0 &&
		    insn->raw.imm[i].offset < head)
			head = insn->raw.imm[i].offset;
	return head;
}

/* What Zydis says; 0: it is no instruction. */
static uint64_t
insn_class_decode(const uint8_t *bytes, unsigned count, uint8_t bits)
{
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	uint64_t distance;

	if (bits == 64)
		ZydisDecoderInit(
		    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	else if (bits == 32)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LEGACY_32,
		    ZYDIS_STACK_WIDTH_32);
	else
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LEGACY_16,
		    ZYDIS_STACK_WIDTH_16);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&decoder, ZYAN_NULL, bytes, count, &insn)))
		return 0;
	distance = insn.raw.imm[0].is_relative ? insn.raw.imm[0].size / 8 : 0;
	return (uint64_t)insn.length << INSN_CLASS_LENGTH_SHIFT |
	    (uint64_t)insn_class_kind_of(&insn) << INSN_CLASS_KIND_SHIFT |
	    distance << INSN_CLASS_DISTANCE_SHIFT |
	    (uint64_t)insn_class_head(&insn) << INSN_CLASS_HEAD_SHIFT;
}

uint64_t
insn_class_of(struct insn_class_table *table, const uint8_t *bytes,
    unsigned count, uint8_t bits)
{
	uint64_t class, key, first;
	unsigned head;
	size_t place;

	if (count < INSN_CLASS_BYTES_MAX)
		return insn_class_decode(bytes, count, bits);
	first = insn_class_first(bytes);
	class = insn_class_kept(table, first, bits);
	if (class != 0)
		return class;
	class = insn_class_decode(bytes, count, bits);
	head = (unsigned)(class >> INSN_CLASS_HEAD_SHIFT);
	if (class == 0 || head > INSN_CLASS_HEAD_MAX)
		return class;
	key = insn_class_key(first, head, bits);
	place = insn_class_place(key);
	table->sizes[bytes[0]] |= (uint8_t)(1 << head);
	return table->kept[place ^ (table->kept[place] != 0)] = key | class;
}

int32_t
insn_class_distance(uint64_t class, const uint8_t *bytes)
{
	const uint8_t *at = bytes + (class >> INSN_CLASS_HEAD_SHIFT);

	switch (class >> INSN_CLASS_DISTANCE_SHIFT & 7) {
	case 1:
		return (int8_t)at[0];
	case 2:
		return (int16_t)(at[0] | at[1] << 8);
	case 4:
		return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 |
		    (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
	default:
		return 0;
	}
}
