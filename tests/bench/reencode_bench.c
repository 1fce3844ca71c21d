/*
 * How fast a captured trace is made again: CPU time of reencode_trace() against
 * that of libipt's block decoder alone over the same bytes and image, each with
 * caches that are empty at first and in a process of its own, in turns, the shortest
 * of all passes.  With -o, one of the two, once: for a tool that counts instructions.
 * usage: reencode_bench [-p PASSES] [-o libipt|again] [-c CTL] [-r A-B]
 *     [-s SIGNATURE] TRACE SPEC...
 * CTL, A-B (a filter range) and SIGNATURE in hexadecimal; SPEC: as --image.
 */
#define _GNU_SOURCE /* getopt */

#include "tests/bench/bare.h"
#include "traces/reencode/reencode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PASSES    100
#define SIGNATURE 0x506e3

/* What is measured. */
struct work {
	uint8_t *bytes;
	uint64_t count;
	uint32_t signature;
	bool ctl_given;
	uint64_t ctl;
	struct decode_filter filter;
	char **specs;
	int spec_count;
};

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static struct memory_image *
load(const struct work *work)
{
	struct memory_image *memory_image = memory_image_create();
	struct tz_error err = { "out of memory" };
	int error = memory_image == NULL ? -TZ_EIO : 0;

	for (int i = 0; error == 0 && i < work->spec_count; i++)
		error = memory_image_add(memory_image, work->specs[i], &err);
	if (error == 0 && memory_image_image(memory_image, &err) != NULL)
		return memory_image;
	printf("%s\n", err.text);
	exit(77);
}

/* Seconds of libipt's decoder over the trace, with PIECES as they are. */
static __attribute__((noinline)) double
libipt(const struct work *work, struct memory_image *memory_image)
{
	struct tz_error err;
	struct decode_config config = { .bytes = work->bytes,
		.count = (size_t)work->count,
		.signature = work->signature,
		.filter = &work->filter,
		.image = memory_image_image(memory_image, &err) };
	double start = now();

	if (bare_blocks(&config) == 0)
		exit(1);
	return now() - start;
}

static __attribute__((noinline)) double
again(const struct work *work, struct memory_image *memory_image)
{
	struct reencode_options options = {
		.profile = profile_of_signature(work->signature),
		.signature = work->signature,
		.form = COMPARE_BYTES,
		.ctl_given = work->ctl_given,
		.ctl = work->ctl,
		.filter_given = true,
		.filter = work->filter,
	};
	struct reencode_result *result = calloc(1, sizeof(*result));
	struct tz_error err = { "" };
	double start = now();

	if (result == NULL ||
	    reencode_trace(work->bytes, work->count, memory_image, &options,
		result, &err) != 0) {
		printf("%s\n", err.text);
		exit(1);
	}
	start = now() - start;
	if (!result->equal) {
		reencode_print(result, work->bytes, stdout);
		exit(1);
	}
	reencode_result_free(result);
	free(result);
	return start;
}

static double
run(const struct work *work,
    double (*way)(const struct work *work, struct memory_image *memory_image))
{
	struct memory_image *memory_image = load(work);
	double seconds = way(work, memory_image);

	memory_image_destroy(memory_image);
	return seconds;
}

/* The same in a process of its own: none has memory that the other has paid for. */
static double
run_apart(const struct work *work,
    double (*way)(const struct work *work, struct memory_image *memory_image))
{
	double seconds = 0;
	int ends[2], status;
	pid_t child;

	fflush(stdout);
	if (pipe(ends) != 0 || (child = fork()) < 0) {
		perror("reencode_bench");
		exit(1);
	}
	if (child == 0) {
		seconds = run(work, way);
		exit(write(ends[1], &seconds, sizeof(seconds)) !=
		    sizeof(seconds));
	}
	close(ends[1]);
	if (waitpid(child, &status, 0) != child || status != 0 ||
	    read(ends[0], &seconds, sizeof(seconds)) != sizeof(seconds))
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	close(ends[0]);
	return seconds;
}

/* The shorter of two, the first of which is 0 at first. */
static double
shortest(double before, double seconds)
{
	return before == 0 || seconds < before ? seconds : before;
}

static void
usage(void)
{
	fprintf(stderr,
	    "usage: reencode_bench [-p PASSES] [-o libipt|again] [-c CTL] "
	    "[-r A-B] [-s SIGNATURE] TRACE SPEC...\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	struct work work = { .signature = SIGNATURE };
	double alone_s = 0, again_s = 0;
	const char *only = "";
	unsigned passes = PASSES;
	struct tz_error err;
	int option;

	while ((option = getopt(argc, argv, "p:o:c:r:s:")) != -1) {
		if (option == 'p')
			passes = (unsigned)strtoul(optarg, NULL, 0);
		else if (option == 'o')
			only = optarg;
		else if (option == 'c')
			work.ctl_given = sscanf(optarg, "%" SCNx64, &work.ctl);
		else if (option == 's')
			work.signature = (uint32_t)strtoul(optarg, NULL, 16);
		else if (option == 'r' &&
		    sscanf(optarg, "%" SCNx64 "-%" SCNx64, &work.filter.a[0],
			&work.filter.b[0]) == 2)
			work.filter.config = 1;
		else
			usage();
	}
	if (argc - optind < 2 || passes == 0)
		usage();
	work.specs = argv + optind + 1;
	work.spec_count = argc - optind - 1;
	if (memory_image_read(argv[optind], &work.bytes, &work.count, &err) !=
	    0) {
		printf("%s\n", err.text);
		return 77;
	}
	for (unsigned pass = 0; *only == '\0' && pass < passes; pass++) {
		alone_s = shortest(alone_s, run_apart(&work, libipt));
		again_s = shortest(again_s, run_apart(&work, again));
	}
	if (strcmp(only, "libipt") == 0)
		alone_s = run(&work, libipt);
	if (strcmp(only, "again") == 0)
		again_s = run(&work, again);
	printf("libipt's blocks alone: %.2f ms, made again: %.2f ms, ratio "
	       "%.2f\n",
	    alone_s * 1e3, again_s * 1e3, alone_s / again_s);
	free(work.bytes);
	return 0;
}
