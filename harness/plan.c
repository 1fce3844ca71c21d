#define _GNU_SOURCE
#include "harness/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emu/profile/profile.h"
#include "harness/load/build.h"
#include "harness/manifest/manifest.h"
#include "harness/run.h"

struct run_options
run_defaults(void)
{
	return (struct run_options){
		.driver = DRIVER_DEFAULT,
		.output = "topaz.out",
		.workload = "mix",
		.settings = "",
		.buffer_bytes = UINT64_C(1) << 20,
		.rounds = 1,
		.insns_max = RUN_LIMIT_BY_WORK,
		.cpu_count = 1,
		.cost = true,
		.trace_kernel = true,
		.trace_user = true,
		.invariants = true,
		.exec_log = true,
	};
}

static int
check_numbers(const struct run_options *options, struct tz_error *err)
{
	if (options->cpu_count < 1 || options->cpu_count > MACHINE_CPUS_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "--cpus %u: 1 to %d are possible", options->cpu_count,
		    MACHINE_CPUS_MAX);
	if (options->buffer_bytes == 0 ||
	    options->buffer_bytes % IMAGE_PAGE_BYTES != 0)
		return tz_error(err, TZ_EUSAGE,
		    "--buffer %" PRIu64 ": not a positive multiple of 4096",
		    options->buffer_bytes);
	if (options->buffer_bytes > PLAN_RAM_BYTES / 2 / options->cpu_count)
		return tz_error(err, TZ_EUSAGE,
		    "--buffer %" PRIu64 ": %u of them do not fit into half of "
		    "the guest's %" PRIu64 " MiB",
		    options->buffer_bytes, options->cpu_count,
		    PLAN_RAM_BYTES >> 20);
	if (options->insns_max == 0)
		return tz_error(err, TZ_EUSAGE, "--limit 0: at least 1");
	if (options->rounds == 0)
		return tz_error(err, TZ_EUSAGE, "--rounds 0: at least 1");
	return 0;
}

/* Checks that there is a program w_NAME for each name of the list. */
static int
check_workload(const struct plan *plan, struct tz_error *err)
{
	const char *at = plan->options->workload;
	size_t bytes, i;

	for (;; at += bytes + 1) {
		bytes = strcspn(at, ",");
		for (i = 0; i < plan->paths.program_count; i++) {
			const char *name = plan->paths.program[i].name;

			if (strncmp(name, "w_", 2) == 0 &&
			    strlen(name) == bytes + 2 &&
			    strncmp(name + 2, at, bytes) == 0)
				break;
		}
		if (i == plan->paths.program_count)
			return tz_error(err, TZ_ENOENT,
			    "--workload %.*s: no such workload; see: topaz "
			    "list workloads",
			    (int)bytes, at);
		if (at[bytes] == '\0')
			return 0;
	}
}

static int
say_tree(const char *tree, char *const *files, const char *source,
    struct tz_error *err)
{
	size_t i;

	if (files[0] == NULL && source[0] == '\0')
		return tz_error(err, TZ_EUSAGE,
		    "--freebsd-tree %s: none of the files that topaz takes from "
		    "a tree is there, such as sys/dev/hwt/hwt_backend.h or "
		    "sys/amd64/pt/pt.h",
		    tree);
	fprintf(stderr, "topaz: from the tree:");
	for (i = 0; files[i] != NULL; i++)
		fprintf(stderr, " %s", files[i]);
	fprintf(stderr, "%s%s\n", source[0] != '\0' ? " " : "", source);
	return 0;
}

/*
 * Prints which files come from the user's tree; the driver's SOURCE is the last ("": it is
 * not from the tree).  It is an error if no file comes from the tree.
 */
static int
check_tree(const struct plan *plan, const char *source, struct tz_error *err)
{
	const char *tree = plan->options->tree;
	struct build_kpi *kpi = NULL;
	char **files;
	int error;

	if (access(tree, R_OK | X_OK) != 0)
		return tz_error(err, TZ_EUSAGE, "--freebsd-tree %s: %s", tree,
		    strerror(errno));
	error = build_kpi_read(plan->paths.source, plan->driver.os, &kpi, err);
	if (error != 0)
		return error;
	files = build_tree_files(kpi, tree);
	error = files != NULL ? say_tree(tree, files, source, err)
			      : tz_error(err, TZ_EIO, "out of memory");
	build_strings_free(files);
	build_kpi_free(kpi);
	return error;
}

static int
check_source(struct plan *plan, struct tz_error *err)
{
	const struct run_options *options = plan->options;
	const struct driver *driver = &plan->driver;
	const char *source = "";
	int error;

	if (options->tree != NULL && strcmp(driver->os, "freebsd") != 0)
		return tz_error(err, TZ_EUSAGE,
		    "--freebsd-tree %s: %s is no driver of FreeBSD",
		    options->tree, options->driver);
	if (options->source == NULL && driver->source_count == 0 &&
	    !options->objects) {
		source = driver->tree_source;
		if (source[0] == '\0')
			return tz_error(err, TZ_EUSAGE,
			    "%s: its source is not part of topaz: --source FILE",
			    options->driver);
		if (options->tree == NULL)
			return tz_error(err, TZ_EUSAGE,
			    "%s: its source is not part of topaz: --source FILE, "
			    "or --freebsd-tree DIR with %s",
			    options->driver, source);
		error = driver_use_tree(&plan->driver, options->tree, err);
		if (error != 0)
			return error;
	}
	return options->tree != NULL ? check_tree(plan, source, err) : 0;
}

