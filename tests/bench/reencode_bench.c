/*
 * How fast a captured trace is made again: CPU time of reencode_trace() against
 * that of libipt's block decoder alone over the same bytes and image, each with
 * caches that are empty at first.
 * usage: reencode_bench TRACE A-B|- SPEC...: filter range, memory as --image
 */
#include "traces/reencode/reencode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PASSES    20
#define SIGNATURE 0x506e3

/* What is measured. */
struct work {
	uint8_t *bytes;
	uint64_t count;
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

static struct pieces *
load(const struct work *work)
{
	struct pieces *pieces = pieces_create();
	struct tz_error err = { "out of memory" };
	int error = pieces == NULL ? -TZ_EIO : 0;

	for (int i = 0; error == 0 && i < work->spec_count; i++)
		error = pieces_add(pieces, work->specs[i], &err);
	if (error == 0 && pieces_image(pieces, &err) != NULL)
		return pieces;
	printf("%s\n", err.text);
	exit(77);
}

/* Seconds of libipt's decoder over the trace, with PIECES as they are. */
static double
decode(const struct work *work, struct pieces *pieces)
{
	struct tz_error err;
	struct decode_config config = { .bytes = work->bytes,
		.count = (size_t)work->count,
		.signature = SIGNATURE,
		.filter = &work->filter,
		.image = pieces_image(pieces, &err) };
	struct recover *recover = recover_create(&config);
	struct recover_item item = { .kind = RECOVER_SYNC };
	uint64_t insns = 0;
	double start = now();

	while (recover != NULL && item.kind != RECOVER_END) {
		recover_next(recover, &item);
		insns += item.insns;
	}
	start = now() - start;
	recover_destroy(recover);
	if (insns == 0)
		exit(1);
	return start;
}

static double
remake(const struct work *work, struct pieces *pieces)
{
	struct reencode_options options = {
		.profile = reencode_nearest(SIGNATURE),
		.signature = SIGNATURE,
		.form = COMPARE_BYTES,
		.filter_given = true,
		.filter = work->filter,
	};
	struct reencode_result *result = calloc(1, sizeof(*result));
	struct tz_error err;
	double start = now();

	if (result == NULL ||
	    reencode_trace(work->bytes, work->count, pieces, &options, result,
		&err) != 0 ||
	    !result->equal)
		exit(1);
	start = now() - start;
	reencode_result_free(result);
	free(result);
	return start;
}

int
main(int argc, char **argv)
{
	struct work work = { .specs = argv + 3, .spec_count = argc - 3 };
	double alone = 0, again = 0;
	struct tz_error err;

	if (argc < 4)
		return 2;
	if (pieces_read(argv[1], &work.bytes, &work.count, &err) != 0) {
		printf("%s\n", err.text);
		return 77;
	}
	if (sscanf(argv[2], "%" SCNx64 "-%" SCNx64, &work.filter.a[0],
		&work.filter.b[0]) == 2)
		work.filter.config = 1;
	for (unsigned pass = 0; pass < PASSES; pass++) {
		struct pieces *one = load(&work), *other = load(&work);

		alone += decode(&work, one);
		again += remake(&work, other);
		pieces_destroy(one);
		pieces_destroy(other);
	}
	printf("libipt's blocks alone: %.2f ms, made again: %.2f ms, ratio "
	       "%.2f\n",
	    alone / PASSES * 1e3, again / PASSES * 1e3, alone / again);
	free(work.bytes);
	return 0;
}
