/*
 * Goal: what a program does is what its trace says, by the packets that the
 * specification asks for. Method: the guest code of each .ptv file that has some runs
 * on a machine, once in blocks and once an instruction at a time, with the file's
 * schedule; the packets and the instructions that libipt decodes are compared with what
 * the file expects, and these with what retired.
 * usage: code FOLDER IMAGES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/deviation.h"
#include "tests/packets/code.h"
#include "tests/packets/code_decode.h"
#include "tests/packets/suite.h"

#define INSNS_MAX 100000

static const char *images;

static const char *const ends[] = {
	[MACHINE_EXIT] = "exit",
	[MACHINE_PANIC] = "panic",
	[MACHINE_UNMODELLED] = "unmodelled",
	[MACHINE_TRIPLE_FAULT] = "triple-fault",
	[MACHINE_DEADLOCK] = "deadlock",
	[MACHINE_LIMIT] = "limit",
	[MACHINE_STOP] = "stop",
	[MACHINE_ENGINE] = "engine",
};

static void
begin(struct vector *vector)
{
	struct code *code = calloc(1, sizeof(*code));

	vector->arg = code;
	if (code == NULL)
		vector_fail(vector, "out of memory");
	else if (vector->at_changed)
		vector_fail(vector, "`ip` and `cpu` are the code's business");
	else {
		code_create(vector, images, false, &code->blocks);
		code_create(vector, images, true, &code->steps);
	}
}

/* The run ended though it was to go on. */
static void
fail_end(struct vector *vector, const struct code_run *run)
{
	const struct machine_result *result = &run->guest.result;

	vector_fail(vector, "the run ended at %llx: %s %s",
	    (unsigned long long)result->rip, ends[result->end], result->text);
}

/* How many instructions CPU has retired where it comes to RIP. */
static bool
find(struct vector *vector, struct code_run *run, unsigned cpu, uint64_t rip,
    unsigned skip, uint64_t *insns)
{
	struct machine *machine = run->guest.machine;
	struct tz_error err;
	struct machine_snapshot *snapshot = machine_snapshot_take(
	    machine, &err);
	size_t bytes[CODE_CPUS_MAX];

	if (snapshot == NULL) {
		vector_fail(vector, "%s", err.text);
		return false;
	}
	memcpy(bytes, run->bytes, sizeof(bytes));
	run->probe = true;
	run->found = false;
	run->probe_cpu = cpu;
	run->probe_rip = rip;
	run->probe_skip = skip;
	machine_set_stepping(machine, STEPPING_ALL);
	machine_run(machine, INSNS_MAX, &run->guest.result);
	machine_set_stepping(machine, STEPPING_NONE);
	run->probe = false;
	machine_snapshot_apply(machine, snapshot);
	machine_snapshot_free(machine, snapshot);
	memcpy(run->bytes, bytes, sizeof(bytes));
	if (!run->found)
		vector_fail(vector, "CPU %u does not come to %llx", cpu,
		    (unsigned long long)rip);
	*insns = run->probe_insns;
	return run->found;
}

/* What a line `at` says. */
struct place {
	uint64_t rip;
	unsigned cpu, skip, after;
};

static bool
place_option(struct vector *vector, struct place *place, const char *word)
{
	if (strncmp(word, "cpu=", 4) == 0)
		place->cpu = (unsigned)vector_value(vector, word, 10);
	else if (strncmp(word, "skip=", 5) == 0)
		place->skip = (unsigned)vector_value(vector, word, 10);
	else if (strncmp(word, "after=", 6) == 0)
		place->after = (unsigned)vector_value(vector, word, 10);
	else
		return false;
	if (place->cpu >= vector->cpus)
		vector_fail(vector, "no such CPU: %s", word);
	return true;
}

/* Runs up to INSNS of CPU and makes a deviation; DEVIATION_COUNT: nothing is done. */
static void
deviate_at(struct vector *vector, struct code_run *run, unsigned cpu,
    uint64_t insns, enum deviation_kind kind, uint64_t param)
{
	machine_set_stop(run->guest.machine, cpu, insns);
	machine_run(run->guest.machine, INSNS_MAX, &run->guest.result);
	if (run->guest.result.end != MACHINE_STOP)
		fail_end(vector, run);
	else if (kind != DEVIATION_COUNT &&
	    !machine_inject(run->guest.machine, cpu, kind, param))
		vector_fail(vector, "that is not possible there");
}

/* at ADDRESS [cpu=N] [skip=N] [after=N] [DEVIATION [PARAMETER]] */
static void
event_at(struct vector *vector, struct words *words)
{
	struct code *code = vector->arg;
	struct place place = { .rip = vector_hex(vector, words, UINT64_MAX) };
	uint64_t param = 0, insns;
	enum deviation_kind kind = DEVIATION_COUNT;

	while (words->next != words->count && kind == DEVIATION_COUNT) {
		const char *word = vector_word(vector, words);

		if (place_option(vector, &place, word))
			continue;
		kind = deviation_find(word, strlen(word));
		if (kind == DEVIATION_COUNT) {
			vector_fail(
			    vector, "no deviation of deviation.def: %s", word);
			return;
		}
	}
	if (kind != DEVIATION_COUNT &&
	    deviation_info(kind)->parameter[0] != '\0')
		param = vector_decimal(vector, words, UINT64_MAX);
	if (vector->failed ||
	    !find(
		vector, &code->steps, place.cpu, place.rip, place.skip, &insns))
		return;
	insns += place.after;
	deviate_at(vector, &code->blocks, place.cpu, insns, kind, param);
	deviate_at(vector, &code->steps, place.cpu, insns, kind, param);
}

