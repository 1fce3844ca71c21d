/*
 * The manifest of a driver under test, NAME/driver.yaml in the folder ROOT: the driver's
 * properties, its operations with their arguments, scenarios, and the MSR values that an
 * accepted configuration requires.  Format: harness/manifest/README.md.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_MANIFEST_H
#define TOPAZ_HARNESS_MANIFEST_MANIFEST_H

#include "emu/base/base.h"
#include "harness/check/check.h"
#include "harness/guest/user/script.h"

struct manifest;

struct manifest_scenario {
	const char *name; /* unique across drivers */
	const char *title;
	unsigned cpus;
	const char *settings; /* guest boot parameters, or "" */
	const char *steps;    /* a sequence, see below */
};

/*
 * -TZ_ENOENT: no such driver; -TZ_EFORMAT: FILE:LINE:COLUMN and the cause;
 * -TZ_EIO.  The caller frees *MANIFEST only after success.
 */
int manifest_read(const char *root, const char *driver,
    struct manifest **manifest, struct tz_error *err);
void manifest_free(struct manifest *manifest);

const char *manifest_actor(const struct manifest *manifest); /* program */
/* Guest boot parameters for generated sequences. */
const char *manifest_settings(const struct manifest *manifest);
/* The INDEX-th of the key's list, or NULL: harness/manifest/README.md. */
const char *manifest_without(const struct manifest *manifest, size_t index);
const char *manifest_stores_to(const struct manifest *manifest, size_t index);
const char *manifest_life(const struct manifest *manifest, size_t index);
/* What a call in the driver's code does: for `topaz mutate`. */
enum call_class {
	CALL_NONE,
	CALL_ASSERTION, /* never mutated */
	CALL_MESSAGE,   /* prints or logs; never mutated */
	CALL_LOCK,      /* begins a section that another call ends */
	CALL_SYNC,      /* orders memory accesses, or waits for other CPUs */
	CALL_PAUSE,     /* a hint in a waiting loop */
	CALL_CLASSES,
};
struct call_row {
	enum call_class class;
	const char *pattern; /* for names, as of fnmatch(3) */
	const char
	    *partner; /* of CALL_LOCK: name of the unlocking call; else NULL */
};
/* The INDEX-th of the manifest's "calls"; false: no more. */
bool manifest_call(
    const struct manifest *manifest, size_t index, struct call_row *call);
size_t manifest_scenario_count(const struct manifest *manifest);
const struct manifest_scenario *manifest_scenario_at(
    const struct manifest *manifest, size_t index);
/* NULL: no scenario has that name. */
const struct manifest_scenario *manifest_scenario(
    const struct manifest *manifest, const char *name);

/*
 * A sequence of operations.  As text: steps joined by '+', each
 * [ACTOR]OPERATION[.VARIANT]...[-], where ACTOR is a digit (absent: 0), a VARIANT
 * replaces the default value of one argument (the manifest numbers variants from 1), and
 * '-' lets the next step begin before this one has ended.  Example:
 * "load+open+alloc.2+config+start+work+1work-+stop+close".
 */
#define SEQUENCE_VARIANTS_MAX 3
struct sequence_step {
	uint16_t op; /* index into the manifest's operations */
	uint8_t actor;
	bool async;
	uint8_t variant_count;
	uint16_t variant[SEQUENCE_VARIANTS_MAX];
};
struct sequence {
	unsigned count;
	struct sequence_step step[SCRIPT_STEPS_MAX];
};

/* -TZ_EUSAGE: a step is wrong; the message names the step and the cause. */
int sequence_parse(const struct manifest *manifest, const char *text,
    struct sequence *sequence, struct tz_error *err);
/* True if a step of SEQUENCE does the operation OP. */
bool sequence_has_op(const struct sequence *sequence, size_t op);
/* False: TEXT_SIZE is too small. */
bool sequence_format(const struct manifest *manifest,
    const struct sequence *sequence, char *text, size_t text_size);

/* Makes the script that the guest program runs.  -TZ_EUSAGE: too large for one script. */
int sequence_script(const struct manifest *manifest,
    const struct sequence *sequence, unsigned cpu_count, struct script *script,
    struct tz_error *err);