/* Checks also the parts of driver.yaml that a run does not use. */
static int
check_rest(const struct plan *plan, struct tz_error *err)
{
	const struct run_options *options = plan->options;
	struct manifest *manifest;
	int error = manifest_read(
	    options->drivers != NULL ? options->drivers : plan->paths.drivers,
	    options->driver, &manifest, err);

	if (error == 0)
		manifest_free(manifest);
	return error;
}

static int
check_settings(const struct plan *plan, struct tz_error *err)
{
	const struct word_readers readers = driver_readers(&plan->driver);
	struct tz_error why;

	if (words_check(plan->options->settings, &readers, &why) == 0)
		return 0;
	return tz_error(err, TZ_EUSAGE, "--set %s", why.text);
}

static int
plan_check(struct plan *plan, struct tz_error *err)
{
	const struct run_options *options = plan->options;
	int error = check_numbers(options, err);

	if (error == 0)
		error = check_workload(plan, err);
	if (error != 0)
		return error;
	error = driver_read(
	    options->drivers != NULL ? options->drivers : plan->paths.drivers,
	    options->driver, &plan->driver, err);
	if (error != 0)
		return error;
	error = driver_check(&plan->driver, &plan->paths, err);
	if (error == 0)
		error = cpu_set_parse(options->profile != NULL
			? options->profile
			: plan->driver.profile,
		    options->errata, &plan->cpu_set, err);
	if (error == 0 && options->cost)
		cpu_set_use_cost(&plan->cpu_set);
	if (error == 0)
		error = check_rest(plan, err);
	if (error == 0)
		error = check_settings(plan, err);
	if (error == 0)
		error = check_source(plan, err);
	if (error != 0)
		return error;
	plan->thread_mode = options->mode == RUN_MODE_THREAD ||
	    (options->mode == RUN_MODE_ANY && !plan->driver.cpu_mode);
	if (!(plan->thread_mode ? plan->driver.thread_mode
				: plan->driver.cpu_mode))
		return tz_error(err, TZ_EUSAGE, "--mode %s: not a mode of %s",
		    plan->thread_mode ? "thread" : "cpu", options->driver);
	return 0;
}

static bool
has_word(const char *line, const char *key)
{
	size_t bytes = strlen(key);

	while (*line != '\0') {
		if (strncmp(line, key, bytes) == 0 && line[bytes] == '=')
			return true;
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return false;
}

/* Adds the boot parameter KEY=VALUE unless KEY is there already: the first one counts. */
static void add_word(struct plan *plan, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void
add_word(struct plan *plan, const char *key, const char *fmt, ...)
{
	size_t used = strlen(plan->cmdline);
	size_t left = sizeof(plan->cmdline) - used;
	char value[PLAN_CMDLINE_BYTES];
	va_list ap;

	if (has_word(plan->cmdline, key))
		return;
	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	/* plan_cmdline() detects an overflow by a full line. */
	snprintf(plan->cmdline + used, left, "%s%s=%s", used != 0 ? " " : "",
	    key, value);
}

/* The boot parameters of harness/kpi/OS/README.md: those that the user set come first. */
static int
plan_cmdline(struct plan *plan, struct tz_error *err)
{
	const struct run_options *options = plan->options;
	size_t i;

	snprintf(plan->cmdline, sizeof(plan->cmdline), "%s", options->settings);
	add_word(plan, "mode", "%s", plan->thread_mode ? "thread" : "cpu");
	add_word(plan, "cpus", "%u", options->cpu_count);
	add_word(plan, "buf", "%" PRIu64, options->buffer_bytes);
	add_word(plan, "workload", "%s", options->workload);
	add_word(plan, "rounds", "%" PRIu64, options->rounds);
	add_word(plan, "kernel", "%d", options->trace_kernel);
	add_word(plan, "user", "%d", options->trace_user);
	add_word(plan, "owner", "%s", plan->driver.owner);
	for (i = 0; i < plan->driver.default_count; i++)
		add_word(plan, plan->driver.defaults[i].key, "%s",
		    plan->driver.defaults[i].value);
	if (strlen(plan->cmdline) + 1 >= sizeof(plan->cmdline))
		return tz_error(err, TZ_EUSAGE,
		    "--workload and --set: the guest's command line would be "
		    "longer than %d characters",
		    PLAN_CMDLINE_BYTES - 2);
	return 0;
}

int
plan_make(
    struct plan *plan, const struct run_options *options, struct tz_error *err)
{
	int error;

	*plan = (struct plan){ .options = options };
	error = paths_find(&plan->paths, err);
	if (error == 0)
		error = plan_check(plan, err);
	if (error == 0)
		error = plan_cmdline(plan, err);
	return error;
}

void
plan_free(struct plan *plan)
{
	driver_free(&plan->driver);
	paths_free(&plan->paths);
}
