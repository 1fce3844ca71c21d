#define _GNU_SOURCE
/*
 * A booted kernel from its image to the mark, and changes of its code there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explore/linux/linux_run_internal.h"
#include "harness/host/folder/scratch.h"
#include "harness/host/stop.h"

/* prologue.sh and scenario.sh, made arrays by embed.sh. */
extern const unsigned char explore_linux_prologue[];
extern const size_t explore_linux_prologue_bytes;
extern const unsigned char explore_linux_scenario[];
extern const size_t explore_linux_scenario_bytes;

#define SYMBOLS_END    "\ntopaz: end of symbols\n"
#define SYMBOLS_MAX    ((size_t)64 << 20)
#define OPEN_INSNS_MAX UINT64_C(20000000000)
#define DEFAULT_TIMES  3
#define STACK_WORDS    192

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
	linux_run_set_observer(run);
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
		    !machine_read(run->machine, cpu,
			(struct gva){ rsp + 8 * i }, &word, sizeof(word)))
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
		.rings = true,
		.enabled = linux_perf_rows(),
	};

	run->check = check_create(&config);
	if (run->check == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	check_begin(run->check);
	for (unsigned i = 0; i < run->early_count; i++)
		linux_perf_call(&run->now.perf, &run->perf_code, run->machine,
		    run->check, &run->early[i]);
	return 0;
}

static int
take_mark(struct linux_run *run, struct tz_error *err)
{
	int error = make_check(run, err);

	if (error != 0)
		return error;
	for (unsigned i = 0; i < run->options.guest.cpu_count; i++)
		run->insns[i] = linux_run_insns_of(run, i);
	(void)linux_guest_console_text(run->guest, &run->console);
	run->opening = false;
	run->begin = linux_run_save(run);
	if (run->begin == NULL)
		return tz_error(err, TZ_EIO, "out of memory for the state");
	run->token = (uint16_t)linux_run_hash(run);
	return 0;
}

/* Runs the default schedule within .insns_max. */
static int
run_default(struct linux_run *run, struct tz_error *err)
{
	const struct schedule none = { .count = 0 };

	linux_run_begin(run);
	if (!linux_run_judge(run, &none, &run->base))
		return tz_error(err, TZ_ESTOP,
		    "stopped by %s in the default schedule", stop_name());
	run->base_insns = linux_run_insns_all(run);
	return 0;
}

/* The length of the default schedule gives the limit of the others. */
static int
measure_default(struct linux_run *run, struct tz_error *err)
{
	uint64_t limit = run->options.insns_max;
	int error;

	run->insns_max = limit != 0 ? limit : OPEN_INSNS_MAX;
	error = run_default(run, err);
	if (error != 0)
		return error;
	if (run->base.end == MACHINE_LIMIT)
		return tz_error(err, TZ_EUSAGE,
		    "the script does not end within %" PRIu64
		    " instructions after its mark",
		    run->insns_max);
	if (limit == 0)
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
		error = measure_default(run, err);
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
	/* From the unchanged code to the changed one: translations are dropped. */
	linux_run_restore(run, run->begin);
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