/*
 * The configuration of `topaz run` as a script of one step: the operation of the
 * manifest's key "run", with its fields set from the boot parameters WORDS (KEY=VALUE,
 * separated by spaces; the first of a key counts).  The script has no step if the manifest
 * has no "run".  -TZ_EUSAGE: a value is not a number, or too large for its field.
 */
int manifest_run_script(const struct manifest *manifest, const char *words,
    unsigned cpu_count, struct script *script, struct tz_error *err);
/* The INDEX-th boot parameter that manifest_run_script() uses, or NULL. */
const char *manifest_run_word(const struct manifest *manifest, size_t index);

/* True if the driver supports CPUs with different features. */
bool manifest_is_hybrid(const struct manifest *manifest);
/* With which the program may end besides 0: a signal of the driver's, plus 128; 0: none. */
unsigned manifest_exit_code(const struct manifest *manifest);
/* True if an operation that fails leaves the data that it was handed as they were. */
bool manifest_is_atomic(const struct manifest *manifest);
/* What registers have to be when tracing has stopped; returns the number of rows. */
size_t manifest_leaves(const struct manifest *manifest,
    struct check_expect expect[CHECK_EXPECT_MAX]);

/* True if an operation returns a position in a buffer. */
bool manifest_has_positions(const struct manifest *manifest);

/*
 * If step STEP configures tracing and has succeeded: the required MSR values.  Returns
 * the number of rows; -1: the step does not configure.  If the sequence has configured
 * other contexts or buffers before, only the rows that hold for all of them.
 */
int sequence_expect(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step,
    struct check_expect expect[CHECK_EXPECT_MAX]);

/* The same for step STEP alone. */
int sequence_expect_own(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step,
    struct check_expect expect[CHECK_EXPECT_MAX]);
/*
 * The context that step STEP uses or makes.  A context is the number, from 1, of the step
 * that made the object in the slot, followed through slots back to the first operation
 * with instances.  0: no context, or it depends on the order of concurrent steps.
 */
unsigned sequence_context(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step);

/* Flags of step STEP for the checks of a run; they apply if the step succeeds. */
#define MANIFEST_CONFIGURES 1u /* see sequence_expect() */
#define MANIFEST_STARTS     2u /* tracing of the configured session */
#define MANIFEST_STOPS      4u
#define MANIFEST_UNLOADS    8u  /* unloads the driver */
#define MANIFEST_REREADS    16u /* a buffer's content; may repeat bytes */
#define MANIFEST_COLLECTS   32u /* collects all trace that the driver reports */
#define MANIFEST_CHANGES    64u /* gives or takes a state */
#define MANIFEST_REFUSES    128u /* always refuses invalid values */
#define MANIFEST_TAKES      256u /* takes a state */
unsigned sequence_flags(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step);

/* *EVENTS: the period that step STEP gives a counter.  False: it gives none. */
bool sequence_period(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t *events);

/*
 * The name of a value in step STEP that a correct driver refuses; "": an argument without
 * a name, or several values.  NULL: no such value, or the operation need not check it.
 */
const char *sequence_refused(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step);
/*
 * The name of a state for which a correct driver refuses step STEP: it guards the operation
 * and does not hold, or excludes it and does (*HOLDS).  FAILED: bits of earlier steps.
 * NULL: none, or it depends on other actors or on a local call that failed.
 */
const char *sequence_guard(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t failed,
    bool *holds);
/* True if a thread is traced at step STEP: the states of `traced` hold for certain. */
bool sequence_is_traced(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t failed);
/* The error with which step STEP has to fail, of a state that guards it or of an invalid
 * value.  0: none, or not known. */
uint32_t sequence_error(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t failed);
/*
 * True if step STEP must succeed with a correct driver in the default schedule.  This
 * holds if all steps so far are those of a scenario on CPU_COUNT CPUs with these SETTINGS,
 * each with the scenario's values or with values that the manifest "accepts".
 */
bool sequence_succeeds(const struct manifest *manifest,
    const struct sequence *sequence, unsigned cpu_count, const char *settings,
    unsigned step);

/*
 * A number that step STEP fills in, and its required value.  The answer is the .bytes at
 * .at of the step's first block of data, masked with .mask and shifted down to bit 0.  It
 * has to equal the required number, masked with .bits and shifted down likewise.
 */
