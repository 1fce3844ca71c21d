/*
 * The fault campaign: runs every fault of the table at every point of every scenario
 * and classifies the result.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_FAULTS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_FAULTS_H

#include "harness/explore/parts/campaign_state.h"

/* Default budget: schedules of all faults together. */
#define FAULTS_BUDGET_DEFAULT 60000

enum fault_kind {
	FAULT_DEVIATION, /* a deviation, at each boundary where it is possible */
	FAULT_LAYOUT,    /* a layout: a guest set up with the fault */
	/* an additional operation, before each of the sequence's */
	FAULT_STEP,
};

struct fault_row {
	const char *name;
	enum fault_kind kind;
	enum deviation_kind deviation; /* FAULT_DEVIATION */
	const char *point;             /* place where it is injected */
	const char *text, *citation;
};

/* The INDEX-th row; false after the last.  Strings are static. */
bool fault_at(size_t index, struct fault_row *row);

/*
 * Detected: the driver reports it, and every loss is reported.  Tolerated: nothing is
 * lost.  Silent: a loss is not reported.  Broken: the kernel or the driver crashes.
 * Framework: another module crashes because its own call was made to fail, while no
 * driver code was running.
 */
struct fault_result {
	char name[32];
	uint64_t points, detected, tolerated, silent, broken, framework;
	const struct stats_group *first_silent, *first_broken; /* or NULL */
};

/*
 * The number of deviations among KINDS that fault campaigns try,
 * one bit for each deviation_kind.
 */
unsigned faults_deviations(uint32_t kinds);

/*
 * Called by campaign_run() if .faults: divides the budget equally among the deviations
 * of .kinds and the entries.
 */
int faults_explore(struct campaign *campaign, struct tz_error *err);

/* After campaign_run(): the results of row INDEX. */
void faults_result(
    const struct campaign *campaign, size_t index, struct fault_result *result);

#endif
