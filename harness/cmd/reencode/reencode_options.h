/*
 * The options of topaz reencode.
 */
#ifndef TOPAZ_HARNESS_CMD_REENCODE_REENCODE_OPTIONS_H
#define TOPAZ_HARNESS_CMD_REENCODE_REENCODE_OPTIONS_H

#include "harness/cmd/reencode/reencode_one.h"

#define REENCODE_IMAGES_MAX 256
#define REENCODE_SYMFS_MAX  16

struct reencode_input {
	/* One of the three is not NULL. */
	const char *pt;
	const char *bundle;
	const char *perf;        /* the first of .images, too */
	const char *recorded_in; /* the bundle of topaz record; NULL: none */
	char recorded[4096];     /* its perf.data */
	const char *images[REENCODE_IMAGES_MAX];
	unsigned image_count;
	bool cpu_given, form_given;
	struct reencode_output output;
	const char *page; /* a file; NULL: none */
	/* Of a perf.data: the folders of mapped files, the queue. */
	const char *symfs[REENCODE_SYMFS_MAX];
	unsigned symfs_count;
	bool queue_cpu_given, queue_tid_given;
	uint32_t queue_cpu, queue_tid;
	struct reencode_options options;
};

/* Reads the command line; ends the process on bad usage. */
void reencode_parse(int argc, char **argv, struct reencode_input *input);

#endif
