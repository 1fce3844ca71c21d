/*
 * Starts a guest from a build cache, up to the point where it waits for a script.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/guest_abi.h"
#include "emu/profile/cpu_set.h"
#include "harness/explore/runner/runner_internal.h"
#include "harness/explore/runner/support.h"
#include "harness/guest/memory/frame.h"
#include "harness/host/stop.h"
#include "harness/load/elf/symtab.h"

#define BOOT_INSNS_MAX UINT64_C(200000000)

static int
make_machine(struct runner *runner, struct tz_error *err)
{
	const struct machine_config config = {
		.cpu_set = &runner->cpu_set,
		.cpu_count = runner->cpus,
		.ram_bytes = RUNNER_RAM_BYTES,
	};
	const struct machine_observer observer = runner_observer(runner);

	return machine_create(&config, &observer, &runner->machine, err);
}

static int
load(struct runner *runner, const struct layout *layout,
    const struct build_set *set, struct tz_error *err)
{
	const struct plan *plan = &runner->build_cache->plan;
	char cmdline[PLAN_CMDLINE_BYTES];
	const struct boot_request request = {
		.kernel = paths_kernel(&plan->paths, plan->driver.os),
		.module = set->part,
		.module_count = set->count,
		.program = plan->paths.program,
		.program_count = plan->paths.program_count,
		.cmdline = cmdline,
		.cpu_count = runner->cpus,
		.tsc_hz = profile_tsc_hz(cpu_set_of(&runner->cpu_set, 0)),
	};

	/* The first occurrence of a word counts: a setting of the layout takes
	 * precedence. */
	snprintf(cmdline, sizeof(cmdline), "init=%s cpus=%u %s %s slice=0",
	    manifest_actor(runner->build_cache->manifest), runner->cpus,
	    layout->settings, runner->boot_settings);
	return boot_load(&request, machine_ram(runner->machine),
	    RUNNER_RAM_BYTES, &runner->boot, err);
}

/* Disables the invariants that the manifest excludes or has no data for. */
static int
leave_out(const struct runner *runner, struct check_config *config,
    struct tz_error *err)
{
	const struct manifest *manifest = runner->build_cache->manifest;
	const char *name;

	for (size_t i = 0; (name = manifest_without(manifest, i)) != NULL;
	     i++) {
		enum check_id id = check_find(name);

		if (id == CHECK_COUNT)
			return tz_error(err, TZ_EFORMAT,
			    "%s: without: %s: no such check; see: topaz list "
			    "checks",
			    runner->build_cache->config.driver, name);
		config->enabled &= ~CHECK_BIT(id);
	}
	/* The manifest does not say what a driver supports on other machines. */
	if (!support_is_usual(&runner->cpu_set, runner->cpus,
		profile_find(runner->build_cache->plan.driver.profile)) ||
	    (runner->cpu_set.count != 1 && !manifest_is_hybrid(manifest)))
		config->enabled &= ~CHECK_BIT(CHECK_VALID_REFUSED);
	return 0;
}

/* Finds the variables of the kernel that the manifest lets the driver store to. */
static int
find_stores_to(const struct runner *runner, struct check_config *config,
    struct tz_error *err)
{
	const struct manifest *manifest = runner->build_cache->manifest;
	const char *name;

	while ((name = manifest_stores_to(manifest, config->stores_to_count)) !=
	    NULL) {
		struct check_range *range =
		    &config->stores_to[config->stores_to_count++];
		uint64_t bytes;

		if (!symtab_find(
			runner->boot.exports, name, &range->begin, &bytes) ||
		    bytes == 0)
			return tz_error(err, TZ_EFORMAT,
			    "%s: stores_to: %s: neither the kernel nor a module "
			    "has such a variable",
			    runner->build_cache->config.driver, name);
		range->end = range->begin + bytes;
	}
	return 0;
}

static int
compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Lists the functions of CONFIG in ascending order, without duplicates; returns their
 * number.
 */
static size_t
list_callees(struct runner *runner, const struct check_config *config)
{
	uint64_t *callee = runner->callee;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < check_callee_count(); i++) {
		if (config->callee[i] != 0)
			callee[count++] = config->callee[i];
	}
	qsort(callee, count, sizeof(callee[0]), compare_addresses);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || callee[i] != callee[kept - 1])
			callee[kept++] = callee[i];
	}
	return kept;
}

static void
name_place(void *arg, uint64_t va, char *text, size_t size)
{
	struct runner *runner = arg;

	symbols_format(runner->code.symbols, va, NULL, text, size);
}

/*
 * Makes the machine report the loads, stores and calls of the driver to the monitors;
 * fills in CONFIG for them.
 */
