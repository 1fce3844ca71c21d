/*
 * The manifest of a driver under test, NAME/driver.yaml in the folder ROOT: what it is, which
 * operations it has with which arguments, scenarios, and which MSR values an
 * accepted configuration asks for.  The format: harness/manifest/README.md.
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
	const char *settings; /* words for the guest, or "" */
	const char *steps;    /* a sequence, see below */
};

/*
 * -TZ_ENOENT: no such driver; -TZ_EFORMAT: FILE:LINE:COLUMN and the cause;
 * -TZ_EIO.  MANIFEST is to be freed only after success.
 */
int manifest_read(const char *root, const char *driver,
    struct manifest **manifest, struct tz_error *err);
void manifest_free(struct manifest *manifest);

const char *manifest_actor(const struct manifest *manifest); /* program */
/* Words for the guest under which generated sequences are meant to run. */
const char *manifest_settings(const struct manifest *manifest);
/* The INDEX-th invariant (its name) that the driver is not judged by, or NULL. */
const char *manifest_without(const struct manifest *manifest, size_t index);
/* The INDEX-th whole life of a session, a sequence, or NULL. */
const char *manifest_life(const struct manifest *manifest, size_t index);
/* What a call in the driver's code does: for `topaz mutate`. */
enum call_class {
	CALL_NONE,
	CALL_ASSERTION, /* says what has to hold: never changed */
	CALL_MESSAGE,   /* says what happens: never changed */
	CALL_LOCK,      /* begins what another call ends */
	CALL_SYNC,      /* orders or waits for what other CPUs do */
	CALL_PAUSE,     /* makes a waiting loop cheaper */
	CALL_CLASSES,
};
struct call_row {
	enum call_class class;
	const char *pattern; /* of names: fnmatch(3)'s */
	const char
	    *partner; /* of CALL_LOCK: the name of what ends it; else NULL */
};
/* The INDEX-th of the manifest's calls; false: there are no more. */
bool manifest_call(
    const struct manifest *manifest, size_t index, struct call_row *call);
size_t manifest_scenario_count(const struct manifest *manifest);
const struct manifest_scenario *manifest_scenario_at(
    const struct manifest *manifest, size_t index);
/* NULL: none of that name. */
const struct manifest_scenario *manifest_scenario(
    const struct manifest *manifest, const char *name);

/*
 * A sequence of operations.  As text: steps joined by '+', each
 * [ACTOR]OPERATION[.VARIANT]...[-], where ACTOR is a digit (absent: 0), a VARIANT
 * chooses another value of one argument than the default (the manifest numbers
 * them from 1), and '-' lets the next step begin at once.  Example:
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

/* -TZ_EUSAGE: names the step that is wrong and why. */
int sequence_parse(const struct manifest *manifest, const char *text,
    struct sequence *sequence, struct tz_error *err);
/* Does some step of SEQUENCE do the operation OP? */
bool sequence_has_op(const struct sequence *sequence, size_t op);
/* False: TEXT_SIZE is too small. */
bool sequence_format(const struct manifest *manifest,
    const struct sequence *sequence, char *text, size_t text_size);

/* The program's orders.  -TZ_EUSAGE: too much for one script. */
int sequence_script(const struct manifest *manifest,
    const struct sequence *sequence, unsigned cpu_count, struct script *script,
    struct tz_error *err);

/*
 * What `topaz run` hands over as the configuration: one step, as the manifest's key
 * "run" says, with the values of the words (KEY=VALUE, separated by spaces; the first
 * of a key counts) in its fields.  No step: the manifest says nothing.  -TZ_EUSAGE: a
 * word's value is no number, or too large for its field.
 */
int manifest_run_script(const struct manifest *manifest, const char *words,
    unsigned cpu_count, struct script *script, struct tz_error *err);
/* The INDEX-th word that it takes, or NULL. */
const char *manifest_run_word(const struct manifest *manifest, size_t index);

/* Does the driver support CPUs of which one lacks what another has? */
bool manifest_is_hybrid(const struct manifest *manifest);

/* Is there an operation that returns a position in a buffer? */
bool manifest_has_positions(const struct manifest *manifest);

/*
 * If step STEP configures tracing (and has succeeded), what the MSRs have to be:
 * the number of rows; else -1.  Where the sequence has configured other contexts
 * or buffers before, only what holds for all of them.
 */
int sequence_expect(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step,
    struct check_expect expect[CHECK_EXPECT_MAX]);

/* The same for step STEP alone. */
int sequence_expect_own(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step,
    struct check_expect expect[CHECK_EXPECT_MAX]);
/*
 * The context that step STEP works on, or makes: the number, from 1, of the step
 * that has made what its slot refers to, back to the first operation with instances.
 * 0: none, or it depends on the order of steps that run at once.
 */
unsigned sequence_context(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step);

/* What step STEP means to the judges of a run, if it succeeds. */
#define MANIFEST_CONFIGURES 1u /* see sequence_expect() */
#define MANIFEST_STARTS     2u /* tracing of the configured session */
#define MANIFEST_STOPS      4u
#define MANIFEST_UNLOADS    8u /* the driver is gone */
#define MANIFEST_REREADS \
 16u /* reports what a buffer holds, as often as asked */