enum answer_kind {
	ANSWER_UNKNOWN, /* the required value is not known */
	ANSWER_NUMBER,  /* .number */
	ANSWER_STATUS, /* IA32_RTIT_STATUS of CPU .instance when TraceEn was cleared */
	ANSWER_WRITTEN, /* bytes that CPU .instance wrote since the start; if .per is not
			   0, divided by the 8 bytes at .per */
};
struct manifest_answer {
	const char *name;
	enum answer_kind kind;
	unsigned instance;
	uint32_t at, bytes, per;
	uint64_t number, mask, bits;
};
/* Row INDEX; FAILED: bit mask of earlier steps that failed.  False: no more rows. */
bool sequence_answer(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t failed,
    unsigned cpu_count, unsigned index, struct manifest_answer *answer);

size_t manifest_op_count(const struct manifest *manifest);
const char *manifest_op_name(const struct manifest *manifest, size_t op);
const char *manifest_op_title(const struct manifest *manifest, size_t op);
unsigned manifest_op_variants(const struct manifest *manifest, size_t op);

/*
 * Generated sequences.  A sequence depends only on RANK, and beyond the exhaustive part
 * also on SEED.  First come all sequences of up to two operations after each of the
 * manifest's prefixes, each operation with at most one variant, whether its states allow
 * it or not; then all pairs of concurrent operations; then random sequences, in most of
 * which the states allow each operation.
 */
struct generator;
struct generator *generator_create(
    const struct manifest *manifest, unsigned cpu_count, uint64_t seed);
void generator_destroy(struct generator *generator);
/* The number of ranks in the exhaustive part. */
uint64_t generator_exhaustive(const struct generator *generator);
/*
 * False: the sequence of RANK is that of an earlier rank, or cannot be run.  Random
 * sequences may repeat, but rarely do.
 */
bool generator_at(
    struct generator *generator, uint64_t rank, struct sequence *sequence);
/* A mutated copy of FROM, by SEED: for coverage-guided search. */
void generator_mutate(struct generator *generator, const struct sequence *from,
    uint64_t seed, struct sequence *to);

/*
 * Lives with a pair of concurrent operations by two actors.  One is a step of the life.
 * The other is inserted before it, without waiting for its end: an operation of the same
 * instance that uses a result which the step also uses, or that ends the program.  It has
 * no variant, or a valid one if it configures.  The states that hold after the step must
 * include the states that the operation needs.
 */
struct sequence_pairs {
	const struct manifest *manifest;
	const struct sequence *life; /* owned by the caller */
	unsigned step;               /* the next pair to try */
	size_t op;
	unsigned variant;
};
/* The next one; the pair is steps FIRST and FIRST + 1.  False: no more. */
bool sequence_pairs_next(
    struct sequence_pairs *pairs, struct sequence *sequence, unsigned *first);

/*
 * Lives with one step's values changed: to each single variant, and to each entry of the
 * manifest's "accepts" and "refuses".
 */
struct sequence_values {
	const struct manifest *manifest;
	const struct sequence *life; /* owned by the caller */
	size_t life_count;
	size_t at;     /* index of the life of the last result */
	unsigned step; /* its step that was changed */
	size_t value;  /* the next value to try */
};
/* The next one.  False: no more. */
bool sequence_values_next(
    struct sequence_values *values, struct sequence *sequence);

/*
 * Lives that are extended or changed, in this order: two lives, without the step between
 * them that ends the program; a life with an operation that it does not contain, at the
 * last place where the states allow it, if that is not the first; the same at the first,
 * as it is (if that is not the beginning) and with each single value; with one step's
 * values changed; with one more operation anywhere, whether the states allow it or not.
 */
struct sequence_neighbours {
	struct sequence_values values; /* of these lives */
	size_t joined;                 /* the next pair of lives to try */
	size_t late_life, late_op;
	size_t foreign_life, foreign_op, foreign_value;
	size_t first; /* the next additional operation to try: its life */
	unsigned position;
	size_t op;
};
/* The next one.  False: no more. */
bool sequence_neighbours_next(
    struct sequence_neighbours *neighbours, struct sequence *sequence);

/* FROM without step STEP and without the steps that use its results. */
void sequence_drop(const struct manifest *manifest, const struct sequence *from,
    unsigned step, struct sequence *to);

#endif
