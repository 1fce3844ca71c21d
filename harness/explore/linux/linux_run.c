#define _GNU_SOURCE
#include "harness/explore/linux/linux_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/explore/linux/linux_console.h"
#include "harness/explore/linux/linux_perf.h"
#include "harness/host/scratch.h"
#include "harness/host/stop.h"

/* prologue.sh and scenario.sh, made arrays by embed.sh. */
extern const unsigned char explore_linux_prologue[];
extern const size_t explore_linux_prologue_bytes;
extern const unsigned char explore_linux_scenario[];
extern const size_t explore_linux_scenario_bytes;

#define SYMBOLS_END    "\ntopaz: end of symbols\n"
#define SYMBOLS_MAX    ((size_t)64 << 20)
#define LINE_BYTES     256
#define OPEN_INSNS_MAX UINT64_C(20000000000)
#define DEFAULT_TIMES  3
#define STACK_WORDS    192

/* What a mark saves of a run beside the guest. */
struct progress {
	struct linux_perf perf;
	char line[LINE_BYTES]; /* of the console, so far */
	size_t line_count;
	bool deadly; /* the kernel will not go on */
};

struct linux_run {
	struct linux_run_options options;
	char folder[TREE_PATH_BYTES]; /* of the scripts; "": none */
	char prologue[TREE_PATH_BYTES + 16], scenario[TREE_PATH_BYTES + 16];
	struct linux_guest *guest;
	struct machine *machine;
	struct machine_observer observer;
	char *symbols; /* text from the guest */
	size_t symbols_count;
	struct linux_code *code;
	struct linux_perf_code perf_code;
	/* The calls before the mark that set up AUX buffers. */
	struct audit_call setup[LINUX_PERF_BUFFERS];
	unsigned setups;
	bool opening, at_begin;
	struct check *check;
	struct progress now;
	struct linux_run_mark *begin;   /* without a patch */
	struct linux_run_mark *patched; /* or NULL */
	uint64_t insns[MACHINE_CPUS_MAX]; /* at the mark */
	size_t console;                   /* characters at the mark */
	uint64_t base_insns, insns_max;
	struct outcome base;
	uint16_t token;
	struct linux_guest_state state;
	linux_run_step step;
	void *step_arg;
};

struct linux_run_mark {
	struct linux_guest_mark *guest;
	struct progress now;
	char check[];
};

static void
on_event(void *arg, const struct event *event)
{
	struct linux_run *run = arg;

	if (!run->opening)
		linux_perf_event(&run->now.perf, run->check, event);
}

static void
on_call(void *arg, const struct audit_call *call)
{
	struct linux_run *run = arg;

	if (!run->opening) {
		linux_perf_call(&run->now.perf, &run->perf_code, run->machine,
		    run->check, call);
	} else if (linux_perf_is_setup(&run->perf_code, call)) {
		if (run->setups < LINUX_PERF_BUFFERS)
			run->setup[run->setups++] = *call;
	} else if (run->setups != 0 && !run->at_begin &&
	    linux_perf_is_begin(&run->perf_code, call)) {
		run->at_begin = true;
		machine_pause(run->machine);
	}
}

static void
on_access(void *arg, const struct audit_access *access)
{
	(void)arg;
	(void)access;
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct linux_run *run = arg;
	struct machine_step relative = *step;

	relative.insns -= run->insns[step->cpu];
	if (run->step != NULL)
		run->step(run->step_arg, &relative);
}

static void
on_console(void *arg, char c)
{
	struct linux_run *run = arg;
	struct progress *now = &run->now;

	if (c != '\n') {
		if (now->line_count + 1 < sizeof(now->line))
			now->line[now->line_count++] = c;
		return;
	}
	now->line[now->line_count] = '\0';
	now->line_count = 0;
	if (!run->opening && linux_console_is_deadly(now->line)) {
		now->deadly = true;
		machine_pause(run->machine);
	}
}