#define MANIFEST_COLLECTS 32u  /* takes all that the driver reports */
#define MANIFEST_CHANGES  64u  /* gives or takes a state */
#define MANIFEST_REFUSES  128u /* invalid values, always */
unsigned sequence_flags(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step);

/*
 * The name of a value of step STEP for which a correct driver refuses it ("": an argument
 * without a name, or several); NULL: there is none, or the operation need not look at it.
 */
const char *sequence_refused(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step);
/*
 * Does step STEP succeed with a correct driver, where no other schedule than the default
 * is run?  It does where all steps so far are those of a scenario on so many CPUs with these
 * SETTINGS, with its values or others that the manifest says are accepted.
 */
bool sequence_succeeds(const struct manifest *manifest,
    const struct sequence *sequence, unsigned cpu_count, const char *settings,
    unsigned step);

/*
 * What step STEP fills in, and has to: the BYTES at AT of its first block of data, of which
 * MASK counts, moved down; of the right number that are BITS.
 */
enum answer_kind {
	ANSWER_UNKNOWN, /* nothing can be said */
	ANSWER_NUMBER,  /* .number */
	ANSWER_STATUS, /* IA32_RTIT_STATUS of CPU .instance when tracing went off */
	ANSWER_WRITTEN, /* its bytes since the start; if .per is not 0 divided by the
			   8 bytes there */
};
struct manifest_answer {
	const char *name;
	enum answer_kind kind;
	unsigned instance;
	uint32_t at, bytes, per;
	uint64_t number, mask, bits;
};
/* Row INDEX; FAILED: steps before that failed, one bit each.  False: there is no more. */
bool sequence_answer(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t failed,
    unsigned cpu_count, unsigned index, struct manifest_answer *answer);

size_t manifest_op_count(const struct manifest *manifest);
const char *manifest_op_name(const struct manifest *manifest, size_t op);
const char *manifest_op_title(const struct manifest *manifest, size_t op);
unsigned manifest_op_variants(const struct manifest *manifest, size_t op);

/*
 * Generated sequences, a function of RANK (and SEED beyond the exhaustive part)
 * alone: first every sequence of up to two operations, each with no variant or
 * one, on top of each of the manifest's prefixes, allowed or not; then every two
 * operations at once; then drawn ones by seed, mostly allowed ones.
 */
struct generator;
struct generator *generator_create(
    const struct manifest *manifest, unsigned cpu_count, uint64_t seed);
void generator_destroy(struct generator *generator);
/* How many ranks are the exhaustive part. */
uint64_t generator_exhaustive(const struct generator *generator);
/*
 * False: RANK names a sequence that an earlier rank names, too, or one that cannot
 * be run.  Among the drawn ones repeats are possible, though rare.
 */
bool generator_at(
    struct generator *generator, uint64_t rank, struct sequence *sequence);
/* A changed copy of FROM, by SEED: for guidance by coverage. */
void generator_mutate(struct generator *generator, const struct sequence *from,
    uint64_t seed, struct sequence *to);

/*
 * Whole lives in which two operations are done at once, by two actors: a step of
 * the life, and before it, without waiting, an operation of the same instance that
 * takes a result that the step takes, too, or ends the program; with no variant, or
 * a valid one if it configures.  Only what the step needs or gives is needed of the states.
 */
struct sequence_pairs {
	const struct manifest *manifest;
	const struct sequence *life; /* the caller's, valid all the time */
	unsigned step;               /* the next to be tried ... */
	size_t op;
	unsigned variant;
};
/* The next one; the two are steps FIRST and FIRST + 1.  False: there is no more. */
bool sequence_pairs_next(
    struct sequence_pairs *pairs, struct sequence *sequence, unsigned *first);

/* Whole lives with one step's values changed, to each single variant and to each that the
 * manifest accepts or refuses. */
struct sequence_values {
	const struct manifest *manifest;
	const struct sequence *life; /* the caller's, valid all the time */
	size_t life_count;
	size_t at; /* the life, and its step, of the last one: */
	unsigned step;
	size_t value; /* the next to be tried */
};
/* The next one.  False: there is no more. */
bool sequence_values_next(
    struct sequence_values *values, struct sequence *sequence);

/*
 * Whole lives that have more: first one after another, without the step that ends the
 * program in between; then with an operation that it has not, with each of its single
 * values, where that is allowed first; then each with one step's values changed; then each
 * with one operation more, at each place, allowed there or not.
 */
struct sequence_neighbours {
	struct sequence_values values; /* of these lives */
	size_t joined;                 /* the next to be tried ... */
	size_t foreign_life, foreign_op, foreign_value;
	size_t first; /* ... of operations more */
	unsigned position;
	size_t op;
};
/* The next one.  False: there is no more. */
bool sequence_neighbours_next(
    struct sequence_neighbours *neighbours, struct sequence *sequence);

/* The sequence without step STEP and what depends on its results. */
void sequence_drop(const struct manifest *manifest, const struct sequence *from,
    unsigned step, struct sequence *to);

#endif
