/*
 * Judges how a run ended: by the text of a panic, or without a panic.
 */
#include "harness/check/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first row that matches counts. */
static const struct {
	const char *text;
	bool anywhere; /* anywhere in the panic's text; false: at its start */
	enum check_id id;
} panics[] = {
	{ "double fault", false, CHECK_DOUBLE_FAULT },
	{ "page fault in the kernel", false, CHECK_PAGE_FAULT },
	{ "general protection fault", false, CHECK_GP_FAULT },
	{ "invalid opcode", false, CHECK_INVALID_OPCODE },
	{ "in the kernel: error", true, CHECK_EXCEPTION },
	{ "use after free", true, CHECK_USE_AFTER_FREE },
	{ "use-after-free", true, CHECK_USE_AFTER_FREE },
	{ "double free", true, CHECK_BAD_FREE },
	{ ", which a process maps", true, CHECK_MAPPED_FREED },
	{ "free of ", false, CHECK_BAD_FREE },
	{ "lock order", false, CHECK_LOCK_ORDER },
	{ "sleep:", false, CHECK_SLEEP },
	{ ": sleep in ", true, CHECK_SLEEP },
	{ ": sleep with ", true, CHECK_SLEEP },
	{ "lock:", false, CHECK_LOCK },
	{ "spin lock \"", false, CHECK_LOCK },
	{ "mutex \"", false, CHECK_LOCK },
	{ "in an NMI handler", true, CHECK_NMI_CONTEXT },
	{ "", false, CHECK_PANIC },
};

/* Panics of the guest kernel that would not occur with the RAM of real hardware. */
static const char *const memory_panics[] = { "out of memory", "no memory for ",
	"pmap_qenter: no memory" };

/* Rows that are judged at the end of a run that ends by itself. */
#define END_ROWS                                                           \
 (CHECK_ROW(OVERWRITTEN_UNREPORTED) | CHECK_ROW(UNREPORTED_TAIL) |         \
     CHECK_ROW(UNREPORTED_CLOSE) | CHECK_ROW(LOST_EXCESS) |                \
     CHECK_ROW(EMPTY_TRACE) | CHECK_ROW(LEAK) | CHECK_ROW(TRACE_LEFT_ON) | \
     CHECK_ROW(LEFT_BEHIND) | CHECK_ROW(EXIT_CODE))

static const char *
run_end_text(const char *text)
{
	const char *said = "panic: ";

	return strncmp(text, said, strlen(said)) == 0 ? text + strlen(said)
						      : text;
}

bool
check_is_memory_panic(const char *text)
{
	text = run_end_text(text);
	for (size_t i = 0; i < TZ_ARRAY_LEN(memory_panics); i++) {
		if (strncmp(text, memory_panics[i], strlen(memory_panics[i])) ==
		    0)
			return true;
	}
	return false;
}

static enum check_id
run_end_panic(const struct check *check, const struct machine_result *result)
{
	const char *text = run_end_text(result->text);
	size_t i = 0;

	/* A panic by the driver may have the same text. */
	if (check_is_memory_panic(result->text) &&
	    !site_is_driver(check, result->rip))
		return CHECK_MEMORY;
	for (;; i++) {
		const char *at = strstr(text, panics[i].text);

		TZ_ASSERT(i < TZ_ARRAY_LEN(panics));
		if (at != NULL && (panics[i].anywhere || at == text))
			return panics[i].id;
	}
}

static void
run_end_exit(struct check *check, const struct machine_result *result,
    const struct check_place *at)
{
	session_settle(check);
	for (uint32_t i = 0; i < check->core.stream_count; i++)
		ledger_settle(check, i, true);
	if (result->code != 0 &&
	    (unsigned)result->code != check->config.exit_code)
		violation_add(check, CHECK_EXIT_CODE, 0, at,
		    "the guest shut down with code %d", result->code);
}

/* The row that an end other than MACHINE_EXIT violates. */
static enum check_id
run_end_row(
    const struct check *check, const struct machine_result *result, bool waits)
{
	switch (result->end) {
	case MACHINE_PANIC:
		return run_end_panic(check, result);
	case MACHINE_UNMODELLED:
		return CHECK_UNMODELLED;
	case MACHINE_TRIPLE_FAULT:
		return CHECK_TRIPLE_FAULT;
	case MACHINE_DEADLOCK:
		return CHECK_DEADLOCK;
	case MACHINE_LIMIT:
		return waits ? CHECK_PROGRESS : CHECK_LIMIT;
	case MACHINE_ENGINE:
		return CHECK_ENGINE;
	case MACHINE_EXIT:
	case MACHINE_STOP:
	case MACHINE_OFF: /* the last two: of a board only */
	case MACHINE_RESET:
		break;
	}
	return CHECK_COUNT;
}

/* Describes that end. */
static void
run_end_describe(const struct machine_result *result, bool waits,
    char text[CHECK_TEXT_BYTES])
{
	if (result->end == MACHINE_TRIPLE_FAULT)
		snprintf(text, CHECK_TEXT_BYTES, "CPU %u: triple fault",
		    result->cpu);
	else if (result->end == MACHINE_DEADLOCK)
		snprintf(text, CHECK_TEXT_BYTES,
		    "every CPU halts and nothing can wake one");
	else if (result->end == MACHINE_LIMIT)
		snprintf(text, CHECK_TEXT_BYTES, "%s",
		    waits ? "the operation waits without end"
			  : "the run did not end within its limit of "
			    "instructions (--limit)");
	else
		snprintf(text, CHECK_TEXT_BYTES, "%.180s", result->text);
}

/* The address after WORDS in TEXT; 0: none. */
static uint64_t
run_end_address(const char *text, const char *words)
{
	const char *at = strstr(text, words);

	return at != NULL ? strtoull(at + strlen(words), NULL, 16) : 0;
}

/* Reads what a guarded heap's panic says of freed memory: see harness/guest. */
static void
run_end_freed(
    const struct check *check, const char *text, struct check_place *place)
{
	uint64_t made_by = run_end_address(text, "allocated by ");
	uint64_t freed_by = run_end_address(text, "freed by ");

	if (made_by != 0)
		place->object_va = made_by - 1;
	if (site_is_driver(check, freed_by))
		place->blame = (struct check_site){ freed_by - 1,
			freed_by - 1 };
}

void
check_end(struct check *check, const struct machine_result *result, bool waits)
{
	char text[CHECK_TEXT_BYTES];
	struct check_place at;
	enum check_id id = run_end_row(check, result, waits);

	TZ_ASSERT(result->cpu < MACHINE_CPUS_MAX);
	check->core.event.cpu = (uint16_t)result->cpu;
	at = site_here(check);
	at.rip = result->rip;
	/* Missing bytes are judged only after a regular end. */
	for (uint32_t i = 0; i < check->core.stream_count; i++)
		ledger_settle(check, i, false);
	if (result->end == MACHINE_EXIT) {
		run_end_exit(check, result, &at);
		return;
	}
	violation_skip(check, REASON_ENDED, END_ROWS);
	run_end_describe(result, waits, text);
	/* Unmodelled features are distinguished by their names. */
	if (id == CHECK_UNMODELLED)
		at.object = result->text;
	if (id == CHECK_USE_AFTER_FREE || id == CHECK_BAD_FREE)
		run_end_freed(check, result->text, &at);
	if (id != CHECK_COUNT)
		violation_add(check, id, 0, &at, "%s", text);
}
