/*
 * The options that explore, faults, ci and replay share, and the handling of a
 * campaign's results.
 */
#ifndef TOPAZ_HARNESS_CMD_EXPLORE_CAMPAIGN_OPTIONS_H
#define TOPAZ_HARNESS_CMD_EXPLORE_CAMPAIGN_OPTIONS_H

#include "harness/cmd/cmd.h"
#include "harness/cmd/driver_options.h"
#include "harness/cmd/explore/linux_options.h"
#include "harness/explore/describe/findings.h"
#include "harness/explore/search/campaign.h"
#include "harness/report/report.h"

struct campaign_input {
	struct build_cache_config build_cache;
	struct driver_input from;
	struct linux_input linux_guest; /* only of explore */
	struct campaign_options options;
	char command[FINDING_COMMAND_BYTES]; /* as given, for a shell */
	const char *argument;                /* DRIVER[/SCENARIO], as given */
	char driver[64];
	char subject[1024]; /* "": everything */
	const char *output;
	const char *made; /* the temporary folder that becomes .output */
	const char *baseline, *write_baseline; /* or NULL */
	enum cmd_progress progress;
	bool json, require_exhaustive, pages, stop_at_finding;
};

/*
 * Children of a command's argp: options common to all; depth of the search; merging of
 * equal states; pages; shards, baselines and exit codes.  The input of each is a struct
 * campaign_input.  A command has only the children that apply to it, so that it refuses
 * all other options.
 */
extern const struct argp campaign_common_argp, campaign_search_argp,
    campaign_merge_argp, campaign_pages_argp, campaign_report_argp;
/* Headings of the option groups in --help. */
#define CAMPAIGN_COMMON_HELP \
 "Shared by explore, faults, ci and mutate; topaz(1) has more, at explore:"
#define CAMPAIGN_REPORT_HELP "Parts, known findings and the exit code:"
/* The argp parser of a command without own options: passes INPUT to CHILDREN. */
error_t campaign_hand_on(int key, struct campaign_input *input,
    const struct argp_child *children, struct argp_state *state);

struct campaign_input campaign_input_defaults(void);

/* Resolves the options: driver, subject, build cache.  -TZ_EUSAGE. */
int campaign_input_read(struct campaign_input *input, struct tz_error *err);

/* The progress of a campaign that was printed last. */
struct campaign_teller {
	enum cmd_progress mode;
	char what[64];
	const char *step; /* that .what belongs to, or NULL */
	unsigned percent; /* of the step */
	double begin;     /* of the step, by the host's clock */
	double line;      /* when the last line was printed, by that clock */
	uint64_t done;    /* at .begin, of a resumed exploration */
};

/* Prints the progress of INPUT's campaign to standard error, as --progress requires. */
void campaign_tell(
    struct campaign_input *input, struct campaign_teller *teller);
/* Ends the progress line. */
void campaign_tell_end(const struct campaign_teller *teller);

/* The results of a campaign, ready to be printed. */
struct campaign_report {
	struct finding_summary *summary;
	struct findings *findings;         /* or NULL */
	struct finding_timeline *timeline; /* of each finding */
	/* Findings that did not recur in a replay: a bug of topaz. */
	unsigned unshown;
	bool interrupted; /* while the findings were described */
	struct report_baseline baseline;
};

/*
 * Runs the campaign, describes its findings and writes the reports to the output folder.
 * The caller closes CAMPAIGN and frees REPORT also after an error.
 */
int campaign_do(struct campaign_input *input, struct build_cache **build_cache,
    struct campaign *campaign, struct campaign_report *report,
    struct tz_error *err);
void campaign_report_free(struct campaign_report *report);

/* Prints all findings, coverage, the comparison with the baseline and the last line. */
int campaign_print(const struct campaign_input *input,
    const struct campaign_report *report, struct tz_error *err);

/* True if there is a finding that is not in the baseline, if a baseline was given. */
bool campaign_found(
    const struct campaign_input *input, const struct campaign_report *report);

/* The exit code of the command, after the findings were described. */
int campaign_exit_code(const struct campaign_input *input,
    const struct campaign *campaign, const struct campaign_report *report);

/* Prints the new, fixed and known findings, as text or as a line of JSON. */
int campaign_print_comparison(const struct report_baseline *baseline,
    const struct finding_summary *summary, bool json, struct tz_error *err);

/* Adjusts the options of a command after they were read; or NULL. */
typedef int (*campaign_choose)(
    struct campaign_input *input, struct tz_error *err);
/* Prints the command's own results before the findings, as text or JSON; or NULL. */
typedef void (*campaign_before)(const struct campaign *campaign,
    const struct campaign_report *report, bool json);

/* Reads ARGV into INPUT; ends the process on bad usage.  -TZ_EUSAGE: too long. */
int campaign_parse(const struct argp *argp, int argc, char **argv,
    struct campaign_input *input, struct tz_error *err);

/* An exploration of the driver linux-pt, after campaign_parse(); the exit code. */
int campaign_explore_linux(struct campaign_input *input);

/* The whole command, after campaign_parse(); the exit code. */
int campaign_finish(struct campaign_input *input, campaign_choose choose,
    campaign_before before);

/* The whole command, from ARGV to its exit code. */
int campaign_main(const struct argp *argp, int argc, char **argv,
    struct campaign_input *input, campaign_choose choose,
    campaign_before before);

#endif
