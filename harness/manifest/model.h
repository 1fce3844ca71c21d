/*
 * A manifest with its names resolved.  Each instance has its own copy of an operation;
 * the values of an operation are numbered.  Private to harness/manifest.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_MODEL_H
#define TOPAZ_HARNESS_MANIFEST_MODEL_H

#include "harness/manifest/manifest.h"
#include "harness/manifest/schema.h"

#define MODEL_PLACES_MAX 96 /* of one operation */
#define MODEL_NONE       0xffffu

enum value_kind {
	VALUE_NUMBER,
	VALUE_SLOT,
	VALUE_DATA,
	VALUE_TEXT,
	VALUE_CPUS_ALL,
	VALUE_CPUS_ABSENT,
	VALUE_CPUS_COUNT,
};

struct value {
	enum value_kind kind;
	bool invalid;
	uint32_t error;
	uint16_t slot, block;
	uint64_t number;
	const char *text;
};

/* An argument, or a field of the block that the place PARENT points to. */
struct place {
	const char *name;
	uint32_t at, bytes;
	uint16_t parent; /* MODEL_NONE: an argument */
	uint16_t first;  /* number of the first variant */
	struct value is;
	struct value *variant;
	unsigned variant_count;
};

/* The places that hold the position after the call, or the byte of the mapping. */
struct op_position {
	enum script_position_kind kind;
	uint16_t page, offset; /* MODEL_NONE: absent */
	uint32_t at;
};

struct op {
	char name[32];
	const struct schema_operation *schema;
	uint32_t call;
	unsigned instance;
	uint16_t slot;  /* of the result, or SCRIPT_NO_SLOT */
	uint8_t actors; /* mask of the actors that may do it */
	/* Masks of states. */
	uint64_t needs, gives, takes, may_take, guards, excludes;
	unsigned variant_count;
	unsigned place_count;
	struct place *place; /* arguments first */
	struct op_position position;
};

/* A guest boot parameter, and the place of the operation that it sets. */
struct run_word {
	const char *word;
	uint16_t place;
	uint64_t mask;
	uint32_t shift;
};

struct manifest {
	struct schema *schema;
	struct op *op;
	size_t op_count;
	char *slot[SCRIPT_SLOTS], *state[SCHEMA_STATES_MAX];
	unsigned slot_count, state_count;
	uint64_t initial; /* states */
	uint64_t traced;  /* states without which no thread is traced */
	uint64_t
	    guarded; /* states without which an operation fails with a known error */
	struct manifest_scenario *scenario;
	struct sequence *scenario_steps; /* of each */
	struct sequence_step *accepted, *refused;
	size_t accepted_count, refused_count;
	struct sequence *prefix;
	uint16_t configure; /* the operation of `topaz run`, or MODEL_NONE */
	struct run_word *word;
	unsigned word_count;
};

/* The variant NUMBER of OP, or NULL; *PLACE: the place of the variant. */
const struct value *op_variant(
    const struct op *op, unsigned number, unsigned *place);

/* The actor for OP: PREFERRED, or the next one that OP allows. */
uint8_t op_actor(const struct op *op, uint8_t preferred);

/* The value that STEP puts into PLACE of its operation. */
const struct value *step_value(
    const struct op *op, const struct sequence_step *step, unsigned place);
/* sequence/expect.c: the number in the field NAME of STEP's data; false: no number. */
bool step_number(const struct op *op, const struct sequence_step *step,
    const char *name, uint64_t *number);
/* True if STEP passes the block that contains PLACE to the call. */
bool step_reaches(
    const struct op *op, const struct sequence_step *step, unsigned place);
/* True if STEP uses the result in SLOT. */
bool step_uses(
    const struct op *op, const struct sequence_step *step, uint16_t slot);
/* True if STEP has a value that a correct driver refuses. */
bool step_is_invalid(const struct op *op, const struct sequence_step *step);

/* The states after STEP, if STATES held before it. */
uint64_t step_states(const struct manifest *manifest,
    const struct sequence_step *step, uint64_t states);

/*
 * Removes steps that cannot be done at their place: strict operations without the states
 * that they need, and steps after an operation that ends the program.  Returns the number
 * of steps removed.
 */
unsigned sequence_repair(
    const struct manifest *manifest, struct sequence *sequence);

/* The number of the actor's call NAME; 0: no such call. */
uint32_t call_number(const char *name);

#endif
