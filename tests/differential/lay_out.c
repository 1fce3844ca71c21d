/*
 * Where each instruction of a sequence lies, what memory holds around it, and what is
 * undefined before each: the union of all ways there.
 */
#include "flags.h"
#include "generate.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

#define INT3 0xcc

struct layout {
	const struct sequence *sequence;
	uint32_t unit_at[UNITS_MAX + 1];
	uint32_t soft_at[UNITS_MAX];
	uint16_t undefined[UNITS_MAX + 1], status[UNITS_MAX + 1];
};

/* The place of a unit, or of the next one that is not left out. */
static uint32_t
place_of(const struct layout *layout, unsigned unit)
{
	unsigned count = layout->sequence->count;

	return layout->unit_at[unit < count ? unit : count];
}

static void
find_places(struct layout *layout)
{
	const struct sequence *sequence = layout->sequence;
	uint32_t at = sequence->start;

	for (unsigned u = 0; u < sequence->count; u++) {
		const struct unit *unit = &sequence->unit[u];

		layout->unit_at[u] = at;
		layout->soft_at[u] = CODE_BYTES - 64;
		for (unsigned i = 0; i < unit->count && !unit->out; i++) {
			if (unit->soft == i + 1u)
				layout->soft_at[u] = at + 2;
			at += unit->piece[i].length;
		}
	}
	layout->unit_at[sequence->count] = at;
}

static void
patch(const struct layout *layout, const struct piece *piece, uint32_t at,
    uint8_t *code)
{
	uint64_t next = CODE_VA + at + piece->length;
	uint64_t value;

	switch (piece->patch) {
	case PATCH_RELATIVE:
		value = piece->target - next;
		memcpy(code + piece->patch_at, &value, 4);
		break;
	case PATCH_BRANCH:
		value = CODE_VA + place_of(layout, piece->unit) - next;
		memcpy(code + piece->patch_at, &value, piece->patch_bytes);
		break;
	case PATCH_CODE:
		value = CODE_VA + layout->soft_at[piece->unit] + piece->target;
		memcpy(code + piece->patch_at, &value, 8);
		break;
	default:
		break;
	}
}

static void
list(struct listing *listing, uint32_t at, unsigned length, unsigned undefined,
    unsigned status)
{
	listing->item[listing->count++] = (struct listed){
		.at = at,
		.length = (uint8_t)length,
		.undefined = (uint16_t)undefined,
		.status = (uint16_t)status,
	};
}

/* What a branch takes along. */
static void
join(struct layout *layout, unsigned unit, unsigned undefined, unsigned status)
{
	unsigned to = unit < layout->sequence->count ? unit
						     : layout->sequence->count;

	layout->undefined[to] |= (uint16_t)undefined;
	layout->status[to] |= (uint16_t)status;
}

/* True: an instruction reads what is undefined. */
static bool
follow(struct layout *layout, struct listing *listing)
{
	const struct sequence *sequence = layout->sequence;
	unsigned undefined = 0, status = 0;
	uint32_t at = sequence->start;
	bool bad = false;

	listing->count = 0;
	for (unsigned u = 0; u < sequence->count; u++) {
		const struct unit *unit = &sequence->unit[u];

		undefined = layout->undefined[u] |= (uint16_t)undefined;
		status = layout->status[u] |= (uint16_t)status;
		for (unsigned i = 0; i < unit->count && !unit->out; i++) {
			const struct piece *piece = &unit->piece[i];

			list(listing, at, piece->length,
			    undefined | piece->at_fault,
			    status | piece->status_at_fault);
			listing->item[listing->count - 1].in_parts =
			    piece->in_parts;
			bad |= (piece->reads & undefined) != 0;
			undefined = (undefined & piece->keeps) | piece->makes;
			status = (status & piece->status_keeps) |
			    piece->status_makes;
			if (piece->patch == PATCH_BRANCH)
				join(layout, piece->unit, undefined, status);
			at += piece->length;
		}
	}
	undefined |= layout->undefined[sequence->count];
	status |= layout->status[sequence->count];
	list(listing, at, 1, undefined, status);
	return bad;
}

/* The second time with what comes round by branches. */
static bool
analyse(struct layout *layout, struct listing *listing)
{
	follow(layout, listing);
	return follow(layout, listing);
}

bool
sequence_is_undefined(const struct sequence *sequence)
{
	struct layout layout = { .sequence = sequence };
	struct listing listing;

	return analyse(&layout, &listing);
}

void
sequence_list(const struct sequence *sequence, struct listing *listing)
{
	struct layout layout = { .sequence = sequence };

	find_places(&layout);
	analyse(&layout, listing);
}

static void
write_code(const struct layout *layout, uint8_t *code)
{
	const struct sequence *sequence = layout->sequence;
	uint32_t at = sequence->start;

	for (unsigned u = 0; u < sequence->count; u++) {
		const struct unit *unit = &sequence->unit[u];

		for (unsigned i = 0; i < unit->count && !unit->out; i++) {
			const struct piece *piece = &unit->piece[i];

			memcpy(code + at, piece->code, piece->length);
			patch(layout, piece, at, code + at);
			at += piece->length;
		}
	}
}

/* Bytes that floating-point and integer instructions find interesting. */
static void
fill(uint64_t *rng, uint8_t *bytes, size_t count)
{
	static const uint64_t values[] = { 0, 0x3ff0000000000000,
		0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000,
		0x7ff8000000000000, 0x7ff0000000000001, 0x0000000000000001,
		0x800fffffffffffff, 0x3f8000003f800000, 0x7f800000ff800000,
		0x7fc000017f800001, 0x0000000180000001, 0x40490fdbc0490fdb,
		0x4000000000000000, 0x4059000000000000, 0x41dfffffffc00000,
		0x43e0000000000000, 0xffffffffffffffff };

	for (size_t at = 0; at < count; at += 8) {
		uint64_t value = random_next(rng);

		if ((value & 3) == 0)
			value = values[(value >> 8) %
			    (sizeof(values) / sizeof(values[0]))];
		memcpy(bytes + at, &value, 8);
	}
}

void
sequence_lay_out(const struct sequence *sequence, struct outcome *start)
{
	struct layout layout = { .sequence = sequence };
	struct memory *memory = &start->memory;
	uint64_t rng = sequence->seed ^ UINT64_C(0x5a5a5a5a5a5a5a5a);

	start->state = sequence->state;
	start->state.rip = CODE_VA + sequence->start;
	memset(memory->code, INT3, CODE_BYTES);
	fill_fixed(memory->fixed);
	find_places(&layout);
	write_code(&layout, memory->code);
	fill(&rng, memory->data, DATA_BYTES);
	fill(&rng, memory->stack, STACK_BYTES);
	memory->stack[STACK_BYTES - 64] = (uint8_t)(1 + sequence->seed % 5);
}
