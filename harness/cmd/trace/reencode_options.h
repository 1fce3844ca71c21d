/*
 * The options of topaz reencode.
 */
#ifndef TOPAZ_HARNESS_CMD_TRACE_REENCODE_OPTIONS_H
#define TOPAZ_HARNESS_CMD_TRACE_REENCODE_OPTIONS_H

#include "traces/reencode/reencode.h"

#define REENCODE_IMAGES_MAX 256

struct reencode_input {
	const char *pt;     /* NULL: a bundle */
	const char *bundle; /* NULL: a file */
	const char *images[REENCODE_IMAGES_MAX];
	unsigned image_count;
	bool cpu_given, insn_class_given;
	struct reencode_options options;
};

/* Reads the command line; ends the process on bad usage. */
void reencode_parse(int argc, char **argv, struct reencode_input *input);

#endif