static void
audit_driver(struct runner *runner, struct check_config *config)
{
	const struct abi_boot *info = (const void *)(machine_ram(
							 runner->machine) +
	    (runner->boot.info_va - ABI_DMAP));

	for (size_t i = 0; i < check_callee_count(); i++) {
		if (!symtab_find(runner->boot.exports, check_callee_name(i),
			&config->callee[i], NULL))
			config->callee[i] = 0;
	}
	config->frames_pa = frame_table_pa(info->free_pa);
	config->name = name_place;
	config->name_arg = runner;
	machine_set_audit(runner->machine,
	    &(struct audit){ .begin = runner->code.driver.begin,
		.end = runner->code.driver.end,
		.function = runner->callee,
		.function_count = list_callees(runner, config) });
}

static int
make_check(struct runner *runner, struct tz_error *err)
{
	struct check_config config = {
		.reads = check_reads_machine(runner->machine),
		.site = runner_code_site,
		.access_site = runner_code_access_site,
		.site_arg = runner,
		.cpu_count = runner->cpus,
		.ram_bytes = RUNNER_RAM_BYTES,
		.positions = manifest_has_positions(
		    runner->build_cache->manifest),
		.exit_code = manifest_exit_code(runner->build_cache->manifest),
		.enabled = check_all(),
	};
	int error;

	config.leaves_count = manifest_leaves(
	    runner->build_cache->manifest, config.leaves);
	if (!runner_code_find(runner, &config))
		return tz_error(err, TZ_EIO, "out of memory");
	error = leave_out(runner, &config, err);
	if (error == 0)
		error = find_stores_to(runner, &config, err);
	if (error != 0)
		return error;
	runner_watch_modules(runner, false);
	audit_driver(runner, &config);
	runner->check = check_create(&config);
	if (runner->check == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	return 0;
}

/* Boots up to the script, and saves the state that every run begins with. */
static int
boot(struct runner *runner, struct tz_error *err)
{
	struct machine_result result;
	struct runner_start *start = &runner->start;
	struct machine_counters counters;

	machine_boot(runner->machine, runner->boot.entry, runner->boot.info_va,
	    runner->boot.cr3);
	machine_run(runner->machine, BOOT_INSNS_MAX, &result);
	if (runner_is_cut(runner))
		return stop_error(err);
	if (result.end != MACHINE_STOP || runner->control.script_pa == 0)
		return tz_error(err,
		    result.end == MACHINE_UNMODELLED ? TZ_EMODEL : TZ_EFORMAT,
		    "%s: the guest does not get as far as the script: %s",
		    runner->build_cache->config.driver, result.text);
	if (runner->control.script_bytes < sizeof(struct script))
		return tz_error(err, TZ_EFORMAT,
		    "%s: the actor program takes scripts of %" PRIu64
		    " bytes only",
		    runner->build_cache->config.driver,
		    runner->control.script_bytes);
	for (unsigned i = 0; i < runner->cpus; i++) {
		machine_counters(runner->machine, i, &counters);
		start->insns[i] = counters.insns;
		if (counters.cycles > start->cycles)
			start->cycles = counters.cycles;
	}
	start->mark = runner_save(runner);
	if (start->mark == NULL)
		return tz_error(err, TZ_EIO, "out of memory for a snapshot");
	return 0;
}

int
runner_open(struct build_cache *build_cache, unsigned cpus,
    const char *layout_words, const char *settings, struct runner **out,
    struct tz_error *err)
{
	struct runner *runner = calloc(1, sizeof(*runner));
	const struct build_set *set;
	struct layout layout;
	int error;

	if (runner == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	runner->build_cache = build_cache;
	runner->cpus = cpus;
	runner_limit(runner, RUNNER_INSNS_MAX);
	snprintf(runner->boot_settings, sizeof(runner->boot_settings), "%s",
	    settings);
	runner->cpu_set = build_cache->plan.cpu_set;
	error = layout_parse(layout_words, &layout, err);
	if (error == 0)
		error = layout_cpu_set(&layout, cpus, &runner->cpu_set, err);
	if (error == 0)
		error = build_cache_build(
		    build_cache, layout.invariants, &set, err);
	if (error == 0)
		error = make_machine(runner, err);
	if (error == 0)
		error = load(runner, &layout, set, err);
	if (error == 0)
		error = make_check(runner, err);
	if (error == 0)
		error = boot(runner, err);
	if (error != 0) {
		runner_close(runner);
		return error;
	}
	*out = runner;
	return 0;
}

void
runner_close(struct runner *runner)
{
	if (runner == NULL)
		return;
	runner_mark_free(runner, runner->start.mark);
	symbols_destroy(runner->code.symbols);
	check_destroy(runner->check);
	boot_free(&runner->boot);
	machine_destroy(runner->machine);
	free(runner);
}