static void
take_text(void *arg, const char *text, size_t count)
{
	struct linux_run *run = arg;
	char *more = run->symbols_count + count < SYMBOLS_MAX
	    ? realloc(run->symbols, run->symbols_count + count + 1)
	    : NULL;

	if (more == NULL)
		return;
	memcpy(more + run->symbols_count, text, count);
	run->symbols = more;
	run->symbols_count += count;
	more[run->symbols_count] = '\0';
}

static int
write_script(const char *folder, const char *name, const void *bytes,
    size_t count, char *path, size_t path_size, struct tz_error *err)
{
	FILE *file;
	bool good;

	snprintf(path, path_size, "%s/%s", folder, name);
	file = fopen(path, "wbx");
	good = file != NULL && fwrite(bytes, 1, count, file) == count;
	if (file != NULL && fclose(file) != 0)
		good = false;
	return good ? 0
		    : tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
}

static int
make_guest(struct linux_run *run, struct tz_error *err)
{
	struct linux_guest_options *guest = &run->options.guest;
	int error = scratch_folder(run->folder, err);

	if (error == 0)
		error = write_script(run->folder, "prologue",
		    explore_linux_prologue, explore_linux_prologue_bytes,
		    run->prologue, sizeof(run->prologue), err);
	if (error == 0 && run->options.scenario == NULL)
		error = write_script(run->folder, "scenario",
		    explore_linux_scenario, explore_linux_scenario_bytes,
		    run->scenario, sizeof(run->scenario), err);
	else if (error == 0)
		snprintf(run->scenario, sizeof(run->scenario), "%s",
		    run->options.scenario);
	guest->script = run->prologue;
	guest->put[0] = (struct linux_guest_file){ run->scenario,
		"/topaz/scenario" };
	guest->put_count = 1;
	if (error == 0)
		error = linux_guest_create(guest, &run->guest, err);
	if (error != 0)
		return error;
	run->machine = linux_guest_machine(run->guest);
	run->observer = (struct machine_observer){ .arg = run,
		.event = on_event,
		.step = on_step,
		.access = on_access,
		.call = on_call,
		.console = on_console };
	linux_guest_observe(run->guest, &run->observer);
	return 0;
}

/* The guest has ended although it should not; says how. */
static int
explain_end(const struct linux_run *run, const char *when, struct tz_error *err)
{
	const struct linux_guest_state *state = &run->state;

	if (state->end == LINUX_GUEST_STOPPED)
		return tz_error(
		    err, TZ_ESTOP, "stopped by %s %s", stop_name(), when);
	if (state->end == LINUX_GUEST_EXITED)
		return tz_error(err, TZ_EUSAGE,
		    "the script ended with exit code %d %s", state->status,
		    when);
	return tz_error(err, TZ_EUSAGE, "the guest cannot go on %s: %s", when,
	    state->cause[0] != '\0' ? state->cause : "it is off");
}

/* Runs slices until DONE says so. */
static int
run_until(struct linux_run *run, bool (*done)(const struct linux_run *run),
    const char *when, struct tz_error *err)
{
	while (!done(run)) {
		int error = linux_guest_run(run->guest, &run->state, err);

		if (error != 0)
			return error;
		if (done(run))
			return 0;
		if (run->state.end != LINUX_GUEST_SLICE)
			return explain_end(run, when, err);
		if (run->state.insns > OPEN_INSNS_MAX)
			return tz_error(err, TZ_EUSAGE,
			    "the script did not come to its Intel PT event "
			    "within %" PRIu64 " instructions",
			    run->state.insns);
	}
	return 0;
}

static bool
has_symbols(const struct linux_run *run)
{
	return run->symbols != NULL &&
	    memmem(run->symbols, run->symbols_count, SYMBOLS_END,
		strlen(SYMBOLS_END)) != NULL;
}

static bool
is_at_begin(const struct linux_run *run)
{
	return run->at_begin;
}

