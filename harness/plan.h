/*
 * The plan of a run, made from its options and checked before anything is built or
 * written.
 */
#ifndef TOPAZ_HARNESS_PLAN_H
#define TOPAZ_HARNESS_PLAN_H

#include "emu/profile/cpu_set.h"
#include "harness/drivers.h"
#include "harness/load/paths.h"

#define PLAN_RAM_BYTES     (UINT64_C(256) << 20)
#define PLAN_CMDLINE_BYTES 512

struct run_options;

struct plan {
	const struct run_options *options;
	struct paths paths;
	struct driver driver;
	struct cpu_set cpu_set;
	bool thread_mode;
	char cmdline[PLAN_CMDLINE_BYTES]; /* the guest's boot parameters */
};

/*
 * Errors as for run_driver().  OPTIONS must outlive PLAN.  The caller frees PLAN also
 * after an error.
 */
int plan_make(
    struct plan *plan, const struct run_options *options, struct tz_error *err);
void plan_free(struct plan *plan);

#endif
