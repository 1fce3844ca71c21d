#include "traces/reencode/input/insn_class.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>

struct forms {
	ZydisDecoder decoder[3]; /* 16, 32, 64 bits */
	struct insn_class_table table;
};

struct forms *
insn_class_create(void)
{
	struct forms *forms = calloc(1, sizeof(*forms));

	if (forms == NULL)
		return NULL;
	ZydisDecoderInit(&forms->decoder[0], ZYDIS_MACHINE_MODE_LEGACY_16,
	    ZYDIS_STACK_WIDTH_16);
	ZydisDecoderInit(&forms->decoder[1], ZYDIS_MACHINE_MODE_LEGACY_32,
	    ZYDIS_STACK_WIDTH_32);
	ZydisDecoderInit(&forms->decoder[2], ZYDIS_MACHINE_MODE_LONG_64,
	    ZYDIS_STACK_WIDTH_64);
	opcode_key_table_init(&forms->table.head);
	return forms;
}

void
insn_class_destroy(struct forms *forms)
{
	free(forms);
}

struct insn_class_table *
insn_class_table(struct forms *forms)
{
	return &forms->table;
}

/* What INSN is where no rule of a near branch says it. */
static enum code_blocks_kind
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
		return WALK_FAR;
	default:
		break;
	}
	/* SDM vol. 2, "MOV--Move to/from Control Registers": 0F 22 /3. */
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F && insn->opcode == 0x22 &&
	    insn->raw.modrm.reg == 3)
		return WALK_MOV_CR3;
	return WALK_PLAIN;
}

/* SDM vol. 3, table "COFI Type for Branch Instructions". */
static enum code_blocks_kind
insn_class_kind_of(const ZydisDecodedInstruction *insn)
{
	bool relative = insn->raw.imm[0].is_relative;

	if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return WALK_FAR;
	switch ((int)insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		/* XBEGIN counts as one for Zydis; it transfers nothing. */
		return insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? WALK_PLAIN
							       : WALK_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return relative ? WALK_JUMP : WALK_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return relative ? WALK_CALL : WALK_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		if (insn->mnemonic == ZYDIS_MNEMONIC_RET)
			return WALK_RET;
		break;
	default:
		break;
	}
	return insn_class_kind_far(insn);
}

/* Keeps FORM of BYTES, if Zydis sees where their head ends as head_of() does. */
static void
insn_class_keep(struct insn_class_table *table, const struct insn_class *form,
    const uint8_t *bytes, uint8_t bits)
{
	uint64_t key = head_of(&table->head, insn_class_first(bytes), bits);
	size_t place;

	if (key == 0 || head_count(key) != form->head_bytes)
		return;
	place = insn_class_place(key);
	table->kept[place ^ (table->kept[place] != 0)] = key |
	    (uint64_t)form->length << INSN_CLASS_LENGTH_SHIFT |
	    (uint64_t)form->kind << INSN_CLASS_KIND_SHIFT |
	    (uint64_t)form->distance_bytes << INSN_CLASS_DISTANCE_SHIFT;
}

/* Where INSN's displacement or immediate begins, or it ends. */
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

/* Decodes the first of COUNT BYTES.  False: it is no instruction. */
static bool
insn_class_decode(const struct forms *forms, const uint8_t *bytes,
    unsigned count, uint8_t bits, struct insn_class *form)
{
	unsigned mode = bits == 64 ? 2 : bits == 32 ? 1 : 0;
	ZydisDecodedInstruction insn;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&forms->decoder[mode], ZYAN_NULL, bytes, count, &insn)))
		return false;
	form->head_bytes = insn_class_head(&insn);
	form->length = insn.length;
	form->kind = (uint8_t)insn_class_kind_of(&insn);
	form->distance_bytes = insn.raw.imm[0].is_relative
	    ? insn.raw.imm[0].size / 8
	    : 0;
	return true;
}

bool
insn_class_of(struct forms *forms, const uint8_t *bytes, unsigned count,
    uint8_t bits, struct insn_class *form)
{
	bool whole = count >= INSN_CLASS_BYTES_MAX;
	uint64_t kept = whole
	    ? insn_class_kept(&forms->table, insn_class_first(bytes), bits)
	    : 0;

	if (kept != 0) {
		*form = insn_class_unpack(kept);
		return true;
	}
	if (!insn_class_decode(forms, bytes, count, bits, form))
		return false;
	if (whole)
		insn_class_keep(&forms->table, form, bytes, bits);
	return true;
}

int32_t
insn_class_distance(const struct insn_class *form, const uint8_t *bytes)
{
	const uint8_t *at = bytes + form->head_bytes;

	switch (form->distance_bytes) {
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
