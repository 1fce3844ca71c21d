#include "harness/explore/describe/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/describe/place.h"
#include "harness/host/input.h"
#include "harness/load/build.h"
#include "harness/progress.h"

#define VECTOR_PF 14
/* For a run that did not end: continues beyond its limit. */
#define LIMIT_INSNS_MAX (8 * PROGRESS_KERNEL_INSNS)
/* At first so far: a CPU that waits and never halts shows after it. */
#define LIMIT_INSNS_FIRST (PROGRESS_KERNEL_INSNS / 10)

/* Observes a run: the driver's last instruction before each violation. */
struct explainer {
	struct runner *runner;
	uint64_t last[MACHINE_CPUS_MAX];
	uint64_t last_any;
	uint64_t before[CHECK_VIOLATION_MAX];
	size_t seen; /* violations so far */
	/* address from which the last call to an invalid target loaded it */
	uint64_t slot;
};

/* The results of one explained run. */
struct explained {
	struct explainer explainer;
	struct outcome outcome;
};

static void
note_violations(struct explainer *explainer)
{
	const struct check *check = runner_check(explainer->runner);

	for (; explainer->seen < check_count(check); explainer->seen++) {
		unsigned cpu = check_at(check, explainer->seen)->cpu;
		uint64_t rip = explainer->last[cpu];

		explainer->before[explainer->seen] = rip != 0
		    ? rip
		    : explainer->last_any;
	}
}

static void
on_event(void *arg, const struct event *event)
{
	struct explainer *explainer = arg;
	struct machine *machine = runner_machine(explainer->runner);

	if (event->kind == EVENT_EXCEPTION && event->a == VECTOR_PF &&
	    !machine_call_slot(machine, event->cpu, &explainer->slot))
		explainer->slot = 0;
	note_violations(arg);
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct explainer *explainer = arg;

	if (!runner_in_driver(explainer->runner, step->rip))
		return;
	explainer->last[step->cpu] = explainer->last_any = step->rip;
}

/* Runs WITNESS with explanations; false: an error, or it cannot be run. */
static bool
run_explained(struct campaign *campaign, const struct witness *witness,
    struct explained *run)
{
	const struct trial_options options = { .bare = witness->id !=
		    CHECK_NOT_RUN,
		.must_run = witness->id == CHECK_NOT_RUN };
	struct explainer *explainer = &run->explainer;
	const struct runner_observer observer = { explainer, on_event,
		on_step };
	struct runner *runner;
	struct trial trial;
	struct tz_error err;

	*explainer = (struct explainer){ .seen = 0 };
	if (campaign_entry_open(
		campaign, &witness->entry, options, &trial, &err) != 0)
		return false;
	explainer->runner = runner = trial.runner;
	runner_explain(runner, true);
	if (witness->id == CHECK_DECODED) {
		(void)trial_run_decoded(&trial, &witness->schedule, &observer,
		    STEPPING_WATCHED, &run->outcome);
	} else if (witness->id == CHECK_NOT_RUN) {
		run->outcome = trial.base;
	} else {
		/* In an endless loop, the function is still on the stack; stepping
		 * would be slow. */
		runner_observe(runner, &observer,
		    witness->id == CHECK_PROGRESS || witness->id == CHECK_LIMIT
			? STEPPING_NONE
			: STEPPING_WATCHED);
		trial_run(&trial, &witness->schedule, &run->outcome);
		runner_observe(runner, NULL, STEPPING_NONE);
	}
	note_violations(explainer);
	runner_explain(runner, false);
	trial_close(&trial);
	return true;
}

/* The violation of row ID with own cause OWN; NULL: none. */
static const struct outcome_violation *
find_violation(const struct outcome *outcome, enum check_id id, uint64_t own)
{
	for (unsigned i = 0; i < outcome->count; i++) {
		const struct outcome_violation *one = &outcome->violation[i];

		if (one->violation.id == id && one->own == own)
			return one;
	}
	return NULL;
}

/* The violation that ONE is a symptom of; ONE itself if it is none. */
static const struct outcome_violation *
find_root(const struct outcome *outcome, const struct outcome_violation *one)
{
	for (unsigned i = 0; i < outcome->count; i++) {
		if (outcome->violation[i].own == one->cause)
			return &outcome->violation[i];
	}
	return one;
}

/* The best known place where the driver went wrong. */
static struct check_site
site_of(const struct explainer *explainer, const struct outcome *outcome,
    const struct outcome_violation *one)
{
	size_t index = (size_t)(one - outcome->violation);
	uint64_t rip;

	if (one->violation.site.rip != 0)
		return one->violation.site;
	if (one->violation.blame.rip != 0)
		return one->violation.blame;
	rip = index < explainer->seen ? explainer->before[index]
				      : explainer->last_any;
	return (struct check_site){ rip, rip };
}

