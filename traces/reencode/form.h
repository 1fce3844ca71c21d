/*
 * What an instruction is, as Zydis says.  How long one is and what it does is said by
 * what comes before its displacement and its immediate: each such head that head_of()
 * knows is decoded once and kept.
 */
#ifndef TOPAZ_TRACES_REENCODE_FORM_H
#define TOPAZ_TRACES_REENCODE_FORM_H

#include "traces/reencode/head.h"

#include <endian.h>
#include <string.h>

/* What an instruction is, or the last one of a block. */
enum walk_kind {
	WALK_PLAIN, /* no transfer */
	WALK_COND,
	WALK_JUMP,
	WALK_CALL,
	WALK_JUMP_INDIRECT,
	WALK_CALL_INDIRECT,
	WALK_RET,
	WALK_FAR,     /* far transfers, SYSCALL, IRET, INT n, VM entry ... */
	WALK_MOV_CR3, /* no transfer, but may send a packet */
};

/* An x86 instruction has no more. */
#define FORM_BYTES_MAX 15

struct form {
	uint8_t head_bytes; /* before displacement and immediate */
	uint8_t length;
	uint8_t kind;           /* enum walk_kind */
	uint8_t distance_bytes; /* behind the head, to the target; 0: none */
};

/*
 * A form that is kept, in 8 bytes, since many are looked at: the head, then the rest of
 * struct form.  0: nothing is kept.
 */
#define FORM_LENGTH_SHIFT   48
#define FORM_KIND_SHIFT     52
#define FORM_DISTANCE_SHIFT 56

static inline unsigned
form_length(uint64_t kept)
{
	return kept >> FORM_LENGTH_SHIFT & 15;
}

static inline enum walk_kind
form_kind(uint64_t kept)
{
	return (enum walk_kind)(kept >> FORM_KIND_SHIFT & 15);
}

static inline struct form
form_unpack(uint64_t kept)
{
	return (struct form){ .head_bytes = (uint8_t)head_count(kept),
		.length = (uint8_t)form_length(kept),
		.kind = (uint8_t)form_kind(kept),
		.distance_bytes = kept >> FORM_DISTANCE_SHIFT & 7 };
}

/* Forms that are kept; a later one takes the place of an earlier. */
#define FORM_KEPT_BITS 11

struct form_table {
	struct head_table head;
	uint64_t kept[1 << FORM_KEPT_BITS];
};

struct forms;

/* NULL: out of memory. */
struct forms *forms_create(void);
void forms_destroy(struct forms *forms);
struct form_table *forms_table(struct forms *forms);

/*
 * The FORM of the instruction that COUNT BYTES begin with in the mode of BITS.  False:
 * they begin none.
 */
bool form_of(struct forms *forms, const uint8_t *bytes, unsigned count,
    uint8_t bits, struct form *form);

/* How far behind its end BYTES, an instruction of FORM, lead; 0: it is no branch. */
int32_t form_distance(const struct form *form, const uint8_t *bytes);

/* The first 8 of BYTES, the first of them lowest. */
static inline uint64_t
form_first(const uint8_t *bytes)
{
	uint64_t first;

	memcpy(&first, bytes, sizeof(first));
	return le64toh(first);
}

/* The first of two places, side by side, of the form of KEY. */
static inline size_t
form_place(uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >>
	    (64 - FORM_KEPT_BITS));
}

static inline bool
form_is(uint64_t kept, uint64_t key)
{
	return (kept ^ key) << (64 - HEAD_KEY_BITS) == 0;
}

/*
 * What is kept of the instruction that begins with FIRST, 8 bytes; 0: nothing.  It
 * must be known that there are FORM_BYTES_MAX bytes.
 */
static inline uint64_t
form_kept(const struct form_table *table, uint64_t first, uint8_t bits)
{
	uint64_t key = head_of(&table->head, first, bits);
	size_t place = form_place(key);

	if (key == 0)
		return 0;
	if (form_is(table->kept[place], key))
		return table->kept[place];
	if (form_is(table->kept[place ^ 1], key))
		return table->kept[place ^ 1];
	return 0;
}

#endif
