/*
 * A folder of vectors, played one after the other: what is common to those that tell
 * a unit of events and to those whose guest code a machine runs.
 */
#ifndef TOPAZ_TESTS_PACKETS_SUITE_H
#define TOPAZ_TESTS_PACKETS_SUITE_H

#include "tests/packets/vector.h"

/*
 * How vectors are played.  A player fails a vector by vector_fail().
 *
 * code: the files with a section `code`, and the rows of rows.txt named "code-...";
 *   otherwise all others.
 * begin: the state is known.
 * event: a line of `events`.
 * end: no more events come; NULL: nothing is to be done.
 * stream: what CPU sent, *BYTES of it; CPU is below the vector's .cpus.
 * decode: what libipt makes of that stream, words between blanks, to be freed.
 * destroy: for each vector, also where the others were not called; may be NULL.
 */
struct suite_player {
	bool code;
	void (*begin)(struct vector *vector);
	void (*event)(struct vector *vector, struct words *words);
	void (*end)(struct vector *vector);
	const uint8_t *(*stream)(
	    struct vector *vector, unsigned cpu, size_t *bytes);
	char *(*decode)(struct vector *vector, unsigned cpu);
	void (*destroy)(struct vector *vector);
};

/*
 * Plays the vectors of FOLDER; prints what fails, what had no vector and a summary.
 * The program's exit code.
 */
int suite_play(const char *folder, const struct suite_player *player);

#endif
