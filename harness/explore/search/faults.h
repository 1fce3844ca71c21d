/*
 * The fault campaign: every fault of the table at every point of every scenario,
 * and what becomes of it.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_FAULTS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_FAULTS_H

#include "harness/explore/search/campaign.h"

/* Schedules of all faults together, if no budget is given. */
#define FAULTS_BUDGET_DEFAULT 60000

enum fault_kind {
	FAULT_DEVIATION, /* a deviation, at each boundary where it is possible */
	FAULT_LAYOUT,    /* a guest that is set up so */
	FAULT_STEP,      /* an operation more, before each of the sequence's */
};

struct fault_row {
	const char *name;
	enum fault_kind kind;
	enum deviation_kind deviation; /* FAULT_DEVIATION */
	const char *point;             /* where it is caused */
	const char *text, *citation;
};

/* The INDEX-th row; false past the last.  Strings are static. */
bool fault_at(size_t index, struct fault_row *row);

/*
 * Detected: the driver reports it, and nothing is lost without a word; tolerated:
 * nothing is lost; silent: something is, without a word; broken: the kernel or the
 * driver comes to grief; framework: another module does, by the failure of a call of
 * its own, with the driver not at work.
 */
struct fault_result {
	char name[32];
	uint64_t points, detected, tolerated, silent, broken, framework;
	const struct stats_group *first_silent, *first_broken; /* or NULL */
};

/* The faults among KINDS, one bit a deviation_kind. */
unsigned faults_acts(uint32_t kinds);

/*
 * Called by campaign_run() for .faults: the budget in equal parts for the deviations of
 * .kinds and the entries.
 */
int faults_explore(struct campaign *campaign, struct tz_error *err);

/* After campaign_run(): the results of row INDEX. */
void faults_result(
    const struct campaign *campaign, size_t index, struct fault_result *result);

#endif
