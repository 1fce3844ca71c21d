/*
 * Findings and runs that are made up for the tests of the reports: no driver does
 * this.
 */
#ifndef TOPAZ_TESTS_UNIT_REPORT_FIXTURE_H
#define TOPAZ_TESTS_UNIT_REPORT_FIXTURE_H

#include "harness/report/report.h"

enum fixture_kind {
	FIXTURE_RACE,  /* two CPUs, a PMI and a switch */
	FIXTURE_ONE,   /* one CPU, a buffer that wraps and stops */
	FIXTURE_EIGHT, /* eight CPUs, each traces a little */
	FIXTURE_LARGE, /* two CPUs, 20 000 events */
	FIXTURE_EMPTY, /* no events at all, hostile strings */
	FIXTURE_COUNT
};

#define FIXTURE_LARGE_EVENTS 20000

/* Anything that could break a format or a terminal. */
extern const char fixture_hostile[];

void fixture_finding(enum fixture_kind kind, struct finding *finding);
/* To be freed by finding_timeline_free(). */
void fixture_story(enum fixture_kind kind, struct finding_timeline *timeline);
/* All kinds; to be freed by report_summary_free(). */
void fixture_summary(struct finding_summary *summary);

#endif
