/*
 * What a Linux kernel says on its console about mistakes: oops, BUG, WARN, lockdep, hung
 * task, panic.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_CONSOLE_H
#define TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_CONSOLE_H

#include "harness/check/check.h"

#define LINUX_CONSOLE_NAME 96

/* A message of the kernel, as far as it is text; unknown parts are "" or 0. */
struct linux_message {
	enum check_id id; /* CHECK_COUNT: there is none */
	char text[CHECK_TEXT_BYTES];
	char function[LINUX_CONSOLE_NAME]; /* from "RIP:" or from the line itself */
	uint64_t offset;                   /* in the function */
	char file[LINUX_CONSOLE_NAME];     /* of a WARN or a BUG: "pt.c:1605" */
	int line;
	bool deadly; /* nothing that follows is judged */
};

/*
 * The first message in the COUNT characters at TEXT, from *AT on, which is advanced after
 * its first line; false: there is none.
 */
bool linux_console_next(
    const char *text, size_t count, size_t *at, struct linux_message *message);

/* True if LINE says that the kernel will not go on as before. */
bool linux_console_is_deadly(const char *line);

#endif
