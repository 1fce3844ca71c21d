/*
 * The state of a run, for linux_open.c, linux_judge.c and linux_run.c only.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_RUN_INTERNAL_H
#define TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_RUN_INTERNAL_H

#include "harness/explore/linux/linux_perf.h"
#include "harness/explore/linux/linux_run.h"
#include "harness/host/folder/tree.h"

#define LINE_BYTES 256

/* What a mark saves of a run beside the guest. */
struct linux_progress {
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
	/* The calls that set up AUX buffers, and the one at the mark that begins to
	 * fill one. */
	struct audit_call early[LINUX_PERF_BUFFERS + 1];
	unsigned early_count;
	bool opening, at_begin;
	struct check *check;
	struct linux_progress now;
	struct linux_run_mark *begin;     /* without a patch */
	struct linux_run_mark *patched;   /* or NULL */
	uint64_t insns[MACHINE_CPUS_MAX]; /* at the mark */
	size_t console;                   /* characters at the mark */
	uint64_t base_insns, insns_max;
	struct outcome base;
	uint16_t token;
	struct linux_guest_state state;
	linux_run_step step;
	void *step_arg;
};

/* Connects the run with its guest's machine. */
void linux_run_set_observer(struct linux_run *run);

/* Instructions since the mark: of CPU, of all CPUs. */
uint64_t linux_run_insns_of(struct linux_run *run, unsigned cpu);
uint64_t linux_run_insns_all(struct linux_run *run);

/* The script's exit code has arrived; how the guest powers off is not explored. */
bool linux_run_has_exited(const struct linux_run *run);

#endif
