/*
 * Goal: what user-mode instructions do on the machine, in blocks and one at a time,
 * is what they do on the host's CPU.
 * Method: random sequences; registers, flags, memory and the exception at the end are
 * compared.  A sequence that differs is made as short as it can be and printed, with
 * the number that makes it again.
 * usage: differential KERNEL [--count N] [--seed N] [--only SEED] [--without x87|sse]
 *     [--keep N]
 */
#include "compare.h"
#include "emulated.h"
#include "native.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

#define WAYS           2
#define REPORT         100000 /* sequences after which it says how far it is */
#define FRESH          8192   /* and after which machines are made anew */
#define VECTOR_REFUSED (VECTOR_ENDLESS + 1)

struct options {
	const char *kernel;
	uint64_t count, seed, only;
	unsigned what, keep;
	bool has_only;
};

struct bench {
	struct options options;
	struct native *native;
	struct emulated *emulated[WAYS];
	char ended[320]; /* what the machine said when it ended a run */
	uint64_t different;
};

static const char *const way_names[WAYS] = { "blocks", "steps" };

static void
die(const char *text)
{
	fprintf(stderr, "differential: %s\n", text);
	exit(2);
}

/* Runs from START on the machine; false: the machine ended the run. */
static bool
emulate(struct bench *bench, unsigned way, const struct outcome *start,
    struct outcome *end)
{
	const char *text;

	if (bench->emulated[way] == NULL)
		bench->emulated[way] = emulated_create(
		    bench->options.kernel, way == 1);
	*end = *start;
	text = emulated_run(bench->emulated[way], end);
	if (text == NULL)
		return true;
	if (strcmp(text, "endless") == 0)
		end->state.vector = VECTOR_ENDLESS;
	else
		end->state.vector = VECTOR_REFUSED;
	snprintf(bench->ended, sizeof(bench->ended), "%s", text);
	emulated_destroy(bench->emulated[way]);
	bench->emulated[way] = NULL;
	return false;
}

/* Is the outcome of SEQUENCE another on the machine? */
static bool
differs(struct bench *bench, const struct sequence *sequence, unsigned way)
{
	static struct outcome start, end;
	static struct listing listing;
	struct outcome *native = native_places(bench->native);

	sequence_lay_out(sequence, &start);
	sequence_list(sequence, &listing);
	native[0] = start;
	if (!native_run(bench->native, 1))
		return false;
	emulate(bench, way, &start, &end);
	return !outcomes_agree(&native[0], &end, &listing);
}

static void
shorten(struct bench *bench, struct sequence *sequence, unsigned way)
{
	bool shorter = true;

	while (shorter) {
		shorter = false;
		for (unsigned u = sequence->count; u-- > 0;) {
			struct unit *unit = &sequence->unit[u];

			if (unit->out)
				continue;
			unit->out = true;
			if (!sequence_is_undefined(sequence) &&
			    differs(bench, sequence, way))
				shorter = true;
			else
				unit->out = false;
		}
	}
}

static void
print_state(const struct state *state)
{
	static const char *const names[] = { "rax", "rcx", "rdx", "rbx", "rsp",
		"rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
		"r14", "r15" };

	for (unsigned i = 0; i < 16; i++)
		printf("%s%s=%llx", i % 8 == 0 ? "\n  " : " ", names[i],
		    (unsigned long long)state->gpr[i]);
	printf(" rflags=%llx", (unsigned long long)state->rflags);
}

static void
explain(struct bench *bench, struct sequence *sequence, unsigned way)
{
	static struct outcome start, end;
	static struct listing listing;
	struct outcome *native = native_places(bench->native);

	if (!differs(bench, sequence, way)) {
		printf("seed 0x%llx, %s: does not differ when run alone\n",
		    (unsigned long long)sequence->seed, way_names[way]);
		return;
	}
	shorten(bench, sequence, way);
	sequence_lay_out(sequence, &start);
	sequence_list(sequence, &listing);
	native[0] = start;
	if (!native_run(bench->native, 1))
		die("the native process died");
	printf("different: --only 0x%llx, %s; from",
	    (unsigned long long)sequence->seed, way_names[way]);
	print_state(&start.state);
	printf("\n");
	listing_print(&listing, &start);
	if (!emulate(bench, way, &start, &end))
		printf("  the machine: %s\n", bench->ended);
	outcomes_print(&native[0], "native", &end, way_names[way], &listing);
	fflush(stdout);
}

