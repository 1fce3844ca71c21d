#define _GNU_SOURCE
#include "harness/boot/linux_guest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/board/kernel.h"
#include "emu/profile/cpu_set.h"
#include "harness/boot/guest_files.h"
#include "harness/boot/initramfs.h"
#include "harness/host/input.h"
#include "harness/host/stop.h"

/* Instructions between two looks at the window. */
#define SLICE_INSNS       UINT64_C(200000)
#define CONSOLE_BYTES_MAX ((size_t)64 << 20)
#define SEED              1
/* What makes the guest's console the UART, and its addresses those of System.map. */
#define CMDLINE                                                   \
 "earlyprintk=serial,ttyS0,115200 console=ttyS0 nokaslr pci=off " \
 "mitigations=off nopti no5lvl noxsave tsc=reliable nowatchdog"

struct linux_guest {
	struct linux_guest_options options;
	struct kernel_file kernel;
	struct cpu_set cpu_set;
	struct machine *machine;
	struct window window;
	struct cpio *archive;                    /* what the guest is given */
	const struct machine_observer *observer; /* of the caller, or NULL */
	char cmdline[2048];
	uint64_t poll_insns;   /* when the window is looked at next */
	uint64_t booted_insns; /* when it was booted */
	char *text;
	size_t text_count, text_room;
	bool text_lost; /* no memory */
};

static void
keep_char(struct linux_guest *guest, char c)
{
	if (guest->text_count == guest->text_room) {
		size_t room = guest->text_room == 0 ? 65536
						    : 2 * guest->text_room;
		char *more = room <= CONSOLE_BYTES_MAX
		    ? realloc(guest->text, room)
		    : NULL;

		if (more == NULL) {
			guest->text_lost = true;
			return;
		}
		guest->text = more;
		guest->text_room = room;
	}
	guest->text[guest->text_count++] = c;
}

static void
on_console(void *arg, char c)
{
	struct linux_guest *guest = arg;

	if (c != '\r' && !guest->text_lost)
		keep_char(guest, c);
	if (guest->observer != NULL && guest->observer->console != NULL)
		guest->observer->console(guest->observer->arg, c);
}

static void
on_event(void *arg, const struct event *event)
{
	const struct linux_guest *guest = arg;

	if (guest->observer != NULL && guest->observer->event != NULL)
		guest->observer->event(guest->observer->arg, event);
}

static void
on_step(void *arg, const struct machine_step *step)
{
	const struct linux_guest *guest = arg;

	if (guest->observer != NULL && guest->observer->step != NULL)
		guest->observer->step(guest->observer->arg, step);
}

static void
on_access(void *arg, const struct audit_access *access)
{
	const struct linux_guest *guest = arg;

	if (guest->observer != NULL && guest->observer->access != NULL)
		guest->observer->access(guest->observer->arg, access);
}

static void
on_call(void *arg, const struct audit_call *call)
{
	const struct linux_guest *guest = arg;

	if (guest->observer != NULL && guest->observer->call != NULL)
		guest->observer->call(guest->observer->arg, call);
}

static bool
on_stop(void *arg)
{
	(void)arg;
	return stop_requested();
}

static int
check_options(const struct linux_guest_options *options, struct tz_error *err)
{
	uint64_t unit = UINT64_C(2) << 20;

	if (options->cpu_count < 1 || options->cpu_count > MACHINE_CPUS_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "--cpus %u: 1 to %d are possible", options->cpu_count,
		    MACHINE_CPUS_MAX);
	if (options->memory_bytes % unit != 0 ||
	    options->memory_bytes < 32 * unit ||
	    options->memory_bytes > MACHINE_SMRAM_PA)
		return tz_error(err, TZ_EUSAGE,
		    "--memory %" PRIu64 " MiB: 64 to 3072, an even number",
		    options->memory_bytes >> 20);
	return 0;
}

/* What is read only after boot must be there before. */
static int
check_files(const struct linux_guest_options *options, struct tz_error *err)
{
	int error = input_check(options->script, INPUT_GUEST_FILE, err);

	for (size_t i = 0; error == 0 && i < options->put_count; i++)
		error = input_check(
		    options->put[i].from, INPUT_GUEST_FILE, err);
	return error;
}

