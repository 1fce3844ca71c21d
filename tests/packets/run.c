/*
 * Goal: every row of the specification's tables of events and packets, as it stands
 * there, is what the unit sends and what libipt makes of it. Method: each .ptv file
 * of a folder that has no guest code is played on a fresh unit; its packets, read by a
 * reader of our own, by libipt and, where the file says so, byte for byte, and its
 * decode are compared with what the file expects; then every name of rows.txt and of
 * the reader's table must have had a vector.
 * usage: run FOLDER
 */
#include <stdio.h>

#include "tests/packets/suite.h"
#include "tests/unit/pt/event_text.h"

static void
begin(struct vector *vector)
{
	if (vector->cpus != 1)
		vector_fail(vector, "a unit is one CPU's");
}

static const uint8_t *
stream(struct vector *vector, unsigned cpu, size_t *bytes)
{
	(void)cpu;
	pt_unit_sync_output(vector->fake->unit);
	*bytes = vector->fake->stream_bytes;
	return vector->fake->stream;
}

static char *
decode(struct vector *vector, unsigned cpu)
{
	const struct fake *fake = vector->fake;

	(void)cpu;
	return event_text_read(fake->stream, fake->stream_bytes,
	    fake->profile.errata_on ? fake->profile.signature : 0);
}

int
main(int argc, char **argv)
{
	static const struct suite_player player = {
		.begin = begin,
		.event = vector_event,
		.stream = stream,
		.decode = decode,
	};

	if (argc != 2) {
		printf("usage: run FOLDER\n");
		return 2;
	}
	return suite_play(argv[1], &player);
}
