#include "traces/reencode/form.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

/* Heads that are kept; a later one takes the place of an earlier. */
#define FORM_KEPT      4096
#define FORM_KEY_BYTES 4

struct forms {
	ZydisDecoder decoder[3]; /* 16, 32, 64 bits */
	struct form fresh;
	struct form kept[FORM_KEPT]; /* by their first bytes */
};

struct forms *
forms_create(void)
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
	return forms;
}

void
forms_destroy(struct forms *forms)
{
	free(forms);
}

/* What INSN is where no rule of a near branch says it. */
static enum walk_kind
form_kind_far(const ZydisDecodedInstruction *insn)
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
static enum walk_kind
form_kind(const ZydisDecodedInstruction *insn)
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
	return form_kind_far(insn);
}

/* The place of an encoding that begins with the COUNT bytes of KEY, 1 to 4. */
static struct form *
form_place(struct forms *forms, uint32_t key, unsigned count)
{
	uint64_t mixed = ((uint64_t)key << 3 | count) *
	    UINT64_C(0x9e3779b97f4a7c15);

	return &forms->kept[mixed >> 40 & (FORM_KEPT - 1)];
}

/* The first COUNT of BYTES, 1 to 4. */
static uint32_t
form_key(const uint8_t *bytes, unsigned count)
{
	uint32_t key = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
	    (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;

	return key << (8 * (FORM_KEY_BYTES - count)) >>
	    (8 * (FORM_KEY_BYTES - count));
}

/* What is kept of the encoding that BYTES, 15 of them, begin with; or NULL. */
static const struct form *
form_kept(struct forms *forms, const uint8_t *bytes, uint8_t bits)
{
	for (unsigned count = FORM_KEY_BYTES; count != 0; count--) {
		const struct form *form = form_place(
		    forms, form_key(bytes, count), count);

		if (form->head_bytes != 0 && form->bits == bits &&
		    (count == FORM_KEY_BYTES ? form->head_bytes >= count
					     : form->head_bytes == count) &&
		    memcmp(form->head, bytes, form->head_bytes) == 0)
			return form;
	}
	return NULL;
}

/* Where INSN's displacement or immediate begins, or it ends. */
static uint8_t
form_head(const ZydisDecodedInstruction *insn)
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
form_decode(const struct forms *forms, struct form *form, const uint8_t *bytes,
    unsigned count)
{
	unsigned mode = form->bits == 64 ? 2 : form->bits == 32 ? 1 : 0;
	ZydisDecodedInstruction insn;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&forms->decoder[mode], ZYAN_NULL, bytes, count, &insn)))
		return false;
	form->head_bytes = form_head(&insn);
	memcpy(form->head, bytes, form->head_bytes);
	form->length = insn.length;
	form->kind = (uint8_t)form_kind(&insn);
	if (insn.raw.imm[0].is_relative)
		form->distance_bytes = insn.raw.imm[0].size / 8;
	return true;
}

const struct form *
form_of(struct forms *forms, const uint8_t *bytes, unsigned count, uint8_t bits)
{
	struct form *fresh = &forms->fresh;
	const struct form *kept;
	unsigned key;

	if (count >= FORM_BYTES_MAX) {
		kept = form_kept(forms, bytes, bits);
		if (kept != NULL)
			return kept;
	}
	*fresh = (struct form){ .bits = bits };
	if (!form_decode(forms, fresh, bytes, count))
		return NULL;
	key = fresh->head_bytes < FORM_KEY_BYTES ? fresh->head_bytes
						 : FORM_KEY_BYTES;
	*form_place(forms, form_key(fresh->head, key), key) = *fresh;
	return fresh;
}

uint64_t
form_distance(const struct form *form, const uint8_t *bytes)
{
	unsigned shift = 64 - 8u * form->distance_bytes;
	uint64_t value = 0;

	if (form->distance_bytes == 0)
		return 0;
	for (unsigned i = 0; i < form->distance_bytes; i++)
		value |= (uint64_t)bytes[form->head_bytes + i] << (8 * i);
	return (uint64_t)((int64_t)(value << shift) >> shift);
}