static int
read_initrd(const char *path, struct bytes *initrd, struct tz_error *err)
{
	*initrd = (struct bytes){ NULL, 0 };
	if (path == NULL)
		return 0;
	return input_read(path, INPUT_INITRD, &initrd->at, &initrd->count, err);
}

static int
load(struct linux_guest *guest, struct tz_error *err)
{
	const struct linux_guest_options *options = &guest->options;
	uint64_t window_pa = kernel_window_pa(
	    options->memory_bytes, WINDOW_BYTES);
	struct initramfs_plan plan = { .packages = options->packages,
		.window_pa = window_pa,
		.window_bytes = WINDOW_BYTES };
	struct kernel_image image = { .vmlinux = guest->kernel.vmlinux.at,
		.vmlinux_bytes = guest->kernel.vmlinux.count,
		.setup = guest->kernel.setup.at,
		.setup_bytes = guest->kernel.setup.count,
		.cmdline = guest->cmdline,
		.cpu_count = options->cpu_count,
		.ram_bytes = options->memory_bytes,
		.window_bytes = WINDOW_BYTES,
		.seed = SEED };
	struct kernel_entry entry;
	struct bytes initramfs = { NULL, 0 };
	int error = read_initrd(options->initrd, &plan.initrd, err);

	if (error == 0)
		error = initramfs_make(&plan, &initramfs, err);
	image.initrd = initramfs.at;
	image.initrd_bytes = initramfs.count;
	guest->window.ram = machine_ram(guest->machine) + window_pa;
	if (error == 0 &&
	    kernel_load(machine_ram(guest->machine), &image, &entry, err) !=
		0) {
		struct tz_error cause = *err;

		error = tz_error(
		    err, TZ_EUSAGE, "%s: %s", options->kernel, cause.text);
	}
	free(initramfs.at);
	free(plan.initrd.at);
	if (error == 0)
		machine_boot(
		    guest->machine, entry.rip, entry.zero_page, entry.cr3);
	return error;
}

static int
make_machine(struct linux_guest *guest, struct tz_error *err)
{
	const struct linux_guest_options *options = &guest->options;
	const struct machine_config config = { .cpu_set = &guest->cpu_set,
		.cpu_count = options->cpu_count,
		.ram_bytes = options->memory_bytes,
		.board = true };
	const struct machine_observer observer = {
		.arg = guest,
		.event = on_event,
		.console = on_console,
		.step = on_step,
		.access = on_access,
		.call = on_call,
		.stop = on_stop,
	};

	if ((size_t)snprintf(guest->cmdline, sizeof(guest->cmdline),
		"%s %s%s%s", CMDLINE, INITRAMFS_PARAMETER,
		options->append != NULL ? " " : "",
		options->append != NULL ? options->append : "") >=
	    sizeof(guest->cmdline))
		return tz_error(err, TZ_EUSAGE,
		    "--append: more than %zu characters",
		    sizeof(guest->cmdline));
	return machine_create(&config, &observer, &guest->machine, err);
}

int
linux_guest_create(const struct linux_guest_options *options,
    struct linux_guest **result, struct tz_error *err)
{
	struct linux_guest *guest;
	int error = check_options(options, err);