/* The function that the kernel had called, not one that was inlined there. */
static void
fill_entry(struct runner *runner, uint64_t rip, char entry[FINDING_NAME_BYTES])
{
	struct symbol_place symbol;

	symbols_find(runner_symbols(runner), rip, NULL, &symbol);
	if (rip != 0 && symbol.name != NULL)
		snprintf(entry, FINDING_NAME_BYTES, "%.*s",
		    (int)strcspn(symbol.name, "."), symbol.name);
}

/*
 * The driver's variable that caused a crash of the kernel with no driver function on
 * the stack: it held the address that was called, or was read after its module was
 * unloaded.
 */
static uint64_t
find_variable(
    const struct explainer *explainer, const struct check_violation *violation)
{
	/* "read from 0x1000", "write to 0x1000" */
	const char *at = strstr(violation->text, " 0x");
	uint64_t va = at != NULL ? strtoull(at + 1, NULL, 16) : 0;
	struct symbol_place place;

	if (violation->id != CHECK_PAGE_FAULT || violation->site.rip != 0)
		return 0;
	if (!symbols_find_variable(
		runner_symbols(explainer->runner), va, &place))
		va = explainer->slot;
	return runner_is_driver_data(explainer->runner, va) ? va : 0;
}

static void
use_variable(struct runner *runner, uint64_t va, struct identity *identity)
{
	struct symbol_place symbol;

	if (!symbols_find_variable(runner_symbols(runner), va, &symbol))
		return;
	identity->place = (struct finding_place){ .line = symbol.line };
	snprintf(identity->place.function, sizeof(identity->place.function),
	    "%s", symbol.name);
	if (symbol.file != NULL)
		snprintf(identity->place.file, sizeof(identity->place.file),
		    "%s", symbol.file);
	snprintf(identity->object, sizeof(identity->object),
	    "variable %.80s+%#" PRIx64, symbol.name, symbol.offset_bytes);
	identity->entry[0] = '\0';
	identity->entry_place = identity->own_place = identity->place;
}

/* Describes the object concerned. */
static void
fill_object(struct runner *runner, const struct check_violation *violation,
    char object[FINDING_NAME_BYTES * 2])
{
	struct finding_place place;
	const char *slash;

	snprintf(object, FINDING_NAME_BYTES * 2, "%s", violation->object);
	if (violation->object_va == 0)
		return;
	place_find_own(runner, violation->object_va, &place);
	slash = strrchr(place.file, '/');
	if (place.line != 0)
		snprintf(object, FINDING_NAME_BYTES * 2,
		    "allocated in %.80s %.60s:%d", place.function,
		    slash != NULL ? slash + 1 : place.file, place.line);
	else
		snprintf(object, FINDING_NAME_BYTES * 2, "%s", place.function);
}

/* Hashes places, names and families: nothing that differs between builds. */
static uint64_t
hash_identity(const struct identity *identity)
{
	bool setup = check_info(identity->root.id)->family == FAMILY_SETUP;
	const uint64_t numbers[] = {
		outcome_family(identity->root.id),
		setup ? 0 : (uint64_t)identity->place.line,
	};
	const char *const texts[] = {
		setup ? "" : identity->place.function,
		setup ? "" : identity->place.file,
		setup ? "" : identity->entry,
		identity->object,
	};
	uint64_t hash = XXH3_64bits(numbers, sizeof(numbers));

	for (size_t i = 0; i < TZ_ARRAY_LEN(texts); i++)
		hash = XXH3_64bits_withSeed(texts[i], strlen(texts[i]), hash);
	return hash;
}

/* True if a CPU has used a good part of INSNS in ring 0 without halting. */
static bool
is_spinning(struct runner *runner, uint64_t insns)
{
	unsigned cpus = runner_cpus(runner);
	struct machine_counters counters;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		machine_counters(runner_machine(runner), cpu, &counters);
		if (counters.kernel_insns >= insns / (4 * cpus))
			return true;
	}
	return false;
}

/*
 * True if RUNNER's run, continued beyond its limit, has a CPU that waits without end.
 * Of a loop that sleeps this cannot be shown: such a run is not continued for long.
 */
static bool
waits_without_end(struct runner *runner)
{
	struct machine *machine = runner_machine(runner);
	unsigned cpus = runner_cpus(runner);
	struct machine_counters counters;
	struct machine_result result;
	uint64_t first = LIMIT_INSNS_FIRST;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		machine_counters(machine, cpu, &counters);
		first += counters.insns;
	}
	if (progress_run(machine, cpus, first, &result))
		return true;
	return result.end == MACHINE_LIMIT &&
	    is_spinning(runner, LIMIT_INSNS_FIRST) &&
	    progress_run(machine, cpus, LIMIT_INSNS_MAX, &result);
}

