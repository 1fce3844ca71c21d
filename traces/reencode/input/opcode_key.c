#include "traces/reencode/input/opcode_key.h"

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
opcode_key_names(unsigned modrm)
{
	unsigned mod = modrm >> 6, rm = modrm & 7;

	if (mod != 3 && rm == 4)
		return mod == 0 ? 0xf838 : 0xff38;
	return mod == 0 && rm == 5 ? 0x38 : 0x3f;
}

void
opcode_key_table_init(struct opcode_key_table *table)
{
	for (unsigned map = 0; map < 2; map++)
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			char what = head_opcodes[map][opcode];

			table->has[map][opcode] = what == '.' ? 0
			    : what == 'm'                     ? HEAD_MODRM
			    : what == 'r' ? HEAD_MODRM | HEAD_NAMES
			    : what == 'g' ? HEAD_MODRM | HEAD_NAMES | HEAD_REG
					  : HEAD_ODD;
		}
	for (unsigned modrm = 0; modrm < 256; modrm++) {
		table->bytes[modrm] = modrm < 0xc0 && (modrm & 7) == 4 ? 2 : 1;
		table->names[modrm] = opcode_key_names(modrm);
	}
}

/* FIRST begins with a prefix. */
static uint64_t
opcode_key_behind(
    const struct opcode_key_table *table, uint64_t first, uint8_t bits)
{
	uint64_t head = head_of(table, first >> 8, bits);
	uint64_t bytes = head & (TZ_BIT(HEAD_COUNT_SHIFT) - 1);

	return head == 0 ? 0
			 : head_make(bytes << 8 | (first & 0xff), 0,
			       1 + head_count(head), bits);
}

uint64_t
opcode_key_odd(const struct opcode_key_table *table, uint64_t first,
    uint8_t bits, unsigned before)
{
	bool two = before != 0 && (first >> (8 * before - 8) & 0xff) == 0x0f;
	char what = head_opcodes[two][first >> 8 * before & 0xff];
	unsigned opcode = before;
	uint64_t names = 0;

	if (bits == 16)
		return 0;
	switch (what) {
	case 'p':
		return before == 0 ? opcode_key_behind(table, first, bits) : 0;
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