	if (error == 0)
		error = check_files(options, err);
	if (error != 0)
		return error;
	guest = calloc(1, sizeof(*guest));
	if (guest == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	guest->options = *options;
	error = cpu_set_parse(
	    options->profile, options->errata, &guest->cpu_set, err);
	if (error == 0)
		error = kernel_file_read(options->kernel, &guest->kernel, err);
	if (error == 0)
		error = make_machine(guest, err);
	if (error == 0)
		error = load(guest, err);
	if (error != 0) {
		linux_guest_destroy(guest);
		return error;
	}
	*result = guest;
	return 0;
}

void
linux_guest_destroy(struct linux_guest *guest)
{
	if (guest == NULL)
		return;
	machine_destroy(guest->machine);
	window_free(&guest->window);
	cpio_destroy(guest->archive);
	kernel_file_free(&guest->kernel);
	free(guest->text);
	free(guest);
}

/* Instructions since boot, on all CPUs. */
static uint64_t
count_insns(const struct linux_guest *guest)
{
	uint64_t insns = 0;

	for (unsigned i = 0; i < guest->options.cpu_count; i++) {
		struct machine_counters counters;

		machine_counters(guest->machine, i, &counters);
		insns += counters.insns;
	}
	return insns;
}

/* What the kernel itself says of its end: its last line with one of these words. */
static void
find_cause(const struct linux_guest *guest, char cause[LINUX_GUEST_LINE])
{
	static const char *const words[] = { "Initramfs unpacking failed",
		"rootfs image is not initramfs", "Kernel panic",
		"BUG:", "Out of memory" };
	const char *end = guest->text + guest->text_count;

	for (const char *line = guest->text; line != NULL && line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((next != NULL ? next : end) - line);

		for (size_t i = 0; i < TZ_ARRAY_LEN(words); i++)
			if (cause[0] == '\0' &&
			    memmem(line, length, words[i], strlen(words[i])) !=
				NULL)
				snprintf(cause, LINUX_GUEST_LINE,
				    "the kernel says: %.*s", (int)length, line);
		line = next != NULL ? next + 1 : NULL;
	}
}

/* The end of a machine that will not go on. */
static void
explain(const struct linux_guest *guest, struct linux_guest_state *state)
{
	const struct machine_result *result = &state->result;

	state->end = LINUX_GUEST_DEAD;
	switch (result->end) {
	case MACHINE_OFF:
	case MACHINE_RESET:
		state->end = guest->window.exited ? LINUX_GUEST_EXITED
						  : LINUX_GUEST_OFF;
		state->status = guest->window.status;
		if (state->end == LINUX_GUEST_OFF)
			find_cause(guest, state->cause);
		break;
	case MACHINE_STOP:
		state->end = LINUX_GUEST_STOPPED;
		break;
	case MACHINE_DEADLOCK:
		find_cause(guest, state->cause);
		if (state->cause[0] == '\0')
			snprintf(state->cause, sizeof(state->cause),
			    "every CPU halts and nothing can wake one");
		break;
	case MACHINE_TRIPLE_FAULT:
		snprintf(state->cause, sizeof(state->cause),
		    "a triple fault on CPU %u", result->cpu);
		break;
	case MACHINE_EXIT:
	case MACHINE_PANIC:
	case MACHINE_UNMODELLED:
	case MACHINE_ENGINE:
	case MACHINE_LIMIT:
		snprintf(state->cause, sizeof(state->cause), "%s on CPU %u",
		    result->text, result->cpu);
		break;
	}
}

/*
 * Runs a slice; true: the guest still runs.  Where slices end does not depend on the
 * places at which the machine was stopped before.
 */
static bool
run_slice(struct linux_guest *guest, struct linux_guest_state *state)
{
	uint64_t insns;

	if (guest->poll_insns == 0)
		guest->poll_insns = SLICE_INSNS;
	machine_run(guest->machine, guest->poll_insns, &state->result);
	insns = count_insns(guest);
	state->insns = insns - guest->booted_insns;
	if (state->result.end == MACHINE_LIMIT) {
		guest->poll_insns = (insns / SLICE_INSNS + 1) * SLICE_INSNS;
		return true;
	}
	explain(guest, state);
	return false;
}

int
linux_guest_boot(struct linux_guest *guest, struct linux_guest_state *state,
    struct tz_error *err)
{
	enum window_event event;
	int error;

	*state = (struct linux_guest_state){ .end = LINUX_GUEST_BOOTED };
	while (run_slice(guest, state)) {
		error = window_poll(&guest->window, &event, err);
		if (error != 0)
			return error;
		if (event == WINDOW_READY) {
			guest->booted_insns += state->insns;
			return 0;
		}
	}
	return 0;
}

static int
add_put(const struct guest_files *files, const struct linux_guest_file *put,
    struct tz_error *err)
{
	struct tz_error cause;
	int error = guest_files_add(files, put->from, put->to, &cause);

