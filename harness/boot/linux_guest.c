#define _GNU_SOURCE
#include "harness/boot/linux_guest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/boot/boot_snapshot.h"
#include "harness/boot/guest_archive.h"
#include "harness/boot/guest_inputs.h"
#include "harness/boot/kallsyms.h"
#include "harness/host/stop.h"

/* Debian's kernels need 2,200 million (6.1) and 3,700 million (6.12) on one CPU. */
#define BOOT_INSNS_MAX UINT64_C(50000000000)
/* Instructions between two looks at the window. */
#define SLICE_INSNS       UINT64_C(200000)
#define IDLE_RATIO        100
#define CONSOLE_BYTES_MAX ((size_t)64 << 20)
/* Where the kernel's image is, as far as RAM reaches: at least 64 MiB. */
#define KERNEL_PA           (UINT64_C(16) << 20)
#define KERNEL_BYTES        (UINT64_C(112) << 20)
#define SNAPSHOTS           "boot"
#define SNAPSHOTS_BYTES_MAX (UINT64_C(1) << 30)

struct linux_guest {
	struct linux_guest_options options;
	struct machine *machine;
	struct window window;
	struct cpio *archive;                    /* what the guest is given */
	const struct machine_observer *observer; /* of the caller, or NULL */
	uint64_t poll_insns;   /* when the window is looked at next */
	uint64_t booted_insns; /* when it was booted */
	struct cache snapshots;
	char *key; /* of the snapshot; NULL: it is neither read nor written */
	char key_digest[CACHE_KEY_BYTES];
	bool restored;
	char note[sizeof(struct tz_error) + 64];
	linux_guest_send send; /* NULL: nobody watches the console */
	void *send_arg;
	struct kallsyms *kallsyms;
	bool kallsyms_sought;
	unsigned tsc_ratio; /* of CPU 0, to 100 MHz */
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

	if (guest->send != NULL)
		guest->send(guest->send_arg, c);
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
make_machine(struct linux_guest *guest, const struct guest_inputs *inputs,
    struct tz_error *err)
{
	const struct linux_guest_options *options = &guest->options;
	const struct machine_config config = { .cpu_set = &inputs->cpu_set,
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
	int error;

	machine_destroy(guest->machine);
	guest->machine = NULL;
	guest->tsc_ratio = cpu_set_of(&inputs->cpu_set, 0)->cbr;
	error = machine_create(&config, &observer, &guest->machine, err);
	if (error == 0)
		guest->window.ram = machine_ram(guest->machine) +
		    guest_inputs_window_pa(inputs);
	return error;
}

/* Keeps the text of an error with which the guest can still run. */
static void
note(struct linux_guest *guest, const char *what, const struct tz_error *err)
{
	snprintf(guest->note, sizeof(guest->note), "%s: %s", what, err->text);
}

static void
set_snapshot(struct linux_guest *guest, const struct guest_inputs *inputs)
{
	struct tz_error err;

	if (guest->options.no_snapshot)
		return;
	if (cache_set(&guest->snapshots, guest->options.snapshots, SNAPSHOTS,
		SNAPSHOTS_BYTES_MAX, &err) != 0 ||
	    guest_inputs_key(inputs, &guest->key, guest->key_digest, &err) != 0)
		note(guest, "no snapshot after boot", &err);
}

static int
restore(struct linux_guest *guest, const struct guest_inputs *inputs,
    const struct boot_snapshot *snapshot, struct tz_error *err)
{
	int error = make_machine(guest, inputs, err);

	if (error == 0)
		error = saved_read(guest->machine, snapshot->machine.at,
		    snapshot->machine.count, err);
	for (size_t i = 0; error == 0 && i < snapshot->console.count; i++)
		keep_char(guest, (char)snapshot->console.at[i]);
	return error;
}

/* Starts from the snapshot, if there is a good one. */
static void
find_snapshot(struct linux_guest *guest, const struct guest_inputs *inputs)
{
	struct boot_snapshot snapshot = { .key = guest->key };
	char path[TREE_PATH_BYTES];
	struct tz_error err;
	int error;

	if (guest->key == NULL)
		return;
	cache_file(&guest->snapshots, guest->key_digest, path);
	error = boot_snapshot_read(path, &snapshot, &err);
	if (error == -TZ_ENOENT)
		return;
	if (error == 0)
		error = restore(guest, inputs, &snapshot, &err);
	boot_snapshot_free(&snapshot);
	guest->restored = error == 0;
	if (guest->restored)
		cache_used(&guest->snapshots, guest->key_digest);
	else
		note(guest, "booting afresh, the snapshot is not used", &err);
}

static int
make(struct linux_guest *guest, struct tz_error *err)
{
	struct guest_inputs inputs;
	int error = guest_inputs_read(&inputs, &guest->options, err);

	if (error == 0) {
		set_snapshot(guest, &inputs);
		find_snapshot(guest, &inputs);
	}
	if (error == 0 && !guest->restored)
		error = make_machine(guest, &inputs, err);
	if (error == 0 && !guest->restored)
		error = guest_inputs_load(&inputs, guest->machine, err);
	guest_inputs_free(&inputs);
	return error;
}

int
linux_guest_create(const struct linux_guest_options *options,
    struct linux_guest **result, struct tz_error *err)
{
	struct linux_guest *guest = calloc(1, sizeof(*guest));
	int error;

