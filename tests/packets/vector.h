/*
 * A test vector while it is read: a unit in its fake machine, what the file told
 * it to do, and what the file says must come of it.  README.md has the format.
 */
#ifndef TOPAZ_TESTS_PACKETS_VECTOR_H
#define TOPAZ_TESTS_PACKETS_VECTOR_H

#include "tests/unit/pt/fake.h"

#define VECTOR_WORDS_MAX 32
#define VECTOR_TEXT_MAX  32768
#define VECTOR_TOPA_MAX  8

/* One line, cut at its blanks. */
struct words {
	char *word[VECTOR_WORDS_MAX];
	size_t count;
	size_t next; /* the first that was not used yet */
};

struct vector {
	const char *path;
	unsigned line;
	bool failed; /* a cause was printed already */

	struct fake *fake;
	uint64_t ctl; /* what `start` writes, TraceEn aside */
	size_t topa_count;
	uint8_t image[PT_XSTATE_BYTES];

	char packets[VECTOR_TEXT_MAX], decode[VECTOR_TEXT_MAX];
	char bytes[VECTOR_TEXT_MAX]; /* in hexadecimal; "": not compared */
	bool undecoded;              /* libipt does not know these packets */
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
