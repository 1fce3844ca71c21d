#include "harness/cmd/guest/boot_console.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/host/monotonic.h"
#include "harness/host/raw.h"
#include "harness/host/stop.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)
#define KEYS_MAX       ((size_t)4096) /* typed ahead */
#define CTRL_D         '\x04'
#define NSEC_PER_MSEC  1000000
#define WAIT_MSEC_MAX  1000

struct boot_console {
	struct linux_guest *guest;
	bool terminal;
	char *text; /* still to be typed: [given, count) */
	size_t given, count, room;
	/* Where the times of host and guest began to be compared. */
	int64_t host_nsec;
	uint64_t guest_nsec;
};

static void
send(void *arg, char c)
{
	const struct boot_console *console = arg;

	if (console->terminal || c != '\r')
		(void)putchar(c);
}

/* Waits MSEC for input (-1: without a limit).  False: none came. */
static bool
wait_input(int msec)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, msec) > 0;
}

/* Appends what standard input has, at most ROOM bytes; 0: its end, or an error. */
static ssize_t
read_some(struct boot_console *console)
{
	ssize_t got = read(STDIN_FILENO, console->text + console->count,
	    console->room - console->count);

	if (got > 0)
		console->count += (size_t)got;
	return got;
}

static int
read_text(struct boot_console *console, struct tz_error *err)
{
	ssize_t got = 1;

	while (got > 0 || (got < 0 && errno == EINTR)) {
		if (console->count == console->room) {
			size_t room = 2 * console->room;
			char *more = realloc(console->text, room);

			if (more == NULL)
				return tz_error(err, TZ_EIO, "out of memory");
			console->text = more;
			console->room = room;
		}
		if (stop_requested())
			return stop_error(err);
		got = wait_input(-1) ? read_some(console) : 1;
		if (console->count > TEXT_BYTES_MAX)
			return tz_error(err, TZ_EUSAGE,
			    "standard input: more than 64 MiB for the guest's "
			    "console");
	}
	if (got < 0)
		return tz_error(
		    err, TZ_EIO, "standard input: %s", strerror(errno));
	/* The shell takes a line at its end; there is room. */
	if (console->count != 0 && console->text[console->count - 1] != '\n')
		console->text[console->count++] = '\n';
	return 0;
}

int
boot_console_open(struct boot_console **out, struct tz_error *err)
{
	struct boot_console *console = calloc(1, sizeof(*console));

	*out = console;
	if (console == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	console->terminal = isatty(STDIN_FILENO) != 0;
	console->room = KEYS_MAX;
	console->text = malloc(console->room);
	if (console->text == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	return console->terminal ? 0 : read_text(console, err);
}

void
boot_console_close(struct boot_console *console)
{
	if (console == NULL)
		return;
	(void)fflush(stdout);
	raw_leave();
	free(console->text);
	free(console);
}

bool
boot_console_is_terminal(const struct boot_console *console)
{
	return console->terminal;
}

static void
compare_from_now(struct boot_console *console)
{
	console->host_nsec = monotonic_nsec();
	console->guest_nsec = linux_guest_nsec(console->guest);
}

void
boot_console_attach(struct boot_console *console, struct linux_guest *guest)
{
	console->guest = guest;
	linux_guest_watch(guest, send, console);
	if (console->terminal)
		(void)raw_enter();
	compare_from_now(console);
}

/* Types at most COUNT bytes of what is left. */
static void
type_some(struct boot_console *console, size_t count)
{
	if (count != 0)
		console->given += linux_guest_type(
		    console->guest, console->text + console->given, count);
}

/*
 * A line, or what ends at Ctrl-D.  More than that at once would be lost where a program
 * changes the terminal's mode, as it is on other terminals.
 */
static void
type_line(struct boot_console *console)
{
	size_t end = console->given;

	while (end < console->count && console->text[end] != '\n' &&
	    console->text[end] != CTRL_D)
		end++;
	if (end < console->count)
		end++;
	type_some(console, end - console->given);
}

/* Milliseconds by which the guest is ahead. */
static int
lead_msec(struct boot_console *console)
{
	uint64_t guest = linux_guest_nsec(console->guest) - console->guest_nsec;
	int64_t lead = (int64_t)guest - (monotonic_nsec() - console->host_nsec);

	/* A guest that computes is slower than its clock says: it need not catch up. */
	if (lead < 0)
		compare_from_now(console);
	lead /= NSEC_PER_MSEC;
	return lead < 0 ? 0 : lead > WAIT_MSEC_MAX ? WAIT_MSEC_MAX : (int)lead;
}

/* Takes keys, and waits for them while the guest is ahead. */
static bool
serve_keys(struct boot_console *console)
{
	size_t before;
	int msec;

	if (console->given == console->count)
		console->given = console->count = 0;
	before = console->count;
	if (before == console->room)
		return true;
	do {
		msec = lead_msec(console);
		if (!wait_input(msec))
			continue;
		/* The end of a terminal: its other side is gone. */
		if (read_some(console) <= 0 ||
		    memchr(console->text + before, BOOT_CONSOLE_KEY,
			console->count - before) != NULL)
			return false;
		compare_from_now(console);
		return true;
	} while (msec > 0 && !stop_requested());
	return true;
}

bool
boot_console_serve(struct boot_console *console, bool idle)
{
	static const char end = CTRL_D;

	(void)fflush(stdout);
	if (console->terminal) {
		if (!serve_keys(console))
			return false;
		type_some(console, console->count - console->given);
	} else if (idle && console->given < console->count) {
		type_line(console);
	} else if (idle) {
		(void)linux_guest_type(console->guest, &end, 1);
	}
	return true;
}
