/* topaz boot: boots a stock Linux kernel and runs a script in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/boot/linux_guest.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/guest/boot_console.h"
#include "harness/cmd/guest/guest_options.h"
#include "harness/cmd/guest/guest_run.h"
#include "harness/host/folder/output.h"
#include "harness/host/raw.h"
#include "harness/host/stop.h"

#define PATH_BYTES 4352

enum {
	OPT_KERNEL = 0x100,
	OPT_INITRD,
	OPT_RUN,
	OPT_GET,
	OPT_NO_SNAPSHOT,
	OPT_SNAPSHOT_DIR,
};

struct boot_input {
	struct guest_options options;
	struct boot_console *console; /* NULL: a script runs */
	const char *output;
};

static const struct argp_option boot_options[] = {
	{ "kernel", OPT_KERNEL, "FILE", 0,
	    "The kernel: a bzImage, a vmlinux, or a .deb or .rpm with one", 0 },
	{ "run", OPT_RUN, "SCRIPT", 0,
	    "Run SCRIPT after boot and print its output; its exit code is that "
	    "of topaz",
	    0 },
	{ "get", OPT_GET, "FILE", 0,
	    "Copy the guest's FILE to the folder of -o at the end", 0 },
	{ "output", 'o', "DIR", 0,
	    "Write the console and the guest's files to the folder DIR", 0 },
	{ "initrd", OPT_INITRD, "FILE", 0,
	    "An initrd, to which the tool's own files are added", 0 },
	{ "no-snapshot", OPT_NO_SNAPSHOT, NULL, 0,
	    "Boot afresh, and keep no snapshot after boot", 0 },
	{ "snapshot-dir", OPT_SNAPSHOT_DIR, "DIR", 0,
	    "Keep the snapshots after boot in DIR (~/.cache/topaz/boot)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void
parse_get(struct linux_guest_options *options, const char *text)
{
	if (options->get_count == LINUX_GUEST_FILES_MAX)
		cmd_bad_value("get", text, "too many files: 32 are possible");
	if (text[0] != '/' || text[strlen(text) - 1] == '/' ||
	    strlen(text) > 255 || strchr(text, '\n') != NULL)
		cmd_bad_value(
		    "get", text, "an absolute path of at most 255 characters");
	options->get[options->get_count++] = text;
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct boot_input *input = state->input;
	struct linux_guest_options *options = &input->options.guest;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &input->options;
		return 0;
	case OPT_KERNEL:
		options->kernel = arg;
		return 0;
	case OPT_INITRD:
		options->initrd = arg;
		return 0;
	case OPT_RUN:
		options->script = arg;
		return 0;
	case OPT_GET:
		parse_get(options, arg);
		return 0;
	case OPT_NO_SNAPSHOT:
		options->no_snapshot = true;
		return 0;
	case OPT_SNAPSHOT_DIR:
		options->snapshots = arg;
		return 0;
	case 'o':
		input->output = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->kernel == NULL)
			argp_error(state, "--kernel FILE: which kernel?");
		if (options->get_count != 0 && input->output == NULL)
			argp_error(state, "--get needs -o DIR");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_boot_argp = { boot_options, parse_one, NULL,
	"Boots a stock Linux kernel on the emulated machine and runs a script "
	"in it, with Debian's busybox and, where it is installed, perf.  "
	"Without --run, a shell runs on the terminal, and " BOOT_CONSOLE_KEY_NAME
	" ends the machine; where standard input is no terminal, its text is "
	"typed instead.",
	guest_options_children, NULL, NULL };

static int
write_file(const struct output *output, const char *name, const void *bytes,
    size_t count, struct tz_error *err)
{
	char path[PATH_BYTES];
	FILE *file;
	bool good;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", output_new(output),
		name) >= sizeof(path))
		return tz_error(
		    err, TZ_EUSAGE, "%s: the path is too long", name);
	file = fopen(path, "wbx");
	good = file != NULL && fwrite(bytes, 1, count, file) == count;
	if (file != NULL && fclose(file) != 0)
		good = false;
	return good ? 0
		    : tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
}

/* unknown.txt of guest_run_unknowns(). */
static int
write_unknowns(const struct output *output, struct linux_guest *guest,
    struct tz_error *err)
{
	size_t count;
	char *text = guest_run_unknowns(guest, &count);
	int error;