/*
 * Continues a run that reached its limit: if a CPU still waits after that, it waits for
 * an event that cannot occur.
 */
static void
judge_limit(struct campaign *campaign, const struct witness *witness,
    struct check_violation *violation)
{
	const struct trial_options options = { .bare = true };
	struct outcome outcome;
	struct trial trial;
	struct tz_error err;

	if (campaign->options.insns_max != 0 ||
	    campaign_entry_open(
		campaign, &witness->entry, options, &trial, &err) != 0)
		return;
	trial_run(&trial, &witness->schedule, &outcome);
	if (outcome.end == MACHINE_LIMIT && waits_without_end(trial.runner)) {
		violation->id = CHECK_PROGRESS;
		snprintf(violation->text, sizeof(violation->text),
		    "the operation waits without end");
	}
	trial_close(&trial);
}

static bool
find(struct campaign *campaign, const struct witness *witness,
    struct explained *run, struct identity *identity)
{
	const struct outcome_violation *one, *root;
	struct runner *runner;
	struct check_site site;
	uint64_t variable;

	if (!run_explained(campaign, witness, run))
		return false;
	one = find_violation(&run->outcome, witness->id, witness->own);
	if (one == NULL)
		return false;
	runner = run->explainer.runner;
	root = find_root(&run->outcome, one);
	site = site_of(&run->explainer, &run->outcome, root);
	*identity = (struct identity){ .violation = one->violation,
		.root = root->violation,
		.state_hash = runner_hash(runner) };
	place_find_own(runner, site.rip, &identity->place);
	place_find_own(runner, site.entry, &identity->entry_place);
	place_find_own(runner, site_of(&run->explainer, &run->outcome, one).rip,
	    &identity->own_place);
	fill_entry(runner, site.entry, identity->entry);
	fill_object(runner, &root->violation, identity->object);
	variable = find_variable(&run->explainer, &root->violation);
	if (variable != 0)
		use_variable(runner, variable, identity);
	return true;
}

bool
identity_find(struct campaign *campaign, const struct witness *witness,
    struct identity *identity)
{
	struct explained *run = calloc(1, sizeof(*run));
	bool found = run != NULL && find(campaign, witness, run, identity);

	free(run);
	if (!found)
		return false;
	if (identity->root.id == CHECK_LIMIT) {
		judge_limit(campaign, witness, &identity->root);
		identity->violation = identity->root;
	}
	identity->cause = hash_identity(identity);
	return true;
}

/*
 * Reads line NUMBER of the file PATH, white space reduced to one blank; "": no such
 * line.
 */
static void
read_line(const char *path, int number, char *text, size_t text_size)
{
	uint8_t *bytes;
	size_t count, used = 0;
	const char *at, *end;

	text[0] = '\0';
	if (input_read(path, INPUT_SOURCE, &bytes, &count, NULL) != 0)
		return;
	at = (const char *)bytes;
	for (int i = 1; i < number && at != NULL; i++) {
		at = strchr(at, '\n');
		at = at == NULL ? NULL : at + 1;
	}
	end = at == NULL ? NULL : at + strcspn(at, "\n");
	for (; at < end; at++) {
		bool blank = strchr(" \t\r", *at) != NULL;

		if (used + 1 < text_size &&
		    (!blank || (used != 0 && text[used - 1] != ' ')))
			text[used++] = blank ? ' ' : *at;
	}
	text[used] = '\0';
	free(bytes);
}

uint64_t
identity_print(
    const struct build_cache *build_cache, const struct finding *finding)
{
	const struct check_info *info = check_info(finding->check);
	char *path = build_cache_find_source(build_cache, finding->place.file);
	char text[512] = "";
	uint64_t hash;

	if (path != NULL)
		read_line(path, finding->place.line, text, sizeof(text));
	free(path);
	if (text[0] == '\0')
		snprintf(
		    text, sizeof(text), "+%u", finding->place.offset_bytes);
	const char *const texts[] = {
		info->family == FAMILY_ALONE || info->family == FAMILY_UNJUDGED
		    ? info->name
		    : "",
		finding->place.function,
		text,
		finding->entry,
		info->family == FAMILY_CRASH && finding->class != FINDING_BASE
		    ? "deviations"
		    : "",
	};
	hash = (uint64_t)info->family;
	for (size_t i = 0; i < TZ_ARRAY_LEN(texts); i++)
		hash = XXH3_64bits_withSeed(texts[i], strlen(texts[i]), hash);
	/* The line number of the source is not hashed. */
	return XXH3_64bits_withSeed(
	    finding->object, strcspn(finding->object, ":"), hash);
}