static void
run_to_end(struct vector *vector, struct code_run *run, const char *end)
{
	machine_run(run->guest.machine, INSNS_MAX, &run->guest.result);
	machine_sync_output(run->guest.machine);
	if (strcmp(ends[run->guest.result.end], end) != 0 ||
	    (run->guest.result.end == MACHINE_EXIT &&
		run->guest.result.code != 0))
		fail_end(vector, run);
}

/* ends WHY: runs on to the end, which comes so. */
static void
event_ends(struct vector *vector, const char *end)
{
	struct code *code = vector->arg;

	if (code->over)
		vector_fail(vector, "the run is over already");
	code->over = true;
	if (!vector->failed)
		run_to_end(vector, &code->blocks, end);
	if (!vector->failed)
		run_to_end(vector, &code->steps, end);
}

/* pmis N: so many were raised by CPU 0 since the beginning. */
static void
event_pmis(struct vector *vector, struct words *words)
{
	struct code *code = vector->arg;
	uint64_t count = vector_decimal(vector, words, UINT32_MAX);
	struct machine_counters counters;

	machine_counters(code->blocks.guest.machine, 0, &counters);
	if (counters.pmis != count)
		vector_fail(vector, "there were %llu",
		    (unsigned long long)counters.pmis);
}

/* rdmsr INDEX VALUE, of CPU 0; STATUS without its PacketByteCnt */
static void
event_rdmsr(struct vector *vector, struct words *words)
{
	struct code *code = vector->arg;
	uint64_t index = vector_hex(vector, words, UINT32_MAX);
	uint64_t value = vector_hex(vector, words, UINT64_MAX), found = 0;
	struct machine_pt pt;

	machine_pt(code->blocks.guest.machine, 0, &pt);
	if (index == 0x560)
		found = pt.output_base;
	else if (index == 0x561)
		found = pt.mask_ptrs;
	else if (index == 0x570)
		found = pt.ctl;
	else if (index == 0x571)
		found = pt.status & UINT32_MAX;
	else
		vector_fail(vector, "only 560, 561, 570 and 571 are looked at");
	if (found != value)
		vector_fail(vector, "it reads %llx", (unsigned long long)found);
}

static void
event(struct vector *vector, struct words *words)
{
	const char *name = vector_word(vector, words);
	const char *end;

	if (strcmp(name, "at") == 0)
		event_at(vector, words);
	else if (strcmp(name, "pmis") == 0)
		event_pmis(vector, words);
	else if (strcmp(name, "rdmsr") == 0)
		event_rdmsr(vector, words);
	else if (strcmp(name, "ends") == 0) {
		end = vector_word(vector, words);
		if (!vector->failed)
			event_ends(vector, end);
	} else
		vector_fail(vector, "no event of guest code: %s", name);
}

/* Both ways of running must have made the same. */
static void
end(struct vector *vector)
{
	struct code *code = vector->arg;

	if (!code->over)
		event_ends(vector, "exit");
	code_finish(&code->blocks);
	for (unsigned cpu = 0; cpu < vector->cpus; cpu++) {
		const struct code_run *a = &code->blocks, *b = &code->steps;

		if (a->bytes[cpu] != b->bytes[cpu] ||
		    (a->bytes[cpu] != 0 &&
			memcmp(a->stream[cpu], b->stream[cpu], a->bytes[cpu]) !=
			    0))
			vector_fail(vector,
			    "CPU %u: blocks and single steps differ", cpu);
	}
}

static const uint8_t *
stream(struct vector *vector, unsigned cpu, size_t *bytes)
{
	static const uint8_t none[1];
	struct code *code = vector->arg;

	*bytes = code->blocks.bytes[cpu];
	return *bytes == 0 ? none : code->blocks.stream[cpu];
}

static char *
decode(struct vector *vector, unsigned cpu)
{
	const struct code_run *run = &((struct code *)vector->arg)->blocks;
	const struct fake *fake = vector->fake;
	struct retired_list retired;
	struct code_trace trace = {
		.ram = run->guest.ram,
		.ram_bytes = CODE_RAM_BYTES,
		.stream = run->stream[cpu],
		.bytes = run->bytes[cpu],
		.ranges = (uint32_t)tz_bits(vector->ctl, 47, 32),
		.signature = fake->profile.errata_on ? fake->profile.signature
						     : 0,
		.retired = &retired,
	};
	char *text;

	for (uint32_t i = 0; i < TZ_ARRAY_LEN(trace.address); i++)
		(void)pt_unit_rdmsr(fake->unit, 0x580 + i, &trace.address[i]);
	retired_expand(&run->guest, cpu, &retired);
	text = code_decode_text(&trace);
	retired_free(&retired);
	return text;
}

static void
destroy(struct vector *vector)
{
	struct code *code = vector->arg;

	if (code == NULL)
		return;
	code_destroy(&code->blocks);
	code_destroy(&code->steps);
	free(code);
}

int
main(int argc, char **argv)
{
	static const struct suite_player player = {
		.code = true,
		.begin = begin,
		.event = event,
		.end = end,
		.stream = stream,
		.decode = decode,
		.destroy = destroy,
	};

	if (argc != 3) {
		printf("usage: code FOLDER IMAGES\n");
		return 2;
	}
	images = argv[2];
	return suite_play(argv[1], &player);
}