static int
reach_mark(struct linux_run *run, struct tz_error *err)
{
	int error = linux_guest_boot(run->guest, &run->state, err);

	if (error == 0 && run->state.end != LINUX_GUEST_BOOTED)
		error = explain_end(run, "during boot", err);
	if (error == 0)
		error = linux_guest_give(run->guest, take_text, run, err);
	if (error == 0)
		error = run_until(run, has_symbols, "before its symbols", err);
	if (error == 0)
		error = linux_code_read(
		    run->symbols, run->symbols_count, &run->code, err);
	free(run->symbols);
	run->symbols = NULL;
	run->symbols_count = 0;
	if (error == 0)
		error = linux_perf_find(run->code, &run->perf_code, err);
	if (error != 0)
		return error;
	machine_set_audit(run->machine, &run->perf_code.audit);
	return run_until(
	    run, is_at_begin, "and has begun no trace of Intel PT", err);
}

/* The first words on the stack that return to the driver, for check_config. */
static struct check_site
find_site(void *arg, unsigned cpu)
{
	struct linux_run *run = arg;
	uint64_t rip = machine_rip(run->machine, cpu);
	uint64_t rsp = machine_rsp(run->machine, cpu);
	struct check_site site = { 0, 0 };

	if (linux_code_is_driver(run->code, rip))
		site = (struct check_site){ rip, rip };
	for (unsigned i = 0; i < STACK_WORDS && site.rip == 0; i++) {
		uint64_t word;

		if (rsp < TZ_BIT(63) ||
		    !machine_read(run->machine, cpu, (struct gva){ rsp + 8 * i },
			&word, sizeof(word)))
			break;
		if (linux_code_is_driver(run->code, word))
			site = (struct check_site){ word - 1, word - 1 };
	}
	return site;
}

