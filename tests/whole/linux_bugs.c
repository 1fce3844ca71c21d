/*
 * Goal: an exploration of a booted kernel finds mistakes that Linux has had, or that
 * its code avoids.  Method: Debian's 6.1 kernel is booted once; for each mistake
 * some bytes of a function are changed at the mark, and a small budget is explored.
 * usage: linux_bugs KERNEL [FUNCTION]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explore/linux/linux_explore.h"

#define KIND(id) (UINT32_C(1) << DEVIATION_##id)
#define BUDGET   8 /* schedules of each kind, where nothing else is said */

struct bug {
	const char *name, *function;
	uint32_t count,
	    any; /* .any: offsets in a struct, which a build may move */
	uint8_t old[LINUX_PATCH_BYTES], with[LINUX_PATCH_BYTES];
	uint32_t kinds;  /* deviations that show it */
	check_rows rows; /* one of these is violated */
	/* Schedules of each kind that find it; 0: BUDGET do not, tried if it is named. */
	uint32_t budget;
};

#define ROW(id) CHECK_BIT(CHECK_##id)

static const struct bug bugs[] = {
	{ "a buffer that went from empty to full counts as empty",
	    "pt_update_head", 5, 0, { 0x45, 0x84, 0xdb, 0x75, 0xda },
	    { 0x45, 0x84, 0xdb, 0x90, 0x90 }, KIND(LOST) | KIND(PMI),
	    ROW(UNREPORTED_TAIL) | ROW(OVERWRITTEN) | ROW(REPORTED_ORDER),
	    BUDGET },
	{ "the region with STOP has no INT", "pt_buffer_reset_markers", 10,
	    0x40,
	    { 0x80, 0x08, 0x10, 0x48, 0x8b, 0x43, 0x68, 0x80, 0x08, 0x04 },
	    { 0x80, 0x08, 0x10, 0x48, 0x8b, 0x43, 0x68, 0x80, 0x08, 0x00 },
	    KIND(LOST) | KIND(PMI), ROW(STOP_INT), 1 },
	{ "the handler ignores the ToPA PMI's bit", "handle_pmi_common", 8, 0,
	    { 0xb8, 0x37, 0, 0, 0, 0x48, 0x0f, 0xb3 },
	    { 0xb8, 0x3f, 0, 0, 0, 0x48, 0x0f, 0xb3 }, KIND(PMI),
	    ROW(NMI_UNCLAIMED), 0 },
	{ "stop does not tell the handler to leave PT alone", "pt_event_stop",
	    10, 0x3c, { 0xc7, 0x85, 0, 0, 0, 0, 0, 0, 0, 0 },
	    { 0xc7, 0x85, 0, 0, 0, 0, 1, 0, 0, 0 }, KIND(PMI),
	    ROW(TRACE_LEFT_ON) | ROW(PANIC) | ROW(GP_FAULT), 0 },
	{ "stop keeps the output handle", "pt_event_stop", 10, 0,
	    { 0x5b, 0x48, 0x89, 0xef, 0x5d, 0x41, 0x5c, 0x41, 0x5d, 0xe9 },
	    { 0x5b, 0x48, 0x89, 0xef, 0x5d, 0x41, 0x5c, 0x41, 0x5d, 0xc3 },
	    KIND(PMI), ROW(PANIC) | ROW(UNREPORTED_TAIL), 1 },
	{ "PT stays on at a stop", "pt_event_stop", 6, 0x20,
	    { 0x40, 0xf6, 0xc6, 0x01, 0x74, 0 },
	    { 0x40, 0xf6, 0xc6, 0x01, 0xeb, 0 }, KIND(PMI),
	    ROW(TRACE_LEFT_ON) | ROW(GP_FAULT), 1 },
	{ "tracing stays off after a PMI", "pt_config_start", 11, 0,
	    { 0x48, 0x89, 0xea, 0x83, 0xce, 0x01, 0xbf, 0x70, 0x05, 0, 0 },
	    { 0x48, 0x89, 0xea, 0x83, 0xce, 0x00, 0xbf, 0x70, 0x05, 0, 0 },
	    KIND(PMI), ROW(TRACE_LEFT_OFF), 1 },
	{ "the PMI's handler takes a running trace for a stopped one",
	    "pt_event_start", 10, 0x3c, { 0xc7, 0x85, 0, 0, 0, 0, 0, 0, 0, 0 },
	    { 0xc7, 0x85, 0, 0, 0, 0, 1, 0, 0, 0 }, KIND(PMI),
	    ROW(TRACE_LEFT_OFF), 1 },
	{ "tracing is never turned on", "pt_event_start", 7, 0,
	    { 0x48, 0x83, 0xcb, 0x01, 0x85, 0xc0, 0x74 },
	    { 0x48, 0x83, 0xcb, 0x01, 0x85, 0xc0, 0x75 }, KIND(PMI),
	    ROW(TRACE_LEFT_OFF), 1 },
	{ "no buffer is ever open", "perf_aux_output_begin", 11, 0,
	    { 0x48, 0x8d, 0xbb, 0xf0, 0, 0, 0, 0x85, 0xd2, 0x0f, 0x84 },
	    { 0x48, 0x8d, 0xbb, 0xf0, 0, 0, 0, 0x85, 0xd2, 0x0f, 0x85 },
	    KIND(PMI), ROW(EMPTY_TRACE), 1 },
	{ "the AUX buffer is not freed", "rb_free_aux", 4, 0,
	    { 0x83, 0xf8, 0x01, 0x74 }, { 0x83, 0xf8, 0x00, 0x74 }, KIND(PMI),
	    ROW(LEAK), 1 },
	{ "nobody is told that the unit stopped", "pt_handle_status", 8, 0,
	    { 0xbe, 0x01, 0, 0, 0, 0x4c, 0x89, 0xe7 },
	    { 0xbe, 0x00, 0, 0, 0, 0x4c, 0x89, 0xe7 }, KIND(PMI),
	    ROW(STOPPED_SILENT), 1 },
	{ "a stop leaves the last bytes out", "pt_event_stop", 14, 0xf0,
	    { 0x48, 0x89, 0xef, 0xe8, 0, 0, 0, 0, 0x41, 0x80, 0x7c, 0x24, 0x50,
		0 },
	    { 0x48, 0x89, 0xef, 0xa9, 0, 0, 0, 0, 0x41, 0x80, 0x7c, 0x24, 0x50,
		0 },
	    KIND(PMI), ROW(UNREPORTED_TAIL), 1 },
	{ "the handler serves no PMI", "intel_pt_interrupt", 4, 0,
	    { 0x48, 0x85, 0xed, 0x74 }, { 0x48, 0x85, 0xed, 0x75 }, KIND(PMI),
	    ROW(PMI_LOST), 1 },
	{ "the flag TRUNCATED gets lost", "perf_aux_output_flag", 4, 0,
	    { 0x48, 0x09, 0x77, 0x20 }, { 0x0f, 0x1f, 0x40, 0x00 }, KIND(PMI),
	    ROW(STOPPED_SILENT), 1 },
	{ "no AUX record is made", "perf_aux_output_end", 4, 0,
	    { 0x48, 0x09, 0xd0, 0x74 }, { 0x48, 0x09, 0xd0, 0xeb }, KIND(PMI),
	    ROW(UNREPORTED_TAIL) | ROW(STOPPED_SILENT), 1 },
	{ "after STOP the offset stays that of the full region",
	    "pt_handle_status", 8, 0, { 0x48, 0xc7, 0x45, 0x30, 0, 0, 0, 0 },
	    { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, KIND(LOST) | KIND(STOP),
	    ROW(TOPA_ERROR) | ROW(REPORTED_UNWRITTEN) | ROW(REPORTED_TWICE),
	    1 },
};

static void
print_groups(const struct linux_explore *explore, const char *before)
{
	for (uint32_t i = 0; i < explore->stats->group_count; i++) {
		const struct stats_group *group = &explore->stats->group[i];
		char text[256] = "";
		uint64_t offset;
		const char *name = linux_code_name(linux_run_code(explore->run),
		    group->violation.site.rip, &offset);

		(void)schedule_format(&group->schedule, text, sizeof(text));
		printf("%s%s (%s) at %s+0x%llx: %s\n", before,
		    check_info(group->violation.id)->name, text, name,
		    (unsigned long long)offset, group->violation.text);
	}
}

static bool
has_row(const struct linux_explore *explore, check_rows rows)
{
	for (uint32_t i = 0; i < explore->stats->group_count; i++) {
		if (rows >> explore->stats->group[i].violation.id & 1)
			return true;
	}
	return false;
}

/* True if the kernel has other code, or if the exploration finds one of BUG's rows. */
static bool
is_found(struct linux_run *run, const struct bug *bug)
{
	struct linux_patch patch = { .count = bug->count, .any = bug->any };
	struct linux_explore_options options = { .kinds = bug->kinds,
		.budget = (bug->budget != 0 ? bug->budget : BUDGET) *
		    (uint64_t)__builtin_popcount(bug->kinds),
		.insns = UINT64_MAX,
		.jobs = 2 };
	struct linux_explore explore;
	struct tz_error err;
	bool found = false;

	snprintf(patch.function, sizeof(patch.function), "%s", bug->function);
	memcpy(patch.old, bug->old, sizeof(patch.old));
	memcpy(patch.with, bug->with, sizeof(patch.with));
	if (linux_run_patch(run, &patch, 1, &err) != 0) {
		printf("other code  %s: %s\n", bug->name, err.text);
		return true;
	}
	if (linux_explore(&explore, run, &options, &err) == 0) {
		found = has_row(&explore, bug->rows);
		printf("%s  %s\n", found ? "found" : "MISSED", bug->name);
		print_groups(&explore, "    ");
		fflush(stdout);
	} else {
		printf("%s: %s\n", bug->name, err.text);
	}
	linux_explore_close(&explore);
	return found;
}

int
main(int argc, char **argv)
{
	const struct linux_run_options options = {
		.guest = { .kernel = argc > 1 ? argv[1] : "",
		    .profile = "icelake",
		    .cpu_count = 1,
		    .memory_bytes = LINUX_GUEST_MEMORY }
	};
	struct linux_run *run = NULL;
	struct tz_error err;
	unsigned missed = 0;

	if (linux_run_open(&options, &run, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < TZ_ARRAY_LEN(bugs); i++) {
		const struct bug *bug = &bugs[i];

		if (argc < 3 ? bug->budget != 0
			     : strstr(bug->function, argv[2]) != NULL)
			missed += !is_found(run, bug) && bug->budget != 0;
	}
	printf("%u missed; the default schedule has %llu instructions\n",
	    missed, (unsigned long long)linux_run_insns(run));
	linux_run_close(run);
	return missed == 0 ? 0 : 1;
}
