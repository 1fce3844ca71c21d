/*
 * Goal: what a schedule costs beyond running its instructions, and where that
 * grows; what it costs to judge each load, store and call of the driver.  Method:
 * topaz's own driver; the same placements with merging and without, and as the
 * reference plain re-execution in the same process: the machine goes back to the script
 * and runs to its end.  Monitors hear its events there, too, but are neither put back
 * nor asked for a verdict.  A schedule begins at a mark near its deviation, a plain run
 * at the script: hence ratios above 1.  The last ratio is of the same schedules on two
 * machines, in turns, with an audit of the driver and without.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/explore/runner/runner_pool.h"
#include "harness/explore/search/campaign.h"

#define KINDS                                                   \
 (UINT32_C(1) << DEVIATION_PMI | UINT32_C(1) << DEVIATION_NMI | \
     UINT32_C(1) << DEVIATION_SWITCH)
#define SECONDS_EACH 1.0 /* at least so long is measured */
#define SAMPLE       400 /* placements of one share, about */

struct subject {
	const char *name, *text;
};

static const struct subject subjects[] = {
	{ "1000 insns, 1 CPU",
	    "insntrace,ndebug=open+init+getalloc+terminate+init+init+getalloc+terminate" },
	{ "1000 insns, 2 CPUs", "insntrace@2,ndebug=open+init-+1getalloc" },
	{ "short, 1 CPU", "insntrace,ndebug=open+getalloc" },
	{ "short, 2 CPUs", "insntrace@2,ndebug=open-+1getalloc" },
	{ "session, 1 CPU", "insntrace=open+init+allocbuf+start+stop" },
	{ "session, 2 CPUs",
	    "insntrace@2=open+init+allocbuf+allocbuf+start+stop" },
	{ "session, 4 CPUs",
	    "insntrace@4=open+init+allocbuf+allocbuf+allocbuf+allocbuf"
	    "+start+stop" },
	{ "100 branches", "insntrace=open+init+allocbuf+start+work+stop" },
	{ "1200 branches", "insntrace=open+init+allocbuf+start+work.1+stop" },
	{ "6000 branches", "insntrace=open+init+allocbuf+start+work.2+stop" },
};

