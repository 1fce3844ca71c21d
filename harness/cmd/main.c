/*
 * topaz COMMAND: finds the sub-command; usage, version, and the exit code for bugs.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/cmd.h"
#include "harness/host/folder/scratch.h"
#include "harness/host/stop.h"
#include "topaz_version.h"

/* A sub-command: what it does, and its function. */
static const struct command {
	const char *name, *text;
	int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND(name, text) { #name, (text), cmd_##name },
#include "harness/cmd/command.def"
#undef COMMAND
};

static void
usage(FILE *file)
{
	size_t i;

	fprintf(file, "usage: topaz COMMAND [OPTION...]\n\n");
	for (i = 0; i < TZ_ARRAY_LEN(commands); i++)
		fprintf(
		    file, "  %-10s %s\n", commands[i].name, commands[i].text);
	fprintf(file,
	    "\ntopaz COMMAND --help describes a command; topaz --version.\n"
	    "Exit codes: 0 nothing found, 1 finding or mismatch, 2 usage or "
	    "input error,\n3 nothing selected, 4 the replay diverged, 5 "
	    "stopped before the end, or not\nexhaustive as required, 6 a run "
	    "could not be judged, 70 bug of topaz.\n");
}

/* Flushes standard output.  If that fails, the exit code is CMD_USAGE and not CODE. */
static int
flush_output(int code)
{
	bool failed = ferror(stdout) != 0;

	if (fflush(stdout) == 0 && !failed)
		return code;
	/* The errno of an earlier failure is lost; write again to get it. */
	if (failed && write(STDOUT_FILENO, "\n", 1) == 1)
		errno = EIO;
	fprintf(stderr, "topaz: standard output: %s\n", strerror(errno));
	return CMD_USAGE;
}

/*
 * Handles calls of exit(3) by libraries, before main() ends.  Unicorn calls exit(1) when
 * it has no memory, which would mean a finding; argp calls exit(0) after it has printed
 * its help.
 */
static void
on_exit_within(int code, void *leaving)
{
	if (*(const bool *)leaving)
		return;
	if (code == CMD_FINDING) {
		fputs("topaz: a library ended the process, most likely "
		      "without memory\n",
		    stderr);
		scratch_end();
		_exit(CMD_BUG);
	}
	if (code == CMD_OK && flush_output(CMD_OK) != CMD_OK)
		_exit(CMD_USAGE);
}

/* SIGPIPE and SIGXFSZ are ignored, so that write(2) returns an error instead. */
static void
prepare(void)
{
	static const int kept[] = { STDIN_FILENO, STDERR_FILENO };

	if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
		fputs("topaz: standard output is closed\n", stderr);
		exit(CMD_USAGE);
	}
	/* Occupy closed descriptors, so that open(2) does not return them later. */
	for (size_t i = 0; i < TZ_ARRAY_LEN(kept); i++) {
		if (fcntl(kept[i], F_GETFD) < 0 &&
		    open("/dev/null", O_RDWR) != kept[i])
			exit(CMD_USAGE);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	stop_listen();
}

static int
run_command(int argc, char **argv)
{
	size_t i;

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

int
main(int argc, char **argv)
{
	static bool leaving;
	int code;

	static_assert(CMD_BUDGET == STOP_EXIT && CMD_BUG == STOP_BUG,
	    "one meaning of each exit code");
	(void)on_exit(on_exit_within, &leaving);
	prepare();
	code = run_command(argc, argv);
	leaving = true;
	return code;
}
