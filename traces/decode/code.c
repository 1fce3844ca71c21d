#include "traces/decode/code.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

/* Cache: a word for each byte of an image, length and flags; 0: not decoded yet. */
#define CODE_BYTES    0x0fu
#define CODE_IS_REP   0x10u
#define CODE_BAD      0x20u
#define CODE_TRANSFER 6  /* enum code_transfer, from this bit on: three bits */
#define CODE_KIND     9  /* enum code_kind, from this bit on: four bits */
#define CODE_FRAME    13 /* enum code_frame, from this bit on */

struct code {
	ZydisDecoder decoder;
	const struct bundle_image *images;
	size_t image_count;
	size_t last; /* image of the last address: tried first */
	uint16_t **cache;
};

struct code *
code_create(const struct bundle_image *images, size_t count)
{
	struct code *code = calloc(1, sizeof(*code));

	if (code == NULL)
		return NULL;
	code->images = images;
	code->cache = calloc(count + 1, sizeof(*code->cache));
	if (code->cache == NULL) {
		code_destroy(code);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		code->cache[i] = calloc(images[i].bytes, sizeof(**code->cache));
		if (code->cache[i] == NULL) {
			code_destroy(code);
			return NULL;
		}
		code->image_count++;
	}
	ZydisDecoderInit(
	    &code->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return code;
}

void
code_destroy(struct code *code)
{
	if (code == NULL)
		return;
	for (size_t i = 0; i < code->image_count; i++)
		free(code->cache[i]);
	free(code->cache);
	free(code);
}

static enum code_transfer
code_transfer_of(const ZydisDecodedInstruction *insn)
{
	switch ((int)insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return insn->raw.imm[0].value.s == 0 ? CODE_EITHER : CODE_COND;
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
		return CODE_JUMP;
	case ZYDIS_CATEGORY_INTERRUPT:
		return CODE_SOFT;
	default:
		return CODE_NEXT;
	}
}

static bool
code_is_rep(const ZydisDecodedInstruction *insn)
{
	const ZydisInstructionAttributes rep = ZYDIS_ATTRIB_HAS_REP |
	    ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;

	return (insn->attributes & rep) != 0;
}

static enum code_kind
code_kind_near(const ZydisDecodedInstruction *insn, enum code_kind direct,
    enum code_kind indirect)
{
	if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return CODE_FAR;
	return insn->raw.imm[0].is_relative ? direct : indirect;
}

static enum code_kind
code_kind_of(const ZydisDecodedInstruction *insn)
{
	if (insn->mnemonic == ZYDIS_MNEMONIC_PAUSE)
		return CODE_PAUSE;
	if (insn->mnemonic == ZYDIS_MNEMONIC_HLT)
		return CODE_HLT;
	if (code_is_rep(insn) && insn->meta.category != ZYDIS_CATEGORY_RET)
		return CODE_REP;
	switch ((int)insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return CODE_CONDITIONAL;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return code_kind_near(insn, CODE_JMP, CODE_JMP_INDIRECT);
	case ZYDIS_CATEGORY_CALL:
		return code_kind_near(insn, CODE_CALL, CODE_CALL_INDIRECT);
	case ZYDIS_CATEGORY_RET:
		if (insn->mnemonic == ZYDIS_MNEMONIC_RET)
			return code_kind_near(insn, CODE_RET, CODE_RET);
		return insn->mnemonic == ZYDIS_MNEMONIC_IRETQ ||
			insn->mnemonic == ZYDIS_MNEMONIC_IRETD ||
			insn->mnemonic == ZYDIS_MNEMONIC_IRET
		    ? CODE_IRET
		    : CODE_FAR;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
		return CODE_FAR;
	default:
		return CODE_PLAIN;
	}
}

/* BYTES of INSN: Zydis would have to decode the operands, too. */
static enum code_frame
code_frame_of(const ZydisDecodedInstruction *insn, const uint8_t *bytes)
{
	static const uint8_t set[][3] = { { 0x48, 0x89, 0xe5 },
		{ 0x48, 0x8b, 0xec } };

	if (insn->mnemonic == ZYDIS_MNEMONIC_LEAVE ||
	    (insn->length == 1 && bytes[0] == 0x5d))
		return CODE_FRAME_GONE;
	for (size_t i = 0; i < TZ_ARRAY_LEN(set); i++)
		if (insn->length == sizeof(set[i]) &&
		    memcmp(bytes, set[i], sizeof(set[i])) == 0)
			return CODE_FRAME_SET;
	return CODE_FRAME_STAYS;
}

static uint16_t
code_decode(struct code *code, const uint8_t *bytes, uint64_t count)
{
	ZydisDecodedInstruction insn;
	unsigned flags;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&code->decoder, ZYAN_NULL, bytes, count, &insn)))
		return CODE_BAD;
	TZ_ASSERT(insn.length >= 1 && insn.length <= 15);
	flags = insn.length;
	flags |= code_is_rep(&insn) ? CODE_IS_REP : 0;
	flags |= (unsigned)code_transfer_of(&insn) << CODE_TRANSFER;
	flags |= (unsigned)code_kind_of(&insn) << CODE_KIND;
	flags |= (unsigned)code_frame_of(&insn, bytes) << CODE_FRAME;
	return (uint16_t)flags;
}

static bool
code_find_image(struct code *code, uint64_t va, size_t *index)
{
	for (size_t tried = 0; tried < code->image_count; tried++) {
		size_t i = (code->last + tried) % code->image_count;

		if (va - code->images[i].va < code->images[i].bytes) {
			code->last = i;
			*index = i;
			return true;
		}
	}
	return false;
}

/* Unpacks what code_decode() returned. */
static bool
code_unpack(uint16_t cached, struct code_insn *insn)
{
	insn->bytes = cached & CODE_BYTES;
	insn->is_rep = (cached & CODE_IS_REP) != 0;
	insn->transfer = (enum code_transfer)(cached >> CODE_TRANSFER & 7);
	insn->kind = (enum code_kind)(cached >> CODE_KIND & 15);
	insn->frame = (enum code_frame)(cached >> CODE_FRAME);
	return (cached & CODE_BAD) == 0;
}

bool
code_insn_of(struct code *code, const uint8_t *bytes, uint64_t count,
    struct code_insn *insn)
{
	return code_unpack(code_decode(code, bytes, count), insn);
}

bool
code_insn_at(struct code *code, uint64_t va, struct code_insn *insn)
{
	const struct bundle_image *image;
	uint64_t offset;
	uint16_t *cached;
	size_t index;

	if (!code_find_image(code, va, &index))
		return false;
	image = &code->images[index];
	offset = va - image->va;
	cached = &code->cache[index][offset];
	if (*cached == 0)
		*cached = code_decode(
		    code, &image->code[offset], image->bytes - offset);
	return code_unpack(*cached, insn);
}
