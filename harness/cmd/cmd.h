/*
 * The sub-commands of topaz: one file each.  All results go to standard output,
 * all else to standard error.
 */
#ifndef TOPAZ_HARNESS_CMD_CMD_H
#define TOPAZ_HARNESS_CMD_CMD_H

#include <argp.h>

#include "emu/base/base.h"

struct json_t;

/* Help of the options that choose a machine's processors: run, explore, ... */
#define CMD_PROFILE_HELP                                                      \
 "CPU model, see: topaz list profiles; on a hybrid machine those of CPU 0, "  \
 "CPU 1 ...: comma-separated NAME[*COUNT]; the list repeats; with \"+cost\" " \
 "instructions take the time of the cost model"
#define CMD_COST_HELP                                                               \
 "model: an instruction takes the time that the cost model of its processor says; " \
 "1: one cycle, unless the profile has \"+cost\" (model)"
#define CMD_ERRATA_HELP \
 "Comma-separated errata that the models show, see: topaz list errata (none)"

/* Exit codes, the same for every command. */
enum cmd_exit {
	CMD_OK = 0,
	CMD_FINDING = 1,  /* a finding or a mismatch */
	CMD_USAGE = 2,    /* usage or input error */
	CMD_NOTHING = 3,  /* nothing selected */
	CMD_DIVERGED = 4, /* a replay diverged, or its driver has changed */
	CMD_BUDGET = 5,   /* stopped early, or not exhaustive as required */
	CMD_UNJUDGED = 6, /* a run could not be judged */
	CMD_BUG = 70,     /* of topaz itself */
};

/* Each sub-command: its function, and its options for argp. */
#define COMMAND(name, text)             \
 int cmd_##name(int argc, char **argv); \
 extern const struct argp cmd_##name##_argp;
#include "harness/cmd/command.def"
#undef COMMAND

/* Parses ARGV for the sub-command argv[0]; ends the process on bad usage. */
void cmd_parse(const struct argp *argp, int argc, char **argv, void *input);

/* The factor of the suffix K: for counts and for bytes. */
#define CMD_THINGS 1000
#define CMD_BYTES  1024

/*
 * The value of --OPTION: a number with an optional suffix K (times KILO), M (times KILO
 * squared) or G (times KILO cubed).  Ends the process if TEXT is not such a number.
 */
uint64_t cmd_number(const char *option, const char *text, unsigned kilo);

/*
 * The value of --cost: true for "model", false for "1".  Ends
 * the process if TEXT is neither.
 */
bool cmd_cost_model(const char *text);

/*
 * What --progress wants on standard error; auto: it depends
 * on whether that is a terminal.
 */
enum cmd_progress {
	CMD_PROGRESS_AUTO,
	CMD_PROGRESS_BAR,
	CMD_PROGRESS_LINES,
	CMD_PROGRESS_NONE
};
/* Reads the value of --progress.  Ends the process if TEXT is not one. */
enum cmd_progress cmd_progress(const char *text);

/* "topaz: --OPTION VALUE: WANT" on standard error; ends the process. */
_Noreturn void cmd_bad_value(
    const char *option, const char *value, const char *want);

/*
 * "topaz WORD..." with all words of ARGV, quoted for a shell where necessary.
 * -TZ_EUSAGE: TEXT_SIZE is too small.
 */
int cmd_quote(int argc, char *const *argv, char *text, size_t text_size,
    struct tz_error *err);

/* Prints "topaz: TEXT" to standard error; returns CMD_USAGE. */
int cmd_fail(const struct tz_error *err);

/*
 * The same, with the exit code for ERROR: CMD_BUDGET for -TZ_ESTOP, CMD_BUG for -TZ_EBUG,
 * else CMD_USAGE.
 */
int cmd_fail_of(int error, const struct tz_error *err);

/* Prints JSON with sorted keys and a newline, and drops the reference. */
void cmd_print_json(struct json_t *json);
/* The same on one line. */
void cmd_print_json_line(struct json_t *json);

#endif
