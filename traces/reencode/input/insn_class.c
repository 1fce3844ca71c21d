#include "traces/reencode/input/insn_class.h"

#include <Zydis/Zydis.h>

/*
 * SDM vol. 2, appendix A.3, tables; 16 opcodes a row.
 *   .  no ModR/M        m  ModR/M        r  ModR/M that names registers or memory
 *   g  the same, but its reg field is part of the opcode
 *   p  it is a prefix   3  all opcodes behind it have ModR/M
 *   4  VEX of three bytes in 64-bit mode, 5 of two
 *   x  what has no head here: rare, or not to be told by so little
 */
static const char head_opcodes[2][257] = {
	"rrrr....rrrr...x"
	"rrrr....rrrr...."
	"rrrr..p.rrrr..p."
	"rrrr..p.rrrr..p."
	"................"
	"................"
	"..xrpppx.r.r...."
	"................"
	"ggggrrrrrrrrmrmx"
	"................"
	"................"
	"................"
	"gg..45mm........"
	"gggg....mmmmmmmm"
	"................"
	"p.pp..gg......gg",

	"mmrrx....x.xxmxx"
	"rrrrrrrrmmxxmmmm"
	"xxxxxxxxrrrrrrrr"
	"......x.3x3xxxxx"
	"rrrrrrrrrrrrrrrr"
	"rrrrrrrrrrrrrrrr"
	"rrrrrrrrrrrrrrrr"
	"rmmmrrr.mmxxrrrr"
	"................"
	"rrrrrrrrrrrrrrrr"
	"...rrrxx...rrrmr"
	"rrrrrrrrrmmrrrrr"
	"rrrrrrrm........"
	"rrrrrrrrrrrrrrrr"
	"rrrrrrrrrrrrrrrr"
	"rrrrrrrrrrrrrrrx",
};

/* VZEROALL and VZEROUPPER: no other opcode behind VEX is without ModR/M. */
#define HEAD_VZERO 0x77

/* Bits of MODRM, and above them of its SIB, that only name a register. */
static uint16_t
head_names(unsigned modrm)
{
	unsigned mod = modrm >> 6, rm = modrm & 7;

	if (mod != 3 && rm == 4)
		return mod == 0 ? 0xf838 : 0xff38;
	return mod == 0 && rm == 5 ? 0x38 : 0x3f;
}

void
insn_class_init(struct insn_class_table *table)
{
	struct head_table *head = &table->head;

	for (unsigned map = 0; map < 2; map++)
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			char what = head_opcodes[map][opcode];

			head->has[map][opcode] = what == '.' ? 0
			    : what == 'm'                    ? HEAD_MODRM
			    : what == 'r' ? HEAD_MODRM | HEAD_NAMES
			    : what == 'g' ? HEAD_MODRM | HEAD_NAMES | HEAD_REG
					  : HEAD_ODD;
		}
	for (unsigned modrm = 0; modrm < 256; modrm++) {
		head->bytes[modrm] = modrm < 0xc0 && (modrm & 7) == 4 ? 2 : 1;
		head->names[modrm] = head_names(modrm);
	}
}

/* FIRST begins with a prefix. */
static uint64_t
head_behind(const struct head_table *table, uint64_t first, uint8_t bits)
{
	uint64_t head = head_of(table, first >> 8, bits);
	uint64_t bytes = head & (TZ_BIT(HEAD_COUNT_SHIFT) - 1);

	return head == 0 ? 0
			 : head_make(bytes << 8 | (first & 0xff), 0,
			       1 + head_count(head), bits);
}

uint64_t
head_odd(const struct head_table *table, uint64_t first, uint8_t bits,
    unsigned before)
{
	bool two = before != 0 && (first >> (8 * before - 8) & 0xff) == 0x0f;
	char what = head_opcodes[two][first >> 8 * before & 0xff];
	unsigned opcode = before;
	uint64_t names = 0;

	if (bits == 16)
		return 0;
	switch (what) {
	case 'p':
		return before == 0 ? head_behind(table, first, bits) : 0;
	case '3':
		opcode += 1;
		names = before == 2 ? 7 : 0;
		break;
	case '4':
	case '5':
		if (before != 0 || bits != 64)
			return 0;
		opcode += what == '4' ? 3 : 2;
		if ((first >> 8 * opcode & 0xff) == HEAD_VZERO)
			return head_make(first, 0, opcode + 1, bits);
		break;
	default:
		return 0;
	}
	return head_make(first, names,
	    opcode + 1 + table->bytes[first >> (8 * opcode + 8) & 0xff], bits);
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
	size_t place;

	if (count < INSN_CLASS_BYTES_MAX)
		return insn_class_decode(bytes, count, bits);
	first = insn_class_first(bytes);
	class = insn_class_kept(table, first, bits);
	if (class != 0)
		return class;
	class = insn_class_decode(bytes, count, bits);
	key = head_of(&table->head, first, bits);
	/* Kept if Zydis sees where its head ends as head_of() does. */
	if (class == 0 || key == 0 ||
	    head_count(key) != class >> INSN_CLASS_HEAD_SHIFT)
		return class;
	place = insn_class_place(key);
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
