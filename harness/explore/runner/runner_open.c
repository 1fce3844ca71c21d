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
#include "harness/host/stop.h"

#define BOOT_INSNS_MAX UINT64_C(200000000)

static void
add_range(const struct image_segment *segment, uint64_t range[2])
{
	range[0] = segment->va;
	range[1] = segment->va + segment->bytes + segment->zero_bytes;
}

/* Modules are loaded at consecutive addresses. */
static void
note_module(struct runner *runner, const struct image *image)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		uint64_t range[2];

		if (!(image->segment[i].flags & ABI_SEG_EXEC))
			continue;
		add_range(&image->segment[i], range);
		if (range[0] < runner->modules_begin)
			runner->modules_begin = range[0];
		if (range[1] > runner->modules_end)
			runner->modules_end = range[1];
	}
}

/* Finds the ranges of the driver's and the kernel's code and data. */
static void
find_ranges(struct runner *runner, struct check_config *config)
{
	const char *driver = runner->build_cache->plan.driver.module;
	unsigned text = 0, data = 0, kernel = 0;

	runner->modules_begin = UINT64_MAX;
	for (size_t i = 0; i < runner->boot.image_count; i++) {
		const struct image *image = &runner->boot.image[i];
		bool is_driver = strcmp(image->name, driver) == 0;

		if (image->kind == IMAGE_PROGRAM)
			continue;
		if (image->kind == IMAGE_MODULE)
			note_module(runner, image);
		for (size_t j = 0; j < image->segment_count; j++) {
			const struct image_segment *segment =
			    &image->segment[j];
			uint64_t range[2];

			add_range(segment, range);
			if (is_driver && (segment->flags & ABI_SEG_EXEC)) {
				config->driver_text[text].begin = range[0];
				config->driver_text[text++].end = range[1];
				runner->driver_begin = range[0];
				runner->driver_end = range[1];
			} else if (is_driver) {
				config->driver_data[data].begin = range[0];
				config->driver_data[data++].end = range[1];
			} else if ((segment->flags & ABI_SEG_WRITE) &&
			    kernel < TZ_ARRAY_LEN(config->kernel_data)) {
				config->kernel_data[kernel].begin = range[0];
				config->kernel_data[kernel++].end = range[1];
			}
		}
	}
}

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
load(struct runner *runner, const char *settings, struct tz_error *err)
{
	const struct plan *plan = &runner->build_cache->plan;
	char cmdline[PLAN_CMDLINE_BYTES];
	const struct boot_request request = {
		.kernel = paths_kernel(&plan->paths, plan->driver.os),
		.module = runner->set->part,
		.module_count = runner->set->count,
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
	    runner->layout.settings, settings);
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
		config->enabled &= ~TZ_BIT(id);
	}
	/* The manifest does not say what a driver supports on other machines. */
	if (!support_is_usual(&runner->cpu_set, runner->cpus) ||
	    (runner->cpu_set.count != 1 && !manifest_is_hybrid(manifest)))
		config->enabled &= ~TZ_BIT(CHECK_VALID_REFUSED);
	return 0;
}

static int
make_check(struct runner *runner, struct tz_error *err)
{
	struct check_config config = {
		.reads = check_reads_machine(runner->machine),
		.site = runner_site,
		.access_site = runner_access_site,
		.site_arg = runner,
		.cpu_count = runner->cpus,
		.ram_bytes = RUNNER_RAM_BYTES,
		.positions = manifest_has_positions(
		    runner->build_cache->manifest),
		.enabled = check_all(),
	};
	int error;

	runner->symbols = symbols_create(
	    runner->boot.image, runner->boot.image_count);
	if (runner->symbols == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	find_ranges(runner, &config);
	memcpy(runner->driver_data, config.driver_data,
	    sizeof(runner->driver_data));
	error = leave_out(runner, &config, err);
	if (error != 0)
		return error;
	runner_watch_modules(runner, false);
	runner_audit(runner, &config);
	runner->check = check_create(&config);
	if (runner->check == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	return 0;
}

/* Boots up to the script, and saves the state that every run begins with. */
static int
boot(struct runner *runner, struct tz_error *err)
{
	struct machine_counters counters;

	machine_boot(runner->machine, runner->boot.entry, runner->boot.info_va,
	    runner->boot.cr3);
	machine_run(runner->machine, BOOT_INSNS_MAX, &runner->result);
	if (runner->cut)
		return stop_error(err);
	if (runner->result.end != MACHINE_STOP || runner->script_pa == 0)
		return tz_error(err,
		    runner->result.end == MACHINE_UNMODELLED ? TZ_EMODEL
							     : TZ_EFORMAT,
		    "%s: the guest does not get as far as the script: %s",
		    runner->build_cache->config.driver, runner->result.text);
	if (runner->script_bytes < sizeof(struct script))
		return tz_error(err, TZ_EFORMAT,
		    "%s: the actor program takes scripts of %" PRIu64
		    " bytes only",
		    runner->build_cache->config.driver, runner->script_bytes);
	for (unsigned i = 0; i < runner->cpus; i++) {
		machine_counters(runner->machine, i, &counters);
		runner->insns[i] = counters.insns;
		if (counters.cycles > runner->cycles)
			runner->cycles = counters.cycles;
	}
	runner->ready = runner_save(runner);
	if (runner->ready == NULL)
		return tz_error(err, TZ_EIO, "out of memory for a snapshot");
	return 0;
}

int
runner_open(struct build_cache *build_cache, unsigned cpus, const char *layout,
    const char *settings, struct runner **out, struct tz_error *err)
{
	struct runner *runner = calloc(1, sizeof(*runner));
	int error;

	if (runner == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	runner->build_cache = build_cache;
	runner->cpus = cpus;
	runner->limit = RUNNER_INSNS_MAX;
	runner->fail_index = UINT64_MAX;
	snprintf(
	    runner->layout_text, sizeof(runner->layout_text), "%s", layout);
	snprintf(runner->settings, sizeof(runner->settings), "%s", settings);
	runner->cpu_set = build_cache->plan.cpu_set;
	error = layout_parse(layout, &runner->layout, err);
	if (error == 0)
		error = layout_cpu_set(
		    &runner->layout, cpus, &runner->cpu_set, err);
	if (error == 0)
		error = build_cache_build(
		    build_cache, runner->layout.invariants, &runner->set, err);
	if (error == 0)
		error = make_machine(runner, err);
	if (error == 0)
		error = load(runner, settings, err);
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
	runner_mark_free(runner, runner->ready);
	symbols_destroy(runner->symbols);
	check_destroy(runner->check);
	boot_free(&runner->boot);
	machine_destroy(runner->machine);
	free(runner);
}