static void
check(struct bench *bench, struct sequence *sequence,
    const struct outcome *start, const struct outcome *native)
{
	static struct outcome end;
	static struct listing listing;

	sequence_list(sequence, &listing);
	for (unsigned way = 0; way < WAYS; way++) {
		emulate(bench, way, start, &end);
		if (outcomes_agree(native, &end, &listing))
			continue;
		bench->different++;
		if (bench->different <= bench->options.keep)
			explain(bench, sequence, way);
		return;
	}
}

static void
run_batch(struct bench *bench, uint64_t *rng, unsigned count)
{
	static struct sequence sequence[NATIVE_BATCH];
	static struct outcome start[NATIVE_BATCH], native[NATIVE_BATCH];

	for (unsigned i = 0; i < count; i++) {
		uint64_t seed = bench->options.has_only ? bench->options.only
							: random_next(rng);

		sequence_make(seed, bench->options.what, &sequence[i]);
		sequence_lay_out(&sequence[i], &start[i]);
	}
	memcpy(native_places(bench->native), start, count * sizeof(start[0]));
	if (!native_run(bench->native, count))
		die("the native process died");
	memcpy(native, native_places(bench->native), count * sizeof(native[0]));
	for (unsigned i = 0; i < count; i++)
		check(bench, &sequence[i], &start[i], &native[i]);
}

/* The places that an engine knows as trapped are limited. */
static void
drop_machines(struct bench *bench)
{
	for (unsigned way = 0; way < WAYS; way++) {
		if (bench->emulated[way] != NULL)
			emulated_destroy(bench->emulated[way]);
		bench->emulated[way] = NULL;
	}
}

static void
report(const struct bench *bench, uint64_t done)
{
	printf("%llu sequences, %llu different\n", (unsigned long long)done,
	    (unsigned long long)bench->different);
	fflush(stdout);
}

static uint64_t
number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (*text == '\0' || *end != '\0')
		die("a number is wanted");
	return value;
}

static void
parse(int argc, char **argv, struct options *options)
{
	*options = (struct options){ .count = 10000,
		.seed = 1,
		.keep = 5,
		.what = MAKE_X87 | MAKE_SSE };
	if (argc < 2 || argc % 2 != 0)
		die("usage: KERNEL [--count N] [--seed N] [--only SEED] "
		    "[--keep N] [--without x87|sse]");
	options->kernel = argv[1];
	for (int i = 2; i < argc; i += 2) {
		const char *value = argv[i + 1];

		if (strcmp(argv[i], "--count") == 0) {
			options->count = number(value);
		} else if (strcmp(argv[i], "--seed") == 0) {
			options->seed = number(value);
		} else if (strcmp(argv[i], "--keep") == 0) {
			options->keep = (unsigned)number(value);
		} else if (strcmp(argv[i], "--only") == 0) {
			options->only = number(value);
			options->has_only = true;
			options->count = 1;
		} else if (strcmp(argv[i], "--without") == 0) {
			if (strcmp(value, "x87") == 0)
				options->what &= ~(unsigned)MAKE_X87;
			else if (strcmp(value, "sse") == 0)
				options->what &= ~(unsigned)MAKE_SSE;
			else
				die("--without: x87 or sse");
		} else {
			die("an unknown option");
		}
	}
}

int
main(int argc, char **argv)
{
	static struct bench bench;
	uint64_t rng, done = 0;

	parse(argc, argv, &bench.options);
	rng = bench.options.seed;
	bench.native = native_create();
	while (done < bench.options.count) {
		uint64_t left = bench.options.count - done;
		unsigned count = left < NATIVE_BATCH ? (unsigned)left
						     : NATIVE_BATCH;

		run_batch(&bench, &rng, count);
		done += count;
		if (done % FRESH < count)
			drop_machines(&bench);
		if (done % REPORT < count && done < bench.options.count)
			report(&bench, done);
	}
	drop_machines(&bench);
	native_destroy(bench.native);
	report(&bench, done);
	return bench.different != 0;
}
