/*
 * The content of driver/NAME/driver.yaml, one member for each key; README.md has the
 * format.  Names are not resolved; only types, keys and numbers of entries are checked
 * here.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_SCHEMA_H
#define TOPAZ_HARNESS_MANIFEST_SCHEMA_H

#include "emu/base/base.h"
#include "harness/guest/user/script.h"

enum schema_cpus {
	SCHEMA_CPUS_NONE,
	SCHEMA_CPUS_ALL, /* a mask: all CPUs of the machine */
	SCHEMA_CPUS_ABSENT, /* a mask: the first CPU that the machine does not have */
	SCHEMA_CPUS_COUNT, /* the number of CPUs */
};

/* The value of a place: exactly one of these, and optionally "invalid". */
struct schema_value {
	uint64_t *value;
	char *slot; /* the last result of the operation with this "result" */
	char *data; /* the address of the block of that name */
	char *text; /* the address of the text; in a field: its characters */
	enum schema_cpus cpus;
	bool instance;  /* the number of the operation's instance */
	bool invalid;   /* a correct driver refuses it */
	uint32_t error; /* with this error; 0: that of schema_errors.invalid */
};

/* An argument, or a field of a block of data. */
struct schema_place {
	char *name;
	uint32_t at, bytes; /* of fields */
	struct schema_value is;
	struct schema_value *variants;
	uint32_t variants_count;
};

struct schema_block {
	char *name;
	uint32_t bytes;
	struct schema_place *fields;
	uint32_t fields_count;
};

/* The fields in which an operation returns the position in a buffer: see script.h. */
struct schema_at {
	char *page, *offset; /* fields */
	uint64_t *mapped;    /* or an offset in the mapped buffer */
};

/* The required value of a number that an operation fills in. */
enum schema_is {
	SCHEMA_IS_VALUE,   /* .value */
	SCHEMA_IS_CPUS,    /* the number of the machine's CPUs */
	SCHEMA_IS_GIVEN,   /* the field .name passed to the operation .of */
	SCHEMA_IS_STATUS,  /* IA32_RTIT_STATUS when TraceEn was cleared */
	SCHEMA_IS_WRITTEN, /* bytes of trace since the start */
};
struct schema_answer {
	char *name, *of;
	uint32_t at, bytes,
	    per; /* .per: divided by the 8 bytes at .per, if not 0 */
	enum schema_is is;
	uint64_t value;
	uint64_t *mask,
	    *bits; /* .mask: of the answer, .bits: of its value; NULL: all */
};

struct schema_operation {
	char *name, *title, *call, *result, *period;
	struct schema_at *position;
	struct schema_place *args;
	uint32_t args_count;
	char **needs, **gives, **takes, **may_take, **guards, **excludes;
	uint32_t needs_count, gives_count, takes_count, may_take_count,
	    guards_count, excludes_count;
	uint32_t *actors;
	uint32_t actors_count;
	struct schema_answer *answers;
	uint32_t answers_count;
	bool instances, strict, ends, configures, accumulates;
	bool starts, stops, unloads, rereads, collects, rare, refuses;
};

struct schema_scenario {
	char *name, *title, *settings, *steps;
	uint32_t cpus;
};

struct schema_condition {
	char *field;
	uint64_t mask, equals;
};

struct schema_msr {
	uint32_t msr, shift;
	uint64_t mask, add;
	char **fields;
	uint32_t fields_count;
	struct schema_condition *when, *unless;
};

/* The errors of operations; 0: not known. */
struct schema_errors {
	char **states; /* guards whose refusal is .guarded */
	uint32_t states_count;
	uint32_t guarded, invalid;
};

/* What a register has to be when tracing has stopped. */
struct schema_left {
	char *name;
	uint32_t msr;
	uint64_t *mask; /* absent: all bits */
	uint64_t value;
};

struct schema_default {
	char *key, *value;
};

/* A guest boot parameter, and the bits of the configuration that it sets. */
struct schema_word {
	char *word, *field;
	uint64_t *mask; /* absent: the whole field */
	uint32_t shift;
};

/* How `topaz run` configures. */
struct schema_run {
	char *configure; /* operation */
	struct schema_word *words;
	uint32_t words_count;
};

struct schema_call {
	char *name, *ends;
	uint32_t is; /* enum call_class of manifest.h */
};

struct schema {
	char *name, *like, *title, *os, *module, *tree_source, *owner, *actor,
	    *settings, *profile;
	char **sources, **parts, **modes, **instances, **initial, **traced,
	    **prefixes, **without, **stores_to, **lives, **words, **accepts,
	    **refuses;
	uint32_t accepts_count, refuses_count, words_count, sources_count,
	    parts_count, modes_count, instances_count, initial_count,
	    traced_count, prefixes_count, without_count, stores_to_count,
	    lives_count;
	bool hybrid, no_trace, atomic;
	uint32_t exit_code;
	char **include, **defines, **cflags; /* harness/flags.h */
	uint32_t include_count, defines_count, cflags_count;
	struct schema_default *defaults;
	uint32_t defaults_count;
	struct schema_run *run;
	struct schema_block *data;
	uint32_t data_count;
	struct schema_operation *operations;
	uint32_t operations_count;
	struct schema_scenario *scenarios;
	uint32_t scenarios_count;
	struct schema_msr *msrs;
	uint32_t msrs_count;
	struct schema_errors *errors;
	struct schema_left *leaves;
	uint32_t leaves_count;
	struct schema_call *calls;
	uint32_t calls_count;
};

/* The largest numbers of entries in a manifest. */
#define SCHEMA_SOURCES_MAX    32
#define SCHEMA_PARTS_MAX      16
#define SCHEMA_INCLUDE_MAX    16
#define SCHEMA_DEFINES_MAX    64
#define SCHEMA_CFLAGS_MAX     32
#define SCHEMA_WITHOUT_MAX    64
#define SCHEMA_LIVES_MAX      8
#define SCHEMA_ACCEPTS_MAX    64
#define SCHEMA_DEFAULTS_MAX   16
#define SCHEMA_WORDS_MAX      32
#define SCHEMA_SETTINGS_MAX   127 /* characters */
#define SCHEMA_BLOCKS_MAX     64
#define SCHEMA_FIELDS_MAX     48
#define SCHEMA_VARIANTS_MAX   32
#define SCHEMA_OPERATIONS_MAX 64
#define SCHEMA_INSTANCES_MAX  4
#define SCHEMA_STATES_MAX     64
#define SCHEMA_SCENARIOS_MAX  64
#define SCHEMA_MSRS_MAX       64
#define SCHEMA_PREFIXES_MAX   16
#define SCHEMA_CALLS_MAX      64
#define SCHEMA_ANSWERS_MAX    32
#define SCHEMA_TEXT_MAX       512

/*
 * The content of the file PATH; the caller frees it.  NULL: it cannot be read, and ERR
 * says why.
 */
char *schema_text(const char *path, size_t *text_bytes, struct tz_error *err);

/*
 * Reads TEXT, the content of PATH (NAME/driver.yaml), and the manifest beside it
 * that it is like.  -TZ_EFORMAT: one of them is not in the format of README.md, with
 * its path, line, column and the cause.  The caller frees *SCHEMA with
 * schema_free(), only after success.
 */
int schema_load(const char *path, const char *text, size_t text_bytes,
    struct schema **schema, struct tz_error *err);
void schema_free(struct schema *schema);

#endif
