/*
 * topaz COMMAND: finds the sub-command; usage, version, exit code of a bug.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/cmd/cmd.h"
#include "topaz_version.h"

struct command {
	const char *name;
	const char *text;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{ "run", "run a driver on the emulated machine, write a bundle",
	    cmd_run },
	{ "verify", "compare what a bundle's traces say with what was executed",
	    cmd_verify },
	{ "decode", "print a trace's packets or instructions", cmd_decode },
	{ "reencode", "make a captured trace again and compare the packets",
	    cmd_reencode },
	{ "export", "write a bundle's traces for another tool", cmd_export },
	{ "explore", "run it under every schedule, find what fails",
	    cmd_explore },
	{ "faults", "cause every fault at every point", cmd_faults },
	{ "replay", "run one schedule exactly", cmd_replay },
	{ "merge", "join the shards of an exploration", cmd_merge },
	{ "report", "print findings, compare them with earlier ones",
	    cmd_report },
	{ "ci", "explore within a budget, fail on what is new", cmd_ci },
	{ "mutate", "change the driver, see what an exploration misses",
	    cmd_mutate },
	{ "list", "list drivers, scenarios, profiles, acts, checks ...",
	    cmd_list },
};

static void
usage(FILE *file)
{
	size_t i;

	fprintf(file, "usage: topaz COMMAND [OPTION...]\n\n");
	for (i = 0; i < TZ_ARRAY_LEN(commands); i++)
		fprintf(
		    file, "  %-8s %s\n", commands[i].name, commands[i].text);
	fprintf(file,
	    "\ntopaz COMMAND --help describes a command; topaz --version.\n"
	    "Exit codes: 0 nothing found, 1 finding or mismatch, 2 usage or "
	    "input error,\n3 nothing selected, 4 the replay went another way, 5 "
	    "stopped before the end, or\nnot exhaustive as required, 6 the "
	    "driver did what the model lacks, 70 bug of topaz.\n");
}

/* An assertion has said what is wrong and aborts. */
static void
on_abort(int signal)
{
	(void)signal;
	_exit(CMD_BUG);
}

void
cmd_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	char name[32];
	error_t error;

	snprintf(name, sizeof(name), "topaz %s", argv[0]);
	argv[0] = name;
	argp_err_exit_status = CMD_USAGE;
	error = argp_parse(argp, argc, argv, 0, NULL, input);
	if (error != 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(error));
		exit(CMD_USAGE);
	}
}

int
cmd_fail(const struct tz_error *err)
{
	fprintf(stderr, "topaz: %s\n", err->text);
	return CMD_USAGE;
}

void
cmd_print_json(json_t *json)
{
	json_dumpf(json, stdout, JSON_SORT_KEYS | JSON_INDENT(2));
	putchar('\n');
	json_decref(json);
}

/* A result that could not be written is no result. */
static int
flush_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "topaz: standard output: %s\n", strerror(errno));
	return CMD_USAGE;
}

int
main(int argc, char **argv)
{
	size_t i;

	signal(SIGABRT, on_abort);
	if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
		printf("topaz %s\n", TOPAZ_VERSION);
		return flush_output(CMD_OK);
	}
	if (argc >= 2 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		usage(stdout);
		return flush_output(CMD_OK);
	}
	for (i = 0; argc >= 2 && i < TZ_ARRAY_LEN(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return flush_output(
			    commands[i].run(argc - 1, argv + 1));
	if (argc >= 2)
		fprintf(stderr, "topaz: %s: no such command\n", argv[1]);
	usage(stderr);
	return CMD_USAGE;
}
