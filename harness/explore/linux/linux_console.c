#define _GNU_SOURCE
#include "harness/explore/linux/linux_console.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first row that a line has counts.  Words: Linux 6.1, the files that they are of. */
static const struct {
	const char *words;
	enum check_id id;
	bool deadly;
} rows[] = {
	{ "BUG: KASAN: use-after-free", CHECK_USE_AFTER_FREE, true },
	{ "BUG: unable to handle page fault", CHECK_PAGE_FAULT, true },
	{ "BUG: kernel NULL pointer dereference", CHECK_PAGE_FAULT, true },
	{ "BUG: unable to handle kernel", CHECK_PAGE_FAULT, true },
	{ "BUG: Bad page", CHECK_BAD_FREE, false },
	{ "BUG: sleeping function called", CHECK_SLEEP, false },
	{ "BUG: scheduling while atomic", CHECK_SLEEP, false },
	{ "BUG: spinlock", CHECK_LOCK, false },
	{ "BUG: soft lockup", CHECK_PROGRESS, false },
	{ "kernel BUG at ", CHECK_PANIC, true },
	{ "BUG:", CHECK_PANIC, true },
	{ "general protection fault", CHECK_GP_FAULT, true },
	{ "unchecked MSR access error", CHECK_GP_FAULT, false },
	{ "invalid opcode:", CHECK_INVALID_OPCODE, true },
	{ "double fault:", CHECK_DOUBLE_FAULT, true },
	{ "divide error:", CHECK_EXCEPTION, true },
	{ "stack segment:", CHECK_EXCEPTION, true },
	{ "Oops:", CHECK_PANIC, true },
	{ "Kernel panic - not syncing", CHECK_PANIC, true },
	{ "WARNING: possible circular locking", CHECK_LOCK_ORDER, false },
	{ "WARNING: possible recursive locking", CHECK_LOCK_ORDER, false },
	{ "WARNING: inconsistent lock state", CHECK_LOCK_ORDER, false },
	{ "WARNING: bad unlock balance", CHECK_LOCK, false },
	{ "WARNING: CPU:", CHECK_PANIC, false },
	{ "blocked for more than", CHECK_PROGRESS, false },
	{ "rcu: INFO: ", CHECK_PROGRESS, false },
	{ "hard LOCKUP", CHECK_PROGRESS, false },
	{ "perfevents: irq loop stuck", CHECK_PROGRESS, false },
};

bool
linux_console_is_deadly(const char *line)
{
	return strstr(line, "---[ end trace") != NULL ||
	    strstr(line, "Kernel panic - not syncing") != NULL;
}

/* "NAME+0xOFFSET/0xSIZE" in TEXT. */
static bool
read_place(const char *text, struct linux_message *message)
{
	const char *plus = strstr(text, "+0x");
	const char *begin = plus;

	while (begin != NULL && begin > text && begin[-1] != ' ' &&
	    begin[-1] != ':' && begin[-1] != '(')
		begin--;
	if (plus == NULL || begin == plus || strchr(plus, '/') == NULL)
		return false;
	snprintf(message->function, sizeof(message->function), "%.*s",
	    (int)(plus - begin), begin);
	message->offset = strtoull(plus + 1, NULL, 16);
	return true;
}

/* "at FILE:LINE" of a WARN or a BUG. */
static void
read_file(const char *line, struct linux_message *message)
{
	const char *at = strstr(line, " at ");
	const char *colon = at != NULL ? strchr(at, ':') : NULL;

	if (colon == NULL || colon[1] < '0' || colon[1] > '9')
		return;
	snprintf(message->file, sizeof(message->file), "%.*s",
	    (int)(colon - at - 4), at + 4);
	message->line = atoi(colon + 1);
}

/* Without the time, which another schedule changes. */
static const char *
after_time(const char *line)
{
	const char *end = line[0] == '[' ? strchr(line, ']') : NULL;

	return end != NULL && end[1] == ' ' ? end + 2 : line;
}

/* Copies the line at *AT without its end; false: there is no whole line. */
static bool
next_line(
    const char *text, size_t count, size_t *at, char *line, size_t line_size)
{
	const char *end = memchr(text + *at, '\n', count - *at);

	if (end == NULL)
		return false;
	snprintf(
	    line, line_size, "%.*s", (int)(end - (text + *at)), text + *at);
	*at = (size_t)(end + 1 - text);
	return true;
}

/* The place that the lines after the message's first one have in "RIP:". */
static void
read_rip(
    const char *text, size_t count, size_t at, struct linux_message *message)
{
	char line[256];

	for (unsigned i = 0; i < 12 && message->function[0] == '\0' &&
	     next_line(text, count, &at, line, sizeof(line));
	     i++) {
		const char *rip = strstr(line, "RIP: 0010:");

		if (rip != NULL)
			(void)read_place(rip + 10, message);
	}
}

bool
linux_console_next(
    const char *text, size_t count, size_t *at, struct linux_message *message)
{
	char line[512];

	while (next_line(text, count, at, line, sizeof(line))) {
		size_t i = 0;

		while (i < TZ_ARRAY_LEN(rows) &&
		    strstr(line, rows[i].words) == NULL)
			i++;
		if (i == TZ_ARRAY_LEN(rows))
			continue;
		*message = (struct linux_message){ .id = rows[i].id,
			.deadly = rows[i].deadly };
		snprintf(message->text, sizeof(message->text), "%.190s",
		    after_time(line));
		read_file(line, message);
		(void)read_place(line, message);
		read_rip(text, count, *at, message);
		return true;
	}
	return false;
}
