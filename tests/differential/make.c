#include "make.h"

#include <stdlib.h>
#include <string.h>

bool
unit_decode(const uint8_t *code, size_t count, struct decoded *d)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(
	    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		&decoder, code, count, &d->insn, d->operand)))
		return false;
	/* Zydis 4.0.0 has R13 for no base: SDM vol. 2, table 2-3. */
	if (d->insn.raw.modrm.mod == 0 && d->insn.raw.modrm.rm == 4 &&
	    d->insn.raw.sib.base == 5 &&
	    (d->insn.attributes & ZYDIS_ATTRIB_HAS_SIB)) {
		for (int i = 0; i < d->insn.operand_count_visible; i++) {
			if (d->operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			    (d->operand[i].mem.base == ZYDIS_REGISTER_R13 ||
				d->operand[i].mem.base == ZYDIS_REGISTER_R13D))
				d->operand[i].mem.base = ZYDIS_REGISTER_NONE;
		}
	}
	return true;
}

struct piece *
unit_add(struct make *make, const void *code, unsigned length)
{
	struct unit *unit = make->unit;
	struct piece *piece = &unit->piece[unit->count++];
	struct decoded d;

	if (unit->count > PIECES_MAX || !unit_decode(code, length, &d))
		abort();
	*piece = (struct piece){
		.length = (uint8_t)length,
		.reads = (uint16_t)flags_read(&d),
		.keeps = (uint16_t)flags_after(&d, ALL),
		.makes = (uint16_t)flags_after(&d, 0),
		.at_fault = (uint16_t)flags_at_fault(&d),
		.status_at_fault = (uint16_t)status_at_fault(&d),
		.in_parts = stores_in_parts(&d),
		.status_keeps = (uint16_t)status_after(&d, C0 | C1 | C2 | C3),
		.status_makes = (uint16_t)status_after(&d, 0),
	};
	memcpy(piece->code, code, length);
	return piece;
}

void
unit_add_patched(struct make *make, const struct piece *from)
{
	struct piece *piece = unit_add(make, from->code, from->length);

	piece->patch = from->patch;
	piece->patch_at = from->patch_at;
	piece->target = from->target;
}

void
unit_add_mov(struct make *make, unsigned reg, uint64_t value)
{
	uint8_t code[10] = { (uint8_t)(0x48 | reg >> 3),
		(uint8_t)(0xb8 | (reg & 7)) };

	memcpy(code + 2, &value, sizeof(value));
	unit_add(make, code, sizeof(code));
}

uint64_t
make_value(struct make *make)
{
	static const uint64_t values[] = { 0, 1, 2, 7, 8, 15, 16, 31, 32, 63,
		64, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff, 0x3ff0000000000000, 0x7ff0000000000000,
		0x7ff8000000000001, 0x7ff0000000000001, 0x0000000000000001,
		0x8000000000000000, 0x3f8000003f800000, 0x7f800000ff800000,
		0x7fc000017f800001, 0x0000000180000001, 0x5555555555555555 };
	uint64_t value = random_next(&make->rng);

	switch (below(make, 4)) {
	case 0:
		return values[below(make, sizeof(values) / sizeof(values[0]))];
	case 1:
		return (uint64_t)(int64_t)(int32_t)(value >>
		    (32 + below(make, 32)));
	default:
		return value;
	}
}

/* Where an operand of SIZE bytes is. */
uint64_t
make_place(struct make *make, unsigned size, bool aligned)
{
	unsigned percent = below(make, 100);
	uint64_t place;

	if (size == 0)
		size = 1;
	if (percent < 78)
		place = DATA_VA + 64 + below(make, DATA_BYTES - 128 - size);
	else if (percent < 88)
		place = DATA_VA + PAGE_BYTES * (1 + below(make, 2)) -
		    below(make, size + 1);
	else if (percent < 91)
		place = FIXED_VA + 64 + below(make, FIXED_BYTES - 128 - size);
	else if (percent < 94)
		place = STACK_VA + 64 + below(make, STACK_BYTES - 256 - size);
	else if (percent < 99)
		place = CODE_VA +
		    (chance(make, 50) ? 0u : CODE_BYTES - SPARE_BYTES) +
		    below(make, SPARE_BYTES - size);
	else
		place = DATA_VA + DATA_BYTES - below(make, size + 1);
	return aligned && !chance(make, 4) ? place & ~UINT64_C(15) : place;
}
