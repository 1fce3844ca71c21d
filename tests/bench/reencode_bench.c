/*
 * How fast a captured trace is made again: CPU time of reencode_trace() against
 * that of libipt's block decoder alone over the same bytes and image, each with
 * caches that are empty at first, and again with the trace's caches warm.
 * usage: reencode_bench FOLDER (trace.pt, pages.dump.zst, pages.addr)
 */
#include "traces/reencode/reencode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PASSES 40

static const struct decode_filter filter = { .config = 1,
	.a = { UINT64_C(0x7ffff7819000) },
	.b = { UINT64_C(0x7ffff79ca000) } };

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static struct pieces *
load(const char *spec)
{
	struct pieces *pieces = pieces_create();
	struct tz_error err;

	if (pieces == NULL || pieces_add(pieces, spec, &err) != 0 ||
	    pieces_image(pieces, &err) == NULL)
		exit(77);
	return pieces;
}

/* Seconds of libipt's decoder over the trace, with PIECES as they are. */
static double
decode(const uint8_t *bytes, uint64_t count, struct pieces *pieces)
{
	struct tz_error err;
	struct decode_config config = { .bytes = bytes,
		.count = (size_t)count,
		.signature = 0x506e3,
		.filter = &filter,
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
remake(const uint8_t *bytes, uint64_t count, struct pieces *pieces)
{
	struct reencode_options options = {
		.profile = reencode_nearest(0x506e3),
		.signature = 0x506e3,
		.form = COMPARE_BYTES,
		.filter_given = true,
		.filter = filter,
	};
	struct reencode_result *result = calloc(1, sizeof(*result));
	struct tz_error err;
	double start = now();

	if (result == NULL ||
	    reencode_trace(bytes, count, pieces, &options, result, &err) != 0 ||
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
	double cold[2] = { 0 }, warm[2] = { 0 };
	char path[4096], spec[9000];
	struct tz_error err;
	uint8_t *bytes;
	uint64_t count;

	snprintf(path, sizeof(path), "%s/trace.pt", argc > 1 ? argv[1] : ".");
	snprintf(spec, sizeof(spec), "%s/pages.dump.zst@%s/pages.addr",
	    argc > 1 ? argv[1] : ".", argc > 1 ? argv[1] : ".");
	if (pieces_read(path, &bytes, &count, &err) != 0) {
		printf("%s\n", err.text);
		return 77;
	}
	for (unsigned pass = 0; pass < PASSES; pass++) {
		struct pieces *one = load(spec), *other = load(spec);

		cold[0] += decode(bytes, count, one);
		cold[1] += remake(bytes, count, other);
		warm[0] += decode(bytes, count, other);
		warm[1] += remake(bytes, count, one);
		pieces_destroy(one);
		pieces_destroy(other);
	}
	printf("libipt's blocks alone: %.0f us, made again: %.0f us, ratio "
	       "%.2f (empty caches)\n",
	    cold[0] / PASSES * 1e6, cold[1] / PASSES * 1e6, cold[0] / cold[1]);
	printf("libipt's blocks alone: %.0f us, made again: %.0f us, ratio "
	       "%.2f (libipt's cache is full, Zydis' empty)\n",
	    warm[0] / PASSES * 1e6, warm[1] / PASSES * 1e6, warm[0] / warm[1]);
	free(bytes);
	return 0;
}
