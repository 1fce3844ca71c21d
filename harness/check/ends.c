/*
 * How a run ended, as rows: what a panic's text says, and what no panic announces.
 */
#include "harness/check/state.h"

#include <string.h>

/* The first that fits counts. */
static const struct {
	const char *text;
	bool anywhere; /* in the panic's text; else at its beginning */
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

static enum check_id
ends_panic(const char *text)
{
	const char *said = "panic: ";
	size_t i = 0;

	if (strncmp(text, said, strlen(said)) == 0)
		text += strlen(said);
	for (;; i++) {
		const char *at = strstr(text, panics[i].text);

		TZ_ASSERT(i < TZ_ARRAY_LEN(panics));
		if (at != NULL && (panics[i].anywhere || at == text))
			return panics[i].id;
	}
}

static void
ends_exit(struct check *check, const struct machine_result *result,
    const struct check_place *at)
{
	session_settle(check);
	for (uint32_t i = 0; i < check->core.stream_count; i++)
		ledger_settle(check, i, true);
	if (result->code != 0)
		check_violate(check, CHECK_EXIT_CODE, 0, at,
		    "the guest shut down with code %d", result->code);
}

void
check_end(struct check *check, const struct machine_result *result)
{
	struct check_place at;

	TZ_ASSERT(result->cpu < MACHINE_CPUS_MAX);
	at = check_here(check);
	at.cpu = (uint16_t)result->cpu;
	at.step = check_step_of(check, result->cpu);
	at.rip = result->rip;
	/* What goes on, or never began, is not judged for what it lacks. */
	for (uint32_t i = 0; i < check->core.stream_count; i++)
		ledger_settle(check, i, false);
	switch (result->end) {
	case MACHINE_EXIT:
		ends_exit(check, result, &at);
		break;
	case MACHINE_PANIC:
		check_violate(check, ends_panic(result->text), 0, &at, "%.180s",
		    result->text);
		break;
	case MACHINE_UNMODELLED:
		check_violate(
		    check, CHECK_UNMODELLED, 0, &at, "%.180s", result->text);
		break;
	case MACHINE_TRIPLE_FAULT:
		check_violate(check, CHECK_TRIPLE_FAULT, 0, &at,
		    "CPU %u: triple fault", result->cpu);
		break;
	case MACHINE_DEADLOCK:
		check_violate(check, CHECK_DEADLOCK, 0, &at,
		    "every CPU halts and nothing can wake one");
		break;
	case MACHINE_LIMIT:
		check_violate(check, CHECK_PROGRESS, 0, &at,
		    "the run did not end within its limit of instructions");
		break;
	case MACHINE_STOP:
	case MACHINE_ENGINE:
		break;
	}
}