	return error != 0
	    ? tz_error(err, (enum tz_errno) - error, "--put %s", cause.text)
	    : 0;
}

static void
add_get(struct linux_guest *guest)
{
	char list[LINUX_GUEST_FILES_MAX * 256];
	size_t count = 0;

	for (size_t i = 0; i < guest->options.get_count; i++)
		count += (size_t)snprintf(list + count, sizeof(list) - count,
		    "%.255s\n", guest->options.get[i]);
	if (count != 0)
		cpio_add_file(guest->archive, "/topaz/get", 0644,
		    (struct bytes){ (uint8_t *)list, count });
}

static int
add_script(struct linux_guest *guest, struct tz_error *err)
{
	struct bytes script;
	int error;

	error = input_read(guest->options.script, INPUT_GUEST_FILE, &script.at,
	    &script.count, err);
	if (error != 0)
		return error;
	cpio_add_file(guest->archive, "/topaz/script", 0755, script);
	free(script.at);
	return 0;
}

int
linux_guest_give(struct linux_guest *guest, window_text text, void *arg,
    struct tz_error *err)
{
	struct guest_files files = { .root = guest->options.packages };
	int error;

	guest->window.text = text;
	guest->window.text_arg = arg;
	guest->archive = files.cpio = cpio_create();
	if (guest->archive == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = add_script(guest, err);
	for (size_t i = 0; error == 0 && i < guest->options.put_count; i++)
		error = add_put(&files, &guest->options.put[i], err);
	if (error != 0)
		return error;
	add_get(guest);
	return cpio_finish(guest->archive, &guest->window.archive, err);
}

int
linux_guest_run(struct linux_guest *guest, struct linux_guest_state *state,
    struct tz_error *err)
{
	enum window_event event;
	int error;

	*state = (struct linux_guest_state){ .end = LINUX_GUEST_SLICE };
	if (!run_slice(guest, state))
		return 0;
	error = window_poll(&guest->window, &event, err);
	if (error == 0 && guest->options.insns_max != 0 &&
	    state->insns >= guest->options.insns_max)
		state->end = LINUX_GUEST_LIMIT;
	return error;
}

const char *
linux_guest_console_text(const struct linux_guest *guest, size_t *count)
{
	*count = guest->text_count;
	return guest->text != NULL ? guest->text : "";
}

struct machine *
linux_guest_machine(struct linux_guest *guest)
{
	return guest->machine;
}

void
linux_guest_observe(
    struct linux_guest *guest, const struct machine_observer *observer)
{
	guest->observer = observer;
}

struct linux_guest_mark {
	struct machine_snapshot *machine;
	uint64_t poll_insns, number;
	size_t given, file_count, text_count;
	bool exited, text_lost;
	int status;
};

struct linux_guest_mark *
linux_guest_save(struct linux_guest *guest)
{
	struct linux_guest_mark *mark = malloc(sizeof(*mark));
	struct tz_error err;

	if (mark == NULL)
		return NULL;
	*mark = (struct linux_guest_mark){
		.machine = machine_snapshot_take(guest->machine, &err),
		.poll_insns = guest->poll_insns,
		.number = guest->window.number,
		.given = guest->window.given,
		.file_count = guest->window.file_count,
		.text_count = guest->text_count,
		.text_lost = guest->text_lost,
		.exited = guest->window.exited,
		.status = guest->window.status,
	};
	if (mark->machine == NULL) {
		free(mark);
		return NULL;
	}
	return mark;
}

void
linux_guest_restore(
    struct linux_guest *guest, const struct linux_guest_mark *mark)
{
	machine_snapshot_apply(guest->machine, mark->machine);
	window_forget(&guest->window, mark->file_count);
	guest->window.number = mark->number;
	guest->window.given = mark->given;
	guest->window.exited = mark->exited;
	guest->window.status = mark->status;
	guest->poll_insns = mark->poll_insns;
	guest->text_count = mark->text_count;
	guest->text_lost = mark->text_lost;
}

void
linux_guest_mark_free(struct linux_guest *guest, struct linux_guest_mark *mark)
{
	if (mark == NULL)
		return;
	machine_snapshot_free(guest->machine, mark->machine);
	free(mark);
}

const struct window *
linux_guest_window(const struct linux_guest *guest)
{
	return &guest->window;
}

const struct unknowns *
linux_guest_unknowns(const struct linux_guest *guest)
{
	return machine_unknowns(guest->machine);
}
