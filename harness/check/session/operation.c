/*
 * What the caller says of an operation, where several files have to know it, and rows
 * invalid-accepted, valid-refused, wrong-answer and failed-changed, which only the caller
 * can judge.
 */
#include "harness/check/internal.h"
#include "harness/guest/sys.h"

#include <inttypes.h>
#include <stdio.h>

void
check_starting(struct check *check)
{
	/* A session that is on keeps its output: this start will be refused. */
	if (!session_is_on(check))
		session_settle(check);
	session_starting(check);
	table_told_all(check);
	ledger_starting(check);
}

void
check_collected(struct check *check, uint64_t key)
{
	for (uint32_t i = 0; i < check->core.stream_count; i++) {
		struct check_stream *stream = &check->core.stream[i];

		if ((key != CHECK_ALL_STREAMS && stream->key != key) ||
		    stream_is_object(stream))
			continue;
		ledger_collect(check, i, !check->config.positions);
		if (!check->config.positions)
			table_collected(check, i);
	}
	if (!check->config.positions)
		table_collected(check, CHECK_NO_STREAM);
}

void
check_answered_wrongly(struct check *check, bool succeeded,
    const char *operation, const char *value)
{
	struct check_place at = site_here(check);
	char object[CHECK_OBJECT_BYTES];

	snprintf(object, sizeof(object), "%.30s%s%.30s", operation,
	    value[0] != '\0' ? ", " : "", value);
	at.object = object;
	if (succeeded)
		violation_add(check, CHECK_INVALID_ACCEPTED, 0, &at,
		    "%s succeeds with an invalid value%s%s", operation,
		    value[0] != '\0' ? " of " : "", value);
	else
		violation_add(check, CHECK_VALID_REFUSED, 0, &at,
		    "%s fails (%s) in the default schedule", operation, value);
}

void
check_answered_unguarded(
    struct check *check, const char *operation, const char *state, bool holds)
{
	struct check_place at = site_here(check);
	char object[CHECK_OBJECT_BYTES];

	snprintf(object, sizeof(object), "%.30s, %.30s", operation, state);
	at.object = object;
	violation_add(check, CHECK_INVALID_ACCEPTED, 0, &at,
	    "%s succeeds although the state \"%s\" %s", operation, state,
	    holds ? "holds" : "does not hold");
}

void
check_failed_wrongly(
    struct check *check, const char *operation, uint64_t found, uint64_t right)
{
	struct check_place at = site_here(check);
	char object[CHECK_OBJECT_BYTES];

	if (found == right)
		return;
	snprintf(
	    object, sizeof(object), "%.30s, error %" PRIu64, operation, right);
	at.object = object;
	violation_add(check, CHECK_WRONG_ANSWER, 1, &at,
	    "%s fails with error %" PRIu64 ", where error %" PRIu64 " is right",
	    operation, found, right);
}

void
check_filled_in(struct check *check, const char *operation, const char *field,
    uint64_t found, uint64_t right)
{
	struct check_place at = site_here(check);
	char object[CHECK_OBJECT_BYTES];

	if (found == right)
		return;
	snprintf(object, sizeof(object), "%.30s, %.30s", operation, field);
	at.object = object;
	violation_add(check, CHECK_WRONG_ANSWER, 0, &at,
	    "%s fills in %#" PRIx64 " for %s, which is %#" PRIx64, operation,
	    found, field, right);
}

/*
 * Only operations of one system call are judged: of several, the first ones may have
 * succeeded.  While others are in progress, it is not known who has changed what.  What
 * a module keeps that could not be loaded is a leak.
 */
void
operation_begin(struct check *check, const struct event *event)
{
	struct check_core *core = &check->core;
	unsigned active = 0;

	for (unsigned i = 0; i < SCRIPT_ACTORS; i++)
		active += core->actor[i].active;
	core->changes = (struct check_changes){
		.judged = active == 1 &&
		    (event->c < SCRIPT_LOCAL || event->c == SCRIPT_HWT_ALLOC) &&
		    event->c != SYS_MODULE_LOAD,
	};
	owner_begin(check);
}

/* What follows from a failure of another module's call is that module's. */
void
operation_point(struct check *check, const struct event *event)
{
	if (event->c != 0 && !site_is_driver(check, event->b))
		check->core.changes.judged = false;
}

void
check_handed(struct check *check, uint64_t handed)
{
	check->core.changes.handed = handed;
}

void
check_failed(struct check *check, const char *operation, uint64_t handed)
{
	const struct check_changes *changes = &check->core.changes;
	struct check_place at = site_here(check);

	if (!changes->judged)
		return;
	owner_failed(check, operation);
	at.object = operation;
	if (changes->handed != handed)
		violation_add(check, CHECK_FAILED_CHANGED, 2, &at,
		    "%s fails, and has written to the data that it was handed",
		    operation);
}

void
check_unloaded(struct check *check)
{
	session_left_on(check, "when the driver is unloaded");
	counters_unloaded(check);
	registers_unloaded(check);
	owner_unloaded(check);
}
