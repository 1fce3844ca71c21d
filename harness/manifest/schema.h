/*
 * driver/NAME/driver.yaml as it is written, member for member: the format is
 * README.md's.  Names are still text and refer to nothing yet; only the types,
 * the keys and the numbers of entries are checked here.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_SCHEMA_H
#define TOPAZ_HARNESS_MANIFEST_SCHEMA_H

#include "emu/base/base.h"
#include "harness/guest/user/script.h"

enum schema_cpus {
	SCHEMA_CPUS_NONE,
	SCHEMA_CPUS_ALL,    /* a mask: all CPUs of the machine */
	SCHEMA_CPUS_ABSENT, /* a mask: the first CPU that it does not have */
	SCHEMA_CPUS_COUNT,  /* how many it has */
};

/* What is put in a place: one of these, and "invalid" beside it. */
struct schema_value {
	uint64_t *value;
	char *slot; /* what an operation's result: named so */
	char *data; /* the address of the block of that name */
	char *text; /* its address; in a field: the characters */
	enum schema_cpus cpus;
	bool instance; /* the number of the operation's instance */
	bool invalid;  /* a correct driver refuses it */
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

/* Where an operation leaves the position in a buffer: see script.h. */
struct schema_at {
	char *page, *offset; /* fields */
	uint64_t *mapped;    /* or a byte of the mapped buffer */
};

/* What a number that an operation fills in has to be. */
enum schema_is {
	SCHEMA_IS_VALUE,   /* .value */
	SCHEMA_IS_CPUS,    /* how many the machine has */
	SCHEMA_IS_GIVEN,   /* the field .name that the operation .of got */
	SCHEMA_IS_STATUS,  /* IA32_RTIT_STATUS when tracing went off */
	SCHEMA_IS_WRITTEN, /* bytes of trace since the start */
};
struct schema_answer {
	char *name, *of;
	uint32_t at, bytes,
	    per; /* .per: divided by the 8 bytes there, if not 0 */
	enum schema_is is;
	uint64_t value;
	uint64_t *mask,
	    *bits; /* of the answer, of what it has to be; NULL: all */
};

struct schema_operation {
	char *name, *title, *call, *result;
	struct schema_at *position;
	struct schema_place *args;
	uint32_t args_count;
	char **needs, **gives, **takes;
	uint32_t needs_count, gives_count, takes_count;
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

struct schema_default {
	char *key, *value;
};

/* A word for the guest, and the bits of the configuration that it sets. */
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
	char *name, *title, *os, *module, *tree_source, *owner, *actor,
	    *settings;
	char **sources, **modes, **instances, **initial, **prefixes, **without,
	    **lives, **words, **accepts, **refuses;
	uint32_t accepts_count, refuses_count, words_count, sources_count,
	    modes_count, instances_count, initial_count, prefixes_count,
	    without_count, lives_count;
	bool hybrid;
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
	struct schema_call *calls;
	uint32_t calls_count;
};

/* Entries that a manifest may have. */
#define SCHEMA_SOURCES_MAX    32
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
 * The content of the file PATH, to be freed.  NULL: it cannot be read, and ERR
 * says why.
 */
char *schema_text(const char *path, size_t *text_bytes, struct tz_error *err);

/*
 * TEXT, which is in PATH, NAME/driver.yaml.  -TZ_EFORMAT: it is not as README.md says;
 * PATH:LINE:COLUMN and why.  Freed by schema_free after success only.
 */
int schema_load(const char *path, const char *text, size_t text_bytes,
    struct schema **schema, struct tz_error *err);
void schema_free(struct schema *schema);

#endif