	if (guest == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	guest->options = *options;
	error = make(guest, err);
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
	kallsyms_free(guest->kallsyms);
	free(guest->key);
	free(guest->text);
	free(guest);
}

/* Instructions and time of all CPUs together. */
static struct machine_counters
count_all(const struct linux_guest *guest)
{
	struct machine_counters all = { 0 };

	for (unsigned i = 0; i < guest->options.cpu_count; i++) {
		struct machine_counters counters;

		machine_counters(guest->machine, i, &counters);
		all.insns += counters.insns;
		all.cycles += counters.cycles;
	}
	return all;
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

void
linux_guest_place(
    struct linux_guest *guest, uint64_t va, char text[LINUX_GUEST_LINE])
{
	char symbol[LINUX_GUEST_LINE - 24] = " ";
	uint64_t left = guest->options.memory_bytes - KERNEL_PA;

	if (!guest->kallsyms_sought)
		guest->kallsyms = kallsyms_read(
		    machine_ram(guest->machine) + KERNEL_PA,
		    left < KERNEL_BYTES ? left : KERNEL_BYTES,
		    KALLSYMS_KERNEL_VA + KERNEL_PA);
	guest->kallsyms_sought = true;
	if (guest->kallsyms == NULL ||
	    !kallsyms_format(
		guest->kallsyms, va, symbol + 1, sizeof(symbol) - 1))
		symbol[0] = '\0';
	snprintf(text, LINUX_GUEST_LINE, "0x%" PRIx64 "%s", va, symbol);
}

/* The end of a machine that will not go on. */
static void
explain(struct linux_guest *guest, struct linux_guest_state *state)
{
	const struct machine_result *result = &state->result;
	char place[LINUX_GUEST_LINE], said[LINUX_GUEST_LINE] = "";

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
		linux_guest_place(guest, result->rip, place);
		snprintf(state->cause, sizeof(state->cause),
		    "a triple fault on CPU %u at %.256s", result->cpu, place);
		break;
	case MACHINE_EXIT:
	case MACHINE_PANIC:
	case MACHINE_UNMODELLED:
	case MACHINE_ENGINE:
	case MACHINE_LIMIT:
		linux_guest_place(guest, result->rip, place);
		find_cause(guest, said);
		snprintf(state->cause, sizeof(state->cause),
		    "%s on CPU %u at %.100s%s%.120s", result->text, result->cpu,
		    place, said[0] != '\0' ? "; " : "", said);
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
	uint64_t insns = count_all(guest).insns;

	if (guest->poll_insns <= insns)
		guest->poll_insns = (insns / SLICE_INSNS + 1) * SLICE_INSNS;
	machine_run(guest->machine, guest->poll_insns, &state->result);
	state->insns = count_all(guest).insns - guest->booted_insns;
	if (state->result.end == MACHINE_LIMIT)
		return true;
	explain(guest, state);
	return false;
}

static int
write_snapshot(void *arg, const char *path, struct tz_error *err)
{
	struct linux_guest *guest = arg;
	const struct boot_snapshot snapshot = { .key = guest->key,
		.console = { (uint8_t *)guest->text, guest->text_count } };

	return boot_snapshot_write(path, &snapshot, guest->machine, err);
}

static void
keep_snapshot(struct linux_guest *guest)
{
	struct tz_error err;

	if (guest->key != NULL && !guest->text_lost &&
	    cache_store(&guest->snapshots, guest->key_digest, write_snapshot,
		guest, &err) != 0)
		note(guest, "the snapshot after boot is not kept", &err);
}

int
linux_guest_boot(struct linux_guest *guest, struct linux_guest_state *state,
    struct tz_error *err)
{
	enum window_event event;
	int error;

	*state = (struct linux_guest_state){ .end = LINUX_GUEST_BOOTED };
	if (guest->restored) {
		state->insns = guest->booted_insns = count_all(guest).insns;
		return 0;
	}
	while (run_slice(guest, state)) {
		if (state->insns >= BOOT_INSNS_MAX) {
			state->end = LINUX_GUEST_DEAD;
			snprintf(state->cause, sizeof(state->cause),
			    "the kernel has started no program within %" PRIu64
			    " instructions",
			    BOOT_INSNS_MAX);
			return 0;
		}
		error = window_poll(&guest->window, &event, err);
		if (error != 0)
			return error;
		if (event == WINDOW_READY) {
			state->end = LINUX_GUEST_BOOTED;
			guest->booted_insns += state->insns;
			keep_snapshot(guest);
			return 0;
		}
	}
	return 0;
}

int
linux_guest_give(struct linux_guest *guest, window_text text, void *arg,
    struct tz_error *err)
{
	int error;

	guest->window.text = text;
	guest->window.text_arg = arg;
	guest->archive = cpio_create();
	if (guest->archive == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = guest_archive_fill(guest->archive, &guest->options, err);
	return error != 0
	    ? error
	    : cpio_finish(guest->archive, &guest->window.archive, err);
}

int
linux_guest_run(struct linux_guest *guest, struct linux_guest_state *state,
    struct tz_error *err)
{
	const struct machine_counters before = count_all(guest);
	struct machine_counters now;
	enum window_event event;
	int error;

	*state = (struct linux_guest_state){ .end = LINUX_GUEST_SLICE };
	if (!run_slice(guest, state))
		return 0;
	/* An instruction takes a cycle: in the others the CPU halts. */
	now = count_all(guest);
	state->idle = now.cycles - before.cycles >
	    IDLE_RATIO * (now.insns - before.insns);
	error = window_poll(&guest->window, &event, err);
	if (error == 0 && guest->options.insns_max != 0 &&
	    state->insns >= guest->options.insns_max)
		state->end = LINUX_GUEST_LIMIT;
	return error;
}

uint64_t
linux_guest_memory(const struct linux_guest *guest)
{
	return guest->options.memory_bytes;
}

void
linux_guest_watch(struct linux_guest *guest, linux_guest_send send, void *arg)
{
	guest->send = send;
	guest->send_arg = arg;
}

size_t
linux_guest_type(struct linux_guest *guest, const char *bytes, size_t count)
{
	return machine_receive(guest->machine, (const uint8_t *)bytes, count);
}

uint64_t
linux_guest_nsec(const struct linux_guest *guest)
{
	struct machine_counters counters;

	/* A cycle of the core lasts as long as one of the TSC. */
	machine_counters(guest->machine, 0, &counters);
	return counters.cycles * 10 / guest->tsc_ratio;
}

const char *
linux_guest_note(const struct linux_guest *guest)
{
	return guest->note;
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

const char *
linux_guest_unknown_cost(const struct linux_guest *guest)
{
	struct machine_counters counters = { .unknown_cost = NULL };

	for (unsigned i = 0;
	     i < guest->options.cpu_count && counters.unknown_cost == NULL; i++)
		machine_counters(guest->machine, i, &counters);
	return counters.unknown_cost;
}