	if (text == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = write_file(output, "unknown.txt", text, count, err);
	free(text);
	return error;
}

static int
write_output(const struct output *output, struct linux_guest *guest,
    struct tz_error *err)
{
	const struct window *window = linux_guest_window(guest);
	size_t count;
	const char *text = linux_guest_console_text(guest, &count);
	int error = write_file(output, "console.txt", text, count, err);

	if (error == 0)
		error = write_unknowns(output, guest, err);
	for (size_t i = 0; error == 0 && i < window->file_count; i++) {
		const struct window_file *file = &window->file[i];
		const char *name = strrchr(file->path, '/');

		if (file->absent || file->content.count < file->expected)
			fprintf(stderr,
			    "topaz: --get %s: the guest has no such file\n",
			    file->path);
		else
			error = write_file(output,
			    name != NULL ? name + 1 : file->path,
			    file->content.at, file->content.count, err);
	}
	return error;
}

/* Runs the booted GUEST to its end; *ENDED: the user has ended it. */
static int
run_booted(struct linux_guest *guest, struct boot_console *console,
    struct linux_guest_state *state, bool *ended, struct tz_error *err)
{
	int error = linux_guest_give(guest, guest_run_print, NULL, err);

	if (error != 0)
		return error;
	if (console != NULL)
		boot_console_attach(console, guest);
	do {
		error = linux_guest_run(guest, state, err);
		*ended = console != NULL &&
		    !boot_console_serve(console, state->idle);
	} while (error == 0 && !*ended && state->end == LINUX_GUEST_SLICE);
	return error;
}

/* Runs GUEST to its end; *CODE: the exit code. */
static int
run_guest(const struct boot_input *input, struct linux_guest *guest, int *code,
    struct tz_error *err)
{
	struct linux_guest_state state;
	int error = linux_guest_boot(guest, &state, err);
	bool booted = error == 0 && state.end == LINUX_GUEST_BOOTED;
	bool ended = false;

	if (linux_guest_note(guest)[0] != '\0')
		fprintf(stderr, "topaz: %s\n", linux_guest_note(guest));
	if (booted)
		error = run_booted(guest, input->console, &state, &ended, err);
	raw_leave();
	if (ended) {
		fprintf(
		    stderr, "\ntopaz: ended by " BOOT_CONSOLE_KEY_NAME "\n");
		*code = CMD_OK;
	} else if (error == 0) {
		*code = guest_run_end(guest, &state, booted);
	}
	return error;
}

/* A shell instead of a script: a person at a terminal has no limit. */
static int
open_console(struct boot_input *input, struct tz_error *err)
{
	struct linux_guest_options *options = &input->options.guest;
	int error = boot_console_open(&input->console, err);

	if (error != 0 || !boot_console_is_terminal(input->console))
		return error;
	if (!input->options.limited)
		options->insns_max = 0;
	raw_size(&options->lines, &options->columns);
	return 0;
}

static int
boot(struct boot_input *input, int *code, struct tz_error *err)
{
	struct output *output = NULL;
	struct linux_guest *guest = NULL;
	int error = 0;

	if (input->output != NULL)
		error = output_claim(input->output, OUTPUT_BOOT, &output, err);
	if (error == 0 && input->options.guest.script == NULL)
		error = open_console(input, err);
	if (error == 0)
		error = linux_guest_create(&input->options.guest, &guest, err);
	if (error == 0)
		error = run_guest(input, guest, code, err);
	if (error == 0 && output != NULL)
		error = write_output(output, guest, err);
	if (error == 0 && output != NULL) {
		error = output_publish(output, err);
		output = NULL;
	}
	if (output != NULL)
		output_rename(output, err);
	output_abandon(output);
	boot_console_close(input->console);
	linux_guest_destroy(guest);
	return error;
}

int
cmd_boot(int argc, char **argv)
{
	struct boot_input input = { .options = guest_options_defaults() };
	struct tz_error err;
	int code = CMD_BUG, error;

	cmd_parse(&cmd_boot_argp, argc, argv, &input);
	stop_gently();
	error = boot(&input, &code, &err);
	guest_options_free(&input.options);
	return error != 0 ? cmd_fail_of(error, &err) : code;
}
