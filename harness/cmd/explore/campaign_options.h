/*
 * The options that explore, faults, ci and replay share, and what they do with a
 * campaign's results.
 */
#ifndef TOPAZ_HARNESS_CMD_EXPLORE_CAMPAIGN_OPTIONS_H
#define TOPAZ_HARNESS_CMD_EXPLORE_CAMPAIGN_OPTIONS_H

#include "harness/cmd/driver_options.h"
#include "harness/explore/describe/findings.h"
#include "harness/explore/search/campaign.h"
#include "harness/report/report.h"

enum progress_mode {
	PROGRESS_AUTO,
	PROGRESS_BAR,
	PROGRESS_LINES,
	PROGRESS_NONE
};

struct campaign_input {
	struct build_cache_config build_cache;
	struct driver_input from;
	struct campaign_options options;
	char command[FINDING_COMMAND_BYTES]; /* as given, for a shell */
	const char *argument;                /* DRIVER[/SCENARIO], as given */
	char driver[64];
	char subject[1024]; /* "": everything */
	const char *output;
	const char *made; /* the folder that is written, until it is put there */
	const char *baseline, *write_baseline; /* or NULL */
	enum progress_mode progress;
	bool json, require_exhaustive, pages, stop_at_finding;
};

/*
 * Their options, for the children of a command's argp: common to all; how deep to look;
 * whether equal states are merged; pages; shards, baselines and exit codes.  The input
 * of each is a struct campaign_input.  An option that means nothing to a command is not
 * among its children, so that it is refused.
 */
extern const struct argp campaign_common_argp, campaign_search_argp,
    campaign_merge_argp, campaign_pages_argp, campaign_report_argp;
/* Above the common options in --help. */
#define CAMPAIGN_COMMON_HELP \
 "Shared by explore, faults, ci and mutate; topaz(1) has more, at explore:"
#define CAMPAIGN_REPORT_HELP "Parts, known findings and the exit code:"
/* What the parser of a command with these CHILDREN does with a KEY of no option. */
error_t campaign_hand_on(int key, struct campaign_input *input,
    const struct argp_child *children, struct argp_state *state);

struct campaign_input campaign_input_defaults(void);

/* What the words meant: driver, subject, build cache.  -TZ_EUSAGE. */
int campaign_input_read(struct campaign_input *input, struct tz_error *err);

/* What was said last of a campaign's progress. */
struct campaign_teller {
	enum progress_mode mode;
	char what[64];
	const char *step; /* that what belongs to, or NULL */
	unsigned percent; /* of the step */
	double begin;     /* of the step, by the host's clock */
	uint64_t done;    /* then: of an exploration that goes on */
};

/* Progress of INPUT's campaign goes to standard error, as --progress says. */
void campaign_tell(
    struct campaign_input *input, struct campaign_teller *teller);
/* The line that changes is at its end. */
void campaign_tell_end(const struct campaign_teller *teller);

/* What a campaign gave, ready to be printed. */
struct campaign_report {
	struct finding_summary *summary;
	struct findings *findings;         /* or NULL */
	struct finding_timeline *timeline; /* of each finding */
	unsigned unshown; /* findings that did not show again: a bug of topaz */
	bool interrupted; /* while they were described */
	struct report_baseline baseline;
};

/*
 * Runs the campaign and describes what it found; the reports are in the output
 * folder afterwards.  CAMPAIGN and REPORT are to be closed also after an error.
 */
int campaign_do(struct campaign_input *input, struct build_cache **build_cache,
    struct campaign *campaign, struct campaign_report *report,
    struct tz_error *err);
void campaign_report_free(struct campaign_report *report);

/* The blocks of all findings, coverage, what the baseline lacks, the last line. */
int campaign_print(const struct campaign_input *input,
    const struct campaign_report *report, struct tz_error *err);

/* Is there a finding that the baseline, if one was given, does not know? */
bool campaign_found(
    const struct campaign_input *input, const struct campaign_report *report);

/* The exit code of the command, once the findings are described. */
int campaign_exit_code(const struct campaign_input *input,
    const struct campaign *campaign, const struct campaign_report *report);

/* What is new, fixed and known, as text or as a line of JSON. */
int campaign_print_comparison(const struct report_baseline *baseline,
    const struct finding_summary *summary, bool json, struct tz_error *err);

/* What a command makes of its options, once they are read; or NULL. */
typedef int (*campaign_choose)(
    struct campaign_input *input, struct tz_error *err);
/* What it prints before the findings, as text or JSON lines; or NULL. */
typedef void (*campaign_before)(const struct campaign *campaign,
    const struct campaign_report *report, bool json);

/* The whole command, from ARGV to its exit code. */
int campaign_main(const struct argp *argp, int argc, char **argv,
    struct campaign_input *input, campaign_choose choose,
    campaign_before before);

#endif