static int
make_check(struct linux_run *run, struct tz_error *err)
{
	const struct check_config config = {
		.reads = check_reads_machine(run->machine),
		.site = find_site,
		.site_arg = run,
		.cpu_count = run->options.guest.cpu_count,
		.ram_bytes = run->options.guest.memory_bytes,
		.enabled = linux_perf_rows(),
	};

	run->check = check_create(&config);
	if (run->check == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	check_begin(run->check);
	for (unsigned i = 0; i < run->setups; i++)
		linux_perf_call(&run->now.perf, &run->perf_code, run->machine,
		    run->check, &run->setup[i]);
	return 0;
}

static uint64_t
insns_of(struct linux_run *run, unsigned cpu)
{
	struct machine_counters counters;

	machine_counters(run->machine, cpu, &counters);
	return counters.insns - run->insns[cpu];
}

static uint64_t
insns_all(struct linux_run *run)
{
	uint64_t insns = 0;

	for (unsigned i = 0; i < run->options.guest.cpu_count; i++)
		insns += insns_of(run, i);
	return insns;
}

static int
take_mark(struct linux_run *run, struct tz_error *err)
{
	int error = make_check(run, err);

	if (error != 0)
		return error;
	for (unsigned i = 0; i < run->options.guest.cpu_count; i++)
		run->insns[i] = insns_of(run, i);
	(void)linux_guest_console_text(run->guest, &run->console);
	run->opening = false;
	run->begin = linux_run_save(run);
	if (run->begin == NULL)
		return tz_error(err, TZ_EIO, "out of memory for the state");
	run->token = (uint16_t)linux_run_hash(run);
	return 0;
}

static int
run_default(struct linux_run *run, struct tz_error *err)
{
	const struct schedule none = { .count = 0 };

	run->insns_max = run->options.insns_max != 0
	    ? run->options.insns_max
	    : OPEN_INSNS_MAX;
	linux_run_begin(run);
	if (!linux_run_judge(run, &none, &run->base))
		return tz_error(err, TZ_ESTOP,
		    "stopped by %s in the default schedule", stop_name());
	run->base_insns = insns_all(run);
	if (run->base.end == MACHINE_LIMIT)
		return tz_error(err, TZ_EUSAGE,
		    "the script does not end within %" PRIu64
		    " instructions after its mark",
		    run->insns_max);
	if (run->options.insns_max == 0)
		run->insns_max = DEFAULT_TIMES * run->base_insns;
	return 0;
}

int
linux_run_open(const struct linux_run_options *options,
    struct linux_run **result, struct tz_error *err)
{
	struct linux_run *run = calloc(1, sizeof(*run));
	int error;

	if (run == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	run->options = *options;
	run->opening = true;
	error = make_guest(run, err);
	if (error == 0)
		error = reach_mark(run, err);
	if (error == 0)
		error = take_mark(run, err);
	if (error == 0)
		error = run_default(run, err);
	if (error != 0) {
		linux_run_close(run);
		return error;
	}
	*result = run;
	return 0;
}

static bool
is_old(const struct linux_patch *patch, const uint8_t *code)
{
	for (uint32_t i = 0; i < patch->count; i++) {
		if (!(patch->any >> i & 1) && code[i] != patch->old[i])
			return false;
	}
	return true;
}

/* Changes one place; a function may be on two pages. */
static int
patch_one(struct linux_run *run, const struct linux_patch *patch,
    struct tz_error *err)
{
	struct linux_range at = linux_code_function(run->code, patch->function);
	uint8_t code[LINUX_PATCH_BYTES];
	unsigned places = 0;
	uint64_t found = 0, pa;

	for (uint64_t va = at.begin; va + patch->count <= at.end; va++) {
		if (machine_read(run->machine, 0, (struct gva){ va }, code,
			patch->count) &&
		    is_old(patch, code)) {
			found = va;
			places++;
		}
	}
	if (places != 1)
		return tz_error(err, TZ_EUSAGE,
		    "the code of %s has the bytes to be changed at %u places, "
		    "not at one",
		    patch->function, places);
	for (uint32_t i = 0; i < patch->count; i++) {
		if (!(patch->any >> i & 1) &&
		    machine_translate(
			run->machine, 0, (struct gva){ found + i }, &pa))
			machine_ram(run->machine)[pa] = patch->with[i];
	}
	return 0;
}

int
linux_run_patch(struct linux_run *run, const struct linux_patch *patch,
    unsigned count, struct tz_error *err)
{
	int error = 0;

	linux_run_restore(run, run->begin);
	linux_run_mark_free(run, run->patched);
	run->patched = NULL;
	for (unsigned i = 0; error == 0 && i < count; i++)
		error = patch_one(run, &patch[i], err);
	machine_wrote_code(run->machine);
	if (error != 0)
		return error;
	run->patched = linux_run_save(run);
	if (run->patched == NULL)
		return tz_error(err, TZ_EIO, "out of memory for the state");
	run->token = (uint16_t)linux_run_hash(run);
	return run_default(run, err);
}

void
linux_run_close(struct linux_run *run)
{
	if (run == NULL)
		return;
	if (run->begin != NULL) {
		linux_run_mark_free(run, run->patched);
		linux_run_mark_free(run, run->begin);
	}
	check_destroy(run->check);
	linux_guest_destroy(run->guest);
	linux_code_free(run->code);
	if (run->folder[0] != '\0')
		scratch_drop(run->folder);
	free(run->symbols);
	free(run);
}

struct linux_run_mark *
linux_run_save(struct linux_run *run)
{
	struct linux_run_mark *mark = malloc(
	    sizeof(*mark) + check_size(run->check));

	if (mark == NULL)
		return NULL;
	mark->now = run->now;
	check_save(run->check, mark->check);
	mark->guest = linux_guest_save(run->guest);
	if (mark->guest == NULL) {
		free(mark);
		return NULL;
	}
	return mark;
}

void
linux_run_restore(struct linux_run *run, const struct linux_run_mark *mark)
{
	linux_guest_restore(run->guest, mark->guest);
	check_restore(run->check, mark->check);
	run->now = mark->now;
}

void
linux_run_mark_free(struct linux_run *run, struct linux_run_mark *mark)
{
	if (mark == NULL)
		return;
	linux_guest_mark_free(run->guest, mark->guest);
	free(mark);
}

void
linux_run_begin(struct linux_run *run)
{
	linux_run_restore(
	    run, run->patched != NULL ? run->patched : run->begin);
}

static bool
is_cut(void)
{
	if (!stop_requested())
		return false;
	if (stop_is_forked())
		_exit(0);
	return true;
}

/* The script's exit code has arrived; how the guest powers off is not explored. */
static bool
has_exited(const struct linux_run *run)
{
	return linux_guest_window(run->guest)->exited;
}

enum linux_run_end
linux_run_go(struct linux_run *run, unsigned cpu, uint64_t insns)
{
	struct tz_error err;

	if (insns != UINT64_MAX && insns_of(run, cpu) >= insns)
		return LINUX_RUN_STOP;
	machine_set_stop(run->machine, cpu,
	    insns == UINT64_MAX ? UINT64_MAX : insns + run->insns[cpu]);
	do {
		/* A bad request is one of a guest that has lost its way. */
		if (linux_guest_run(run->guest, &run->state, &err) != 0)
			return LINUX_RUN_OVER;
	} while (run->state.end == LINUX_GUEST_SLICE && !has_exited(run) &&
	    insns_all(run) < run->insns_max);
	machine_set_stop(run->machine, cpu, UINT64_MAX);
	if (run->state.end != LINUX_GUEST_STOPPED || run->now.deadly)
		return LINUX_RUN_OVER;
	return is_cut() ? LINUX_RUN_CUT : LINUX_RUN_STOP;
}

bool
linux_run_inject(struct linux_run *run, const struct deviation *deviation)
{
	if (deviation->cpu >= run->options.guest.cpu_count ||
	    !machine_inject(run->machine, deviation->cpu, deviation->kind,
		deviation->param))
		return false;
	check_note_deviation(run->check, deviation->cpu, deviation->kind);
	return true;
}

/* A number that is the same for the same mistake, whatever the schedule. */
static uint64_t
cause_of(const struct linux_run *run, const struct check_violation *violation)
{
	uint64_t offset, seed = outcome_family(violation->id);
	const char *name = linux_code_name(
	    run->code, violation->site.rip, &offset);

	if (check_info(violation->id)->family == FAMILY_CRASH)
		seed ^= offset << 16;
	seed = XXH3_64bits_withSeed(name, strlen(name), seed);
	return XXH3_64bits_withSeed(
	    violation->object, strlen(violation->object), seed);
}

static void
add(const struct linux_run *run, struct outcome *outcome,
    const struct check_violation *violation)
{
	struct outcome_violation *to = &outcome->violation[outcome->count];

	if (outcome->count == OUTCOME_MAX) {
		outcome->unjudged[REASON_VIOLATIONS] |= TZ_BIT(violation->id);
		return;
	}
	to->violation = *violation;
	to->own = to->cause = cause_of(run, violation);
	for (unsigned i = 0; i < outcome->count; i++) {
		if (check_is_symptom(
			violation, &outcome->violation[i].violation)) {
			to->cause = outcome->violation[i].cause;
			break;
		}
	}
	outcome->count++;
}

/* True if a deviation of SCHEDULE excuses what the kernel says with ID. */
static bool
is_excused(const struct schedule *schedule, enum check_id id)
{
	uint32_t effects = 0;

	for (unsigned i = 0; i < schedule->count; i++)
		effects |= deviation_info(schedule->deviation[i].kind)->effects;
	return id == CHECK_GP_FAULT && (effects & DEVIATION_MAY_GP) != 0;
}

/* The kernel's own messages, up to the first one that is the end of it. */
static void
add_messages(const struct linux_run *run, const struct schedule *schedule,
    struct outcome *outcome)
{
	struct linux_message message;
	size_t count, at = 0;
	const char *text = linux_run_console(run, &count);

	while (linux_console_next(text, count, &at, &message)) {
		struct check_violation violation = { .id = message.id,
			.step = CHECK_NO_STEP,
			.stream = CHECK_NO_STREAM };
		struct linux_range function = linux_code_function(
		    run->code, message.function);

		if (function.begin != 0)
			violation.site.rip = violation.site.entry =
			    function.begin + message.offset;
		snprintf(violation.text, sizeof(violation.text), "%s",
		    message.text);
		snprintf(violation.object, sizeof(violation.object), "%.40s:%d",
		    message.file, message.line);
		if (message.file[0] == '\0')
			violation.object[0] = '\0';
		if (!is_excused(schedule, message.id))
			add(run, outcome, &violation);
		if (message.deadly)
			return;
	}
}

/* How the run ended, in the words that harness/check judges. */
static struct machine_result
result_of(struct linux_run *run, bool *waits)
{
	struct machine_result result = run->state.result;
	int status = linux_guest_window(run->guest)->status;

	*waits = false;
	if (has_exited(run)) {
		result.end = MACHINE_EXIT;
		result.code = status;
		return result;
	}
	switch (run->state.end) {
	case LINUX_GUEST_SLICE:
		result.end = MACHINE_LIMIT;
		*waits = true;
		break;
	case LINUX_GUEST_EXITED:
	case LINUX_GUEST_OFF:
	case LINUX_GUEST_BOOTED:
	case LINUX_GUEST_DEAD:
	case LINUX_GUEST_LIMIT:
	case LINUX_GUEST_STOPPED:
		break;
	}
	return result;
}

static void
judge(struct linux_run *run, const struct schedule *schedule,
    struct outcome *outcome)
{
	bool waits;
	struct machine_result result = result_of(run, &waits);

	*outcome = (struct outcome){ .how = OUTCOME_WHOLE, .end = result.end };
	add_messages(run, schedule, outcome);
	if (result.end == MACHINE_EXIT)
		linux_perf_end(
		    &run->now.perf, run->machine, result.cpu, run->check);
	/* After an oops nothing else is the kernel's own doing. */
	if (!run->now.deadly)
		check_end(run->check, &result, waits);
	for (size_t i = 0; i < check_count(run->check); i++)
		add(run, outcome, check_at(run->check, i));
	for (unsigned i = 0; i < REASON_COUNT; i++)
		outcome->unjudged[i] |= check_unjudged(
		    run->check, (enum check_reason)i);
}

bool
linux_run_judge(struct linux_run *run, const struct schedule *schedule,
    struct outcome *outcome)
{
	enum linux_run_end end = LINUX_RUN_STOP;

	*outcome = (struct outcome){ .how = OUTCOME_UNREACHED };
	for (unsigned i = 0; i < schedule->count; i++) {
		const struct deviation *deviation = &schedule->deviation[i];

		end = linux_run_go(run, deviation->cpu, deviation->insns);
		if (end != LINUX_RUN_STOP)
			return end != LINUX_RUN_CUT;
		if (insns_of(run, deviation->cpu) != deviation->insns)
			return true;
		if (!linux_run_inject(run, deviation)) {
			outcome->how = OUTCOME_IMPOSSIBLE;
			return true;
		}
	}
	end = linux_run_go(run, 0, UINT64_MAX);
	if (end == LINUX_RUN_CUT)
		return false;
	judge(run, schedule, outcome);
	return true;
}

void
linux_run_observe(struct linux_run *run, enum linux_part part,
    linux_run_step step, void *arg)
{
	struct linux_range range = linux_code_part(run->code, part);

	run->step = step;
	run->step_arg = arg;
	machine_set_watched(run->machine, range.begin, range.end);
	machine_set_stepping(
	    run->machine, step != NULL ? STEPPING_WATCHED : STEPPING_NONE);
}

const char *
linux_run_console(const struct linux_run *run, size_t *count)
{
	const char *text = linux_guest_console_text(run->guest, count);

	*count -= run->console;
	return text + run->console;
}

uint64_t
linux_run_hash(struct linux_run *run)
{
	return machine_hash(run->machine, NULL);
}

const struct outcome *
linux_run_base(const struct linux_run *run)
{
	return &run->base;
}

uint64_t
linux_run_insns(const struct linux_run *run)
{
	return run->base_insns;
}

uint16_t
linux_run_check(const struct linux_run *run)
{
	return run->token;
}

const struct linux_code *
linux_run_code(const struct linux_run *run)
{
	return run->code;
}

struct machine *
linux_run_machine(struct linux_run *run)
{
	return run->machine;
}

unsigned
linux_run_cpus(const struct linux_run *run)
{
	return run->options.guest.cpu_count;
}