static struct runner_pool *runner_pool, *unaudited;
static struct build_cache *build_cache;

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void
give_up(const struct tz_error *err)
{
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static void
open_trial(struct trial *trial, struct runner_pool *where,
    const struct subject *subject, bool merge)
{
	const struct trial_options options = {
		.kinds = KINDS, .merge = merge, .reduce = true
	};
	struct campaign_entry entry;
	struct runner *runner = NULL;
	struct token token;
	struct tz_error err;

	if (token_parse_subject(subject->text, &token, &err) != 0 ||
	    campaign_entry_read(
		build_cache_manifest(build_cache), &token, &entry, &err) != 0 ||
	    runner_pool_get(where, entry.cpus, entry.layout, entry.settings,
		&runner, &err) != 0)
		give_up(&err);
	if (where == unaudited)
		machine_set_audit(
		    runner_machine(runner), &(struct audit){ .begin = 0 });
	if (trial_open(trial, runner, &entry.sequence, &options, &err) != 0)
		give_up(&err);
}

/* The parts of a subject's placements, about SAMPLE each. */
static unsigned
count_shares(const struct trial *trial)
{
	return (unsigned)(trial_count(trial) / SAMPLE + 1);
}

static double
time_share(
    struct trial *trial, const struct trial_share *share, struct stats *stats)
{
	double start = seconds();

	trial_one(trial, share, stats, 0);
	return seconds() - start;
}

/*
 * Schedules a second: all blocks in turn until the time is over, and from the
 * first one again with nothing known.
 */
static double
time_schedules(
    const struct subject *subject, bool merge, uint64_t *merged, uint64_t *done)
{
	struct stats *stats = calloc(1, sizeof(*stats));
	struct trial_share share = { .keep = TRIAL_KEEP_ALL };
	struct trial trial;
	double time = 0;

	if (stats == NULL)
		abort();
	open_trial(&trial, runner_pool, subject, merge);
	share.workers = count_shares(&trial);
	while (time < SECONDS_EACH) {
		time += time_share(&trial, &share, stats);
		if (++share.worker == share.workers) {
			share.worker = 0;
			trial_close(&trial);
			open_trial(&trial, runner_pool, subject, merge);
		}
	}
	*done = stats->area[0].done;
	*merged = stats->area[0].merged;
	trial_close(&trial);
	free(stats);
	return (double)*done / time;
}

/* How much longer merged schedules take where the driver is audited: a ratio. */
static double
time_audit(const struct subject *subject)
{
	struct runner_pool *const where[] = { runner_pool, unaudited };
	struct trial_share share = { .keep = TRIAL_KEEP_ALL };
	struct stats *stats = calloc(1, sizeof(*stats));
	double time[2] = { 0, 0 };

	if (stats == NULL)
		abort();
	while (time[0] + time[1] < 2 * SECONDS_EACH) {
		struct trial trial[2];

		for (unsigned i = 0; i < 2; i++)
			open_trial(&trial[i], where[i], subject, true);
		share.workers = count_shares(&trial[0]);
		for (share.worker = 0; share.worker < share.workers &&
		     time[0] + time[1] < 2 * SECONDS_EACH;
		     share.worker++) {
			unsigned first = share.worker & 1;

			for (unsigned i = 0; i < 2; i++)
				time[first ^ i] += time_share(
				    &trial[first ^ i], &share, stats);
		}
		for (unsigned i = 0; i < 2; i++)
			trial_close(&trial[i]);
	}
	free(stats);
	return time[0] / time[1];
}

/* What one schedule consists of, in seconds. */
struct parts {
	double plain, apply, run, hash, save;
	uint64_t insns, boundaries, schedules;
};

/* Each part from where the script begins to the end. */
static void
time_parts(const struct subject *subject, struct parts *parts)
{
	struct machine_snapshot *begin;
	struct machine_result result;
	struct machine *machine;
	struct runner_mark *mark;
	struct trial trial;
	struct tz_error err;
	unsigned runs = 0;
	double at[6];

	open_trial(&trial, runner_pool, subject, false);
	machine = runner_machine(trial.runner);
	*parts = (struct parts){ .insns = trial.counts.insns_all,
		.boundaries = trial.list.count,
		.schedules = trial_count(&trial) };
	runner_restore(trial.runner, trial.begin);
	begin = machine_snapshot_take(machine, &err);
	if (begin == NULL)
		give_up(&err);
	while (parts->plain < SECONDS_EACH) {
		at[0] = seconds();
		runner_restore(trial.runner, trial.begin);
		at[1] = seconds();
		if (runner_go(trial.runner, 0, UINT64_MAX) != RUNNER_OVER)
			abort();
		at[2] = seconds();
		(void)runner_hash(trial.runner);
		at[3] = seconds();
		mark = runner_save(trial.runner);
		runner_mark_free(trial.runner, mark);
		at[4] = seconds();
		machine_snapshot_apply(machine, begin);
		machine_run(machine, 0, &result);
		at[5] = seconds();
		parts->apply += at[1] - at[0];
		parts->run += at[2] - at[1];
		parts->hash += at[3] - at[2];
		parts->save += at[4] - at[3];
		parts->plain += at[5] - at[4];
		runs++;
	}
	parts->apply /= runs;
	parts->run /= runs;
	parts->hash /= runs;
	parts->save /= runs;
	parts->plain /= runs;
	machine_snapshot_free(machine, begin);
	trial_close(&trial);
}

static void
measure(const struct subject *subject)
{
	struct parts parts;
	uint64_t merged, done, ignored, all;
	double with, without;

	time_parts(subject, &parts);
	with = time_schedules(subject, true, &merged, &done);
	without = time_schedules(subject, false, &ignored, &all);
	printf("%-18s %7" PRIu64 " insns %6" PRIu64 " boundaries  plain %6.0f/s"
	       "  monitors %6.0f/s %4.2f of plain  merging %6.0f/s %5.2f of "
	       "plain, %2.0f %% merge\n",
	    subject->name, parts.insns, parts.boundaries, 1 / parts.plain,
	    without, without * parts.plain, with, with * parts.plain,
	    done == 0 ? 0.0 : 100.0 * (double)merged / (double)done);
	printf("%18s apply %.0f us, run %.0f us (%.1f M insn/s), hash %.0f us, "
	       "mark %.0f us; the machine alone %.0f us; audited %.2f of "
	       "unaudited\n",
	    "", parts.apply * 1e6, parts.run * 1e6,
	    (double)parts.insns / parts.run / 1e6, parts.hash * 1e6,
	    parts.save * 1e6, parts.plain * 1e6, time_audit(subject));
}

/* Only the rows whose numbers, from 0, are arguments; all without one. */
static bool
is_wanted(size_t row, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strtoul(argv[i], NULL, 10) == row)
			return true;
	}
	return argc == 1;
}

int
main(int argc, char **argv)
{
	const struct build_cache_config config = { .driver = "insntrace",
		.profile = "skylake" };
	struct tz_error err;

	if (build_cache_open(&config, &build_cache, &err) != 0)
		give_up(&err);
	runner_pool = runner_pool_create(build_cache);
	unaudited = runner_pool_create(build_cache);
	if (runner_pool == NULL || unaudited == NULL)
		abort();
	printf(
	    "per second and core, CPU time; plain: the same run by the machine"
	    " alone\n");
	for (size_t i = 0; i < TZ_ARRAY_LEN(subjects); i++) {
		if (is_wanted(i, argc, argv))
			measure(&subjects[i]);
	}
	runner_pool_destroy(unaudited);
	runner_pool_destroy(runner_pool);
	build_cache_close(build_cache);
	return 0;
}
