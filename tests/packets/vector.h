/*
 * A test vector while it is read: the state that the file asks for, what is to
 * happen, and what the file says must come of it.  README.md has the format.
 */
#ifndef TOPAZ_TESTS_PACKETS_VECTOR_H
#define TOPAZ_TESTS_PACKETS_VECTOR_H

#include "tests/unit/pt/fake.h"

#define VECTOR_WORDS_MAX 32
#define VECTOR_TEXT_MAX  32768
#define VECTOR_TOPA_MAX  8

/* The parts of a file, in their order. */
enum vector_section {
	VECTOR_STATE,
	VECTOR_CODE,
	VECTOR_EVENTS,
	VECTOR_STREAM,
	VECTOR_PACKETS,
	VECTOR_LIBIPT,
	VECTOR_DECODE,
	VECTOR_BYTES,
	VECTOR_SECTIONS,
};

/* One line, cut at its blanks. */
struct words {
	char *word[VECTOR_WORDS_MAX];
	size_t count;
	size_t next; /* the first that was not used yet */
};

struct vector {
	const char *path;
	unsigned line;
	unsigned section_line[VECTOR_SECTIONS]; /* where each begins */
	bool failed; /* a cause was printed already */

	struct fake *fake;
	uint64_t ctl; /* what `start` writes, TraceEn aside */
	size_t topa_count;
	uint8_t image[PT_XSTATE_BYTES];
	struct pt_cycles cycles; /* the unit's bounded buffer, if it has one */
	unsigned cpus;           /* of the machine that runs guest code */
	bool at_changed;         /* `ip` or `cpu` said where execution stands */
	bool begun;              /* the part before `events` is over */
	void *arg;               /* the player's own */

	char packets[VECTOR_TEXT_MAX], decode[VECTOR_TEXT_MAX];
	char libipt[VECTOR_TEXT_MAX]; /* packets it reads; "": as ours */
	char bytes[VECTOR_TEXT_MAX];  /* in hexadecimal; "": not compared */
	bool undecoded;               /* libipt does not know these packets */
};

/*
 * Reports "path:line: cause", once a vector; what follows in the file is not looked
 * at any more.
 */
void vector_fail(struct vector *vector, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The next word, or NULL; fails the vector where there is none. */
const char *vector_word(struct vector *vector, struct words *words);

/*
 * The next word as a hexadecimal or decimal number of at most MOST; fails the
 * vector and returns 0 where it is none.
 */
uint64_t vector_hex(struct vector *vector, struct words *words, uint64_t most);
uint64_t vector_decimal(
    struct vector *vector, struct words *words, uint64_t most);

/* The number after "=" of the word "KEY=NUMBER". */
uint64_t vector_value(struct vector *vector, const char *word, int base);

/*
 * Reads the vector's file: OBEY gets each line of STATE, EVENTS and STREAM, and, with
 * WORDS NULL, each section as it begins; what is expected goes into VECTOR, and the
 * lines of CODE are the assembler's.
 */
void vector_read(struct vector *vector,
    void (*obey)(void *arg, struct vector *vector, enum vector_section section,
	struct words *words),
    void *arg);

/* Obeys a line of the part before `events`.  state.c */
void vector_state(struct vector *vector, struct words *words);

/* What is set once all lines of state are known. */
void vector_state_done(struct vector *vector);

/* Obeys a line of `stream`: bytes from the encoder alone.  stream.c */
void vector_stream(struct vector *vector, struct words *words);

/* Obeys a line of `events`.  events.c */
void vector_event(struct vector *vector, struct words *words);

/* Obeys it if it is a control transfer; false: it is none.  transfers.c */
bool vector_transfer(
    struct vector *vector, const char *name, struct words *words);

/* Changes AT as the word CHANGE ("cpl=3") says; false: it is none.  state.c */
bool vector_context(
    struct vector *vector, struct pt_context *at, const char *change);

#endif
