#include "harness/cmd/guest/guest_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/board/unknown.h"
#include "harness/cmd/cmd.h"
#include "harness/host/stop.h"

#define LAST_LINES 12

void
guest_run_print(void *arg, const char *text, size_t count)
{
	(void)arg;
	(void)fwrite(text, 1, count, stdout);
	(void)fflush(stdout);
}

/* The end of the console, where the kernel says why. */
static void
print_last_lines(const struct linux_guest *guest)
{
	size_t count, begin;
	const char *text = linux_guest_console_text(guest, &count);
	unsigned lines = 0;

	for (begin = count; begin > 0; begin--)
		if (text[begin - 1] == '\n' && lines++ == LAST_LINES)
			break;
	fprintf(stderr, "last lines of the guest's console:\n%.*s\n",
	    (int)(count - begin), text + begin);
}

/* A breakpoint of I/O has no effect that the guest could see; the others have. */
static void
warn_of_breakpoints(struct linux_guest *guest)
{
	const struct unknowns *unknowns = linux_guest_unknowns(guest);

	for (unsigned i = 0; i < unknowns->count; i++)
		if (unknowns->item[i].access == UNKNOWN_MOV_DR) {
			fprintf(stderr,
			    "topaz: the guest has set breakpoints of I/O ports, "
			    "which never trigger\n");
			return;
		}
}

int
guest_run_end(struct linux_guest *guest, const struct linux_guest_state *state,
    bool booted)
{
	const char *when = booted ? "after" : "during";
	char place[LINUX_GUEST_LINE];

	warn_of_breakpoints(guest);
	switch (state->end) {
	case LINUX_GUEST_EXITED:
		return state->status;
	case LINUX_GUEST_STOPPED:
		fprintf(stderr, "topaz: stopped by %s %s boot\n", stop_name(),
		    when);
		return CMD_BUDGET;
	case LINUX_GUEST_LIMIT:
		linux_guest_place(guest, state->result.rip, place);
		fprintf(stderr,
		    "topaz: the script or shell has not ended within %" PRIu64
		    " instructions (--limit); CPU %u is at %s\n",
		    state->insns, state->result.cpu, place);
		break;
	case LINUX_GUEST_OFF:
		fprintf(stderr,
		    "topaz: the guest powered off or was reset %s boot, "
		    "without an exit code%s%s\n",
		    when, state->cause[0] != '\0' ? ": " : "", state->cause);
		break;
	case LINUX_GUEST_DEAD:
	case LINUX_GUEST_BOOTED:
	case LINUX_GUEST_SLICE:
		fprintf(stderr, "topaz: the guest cannot go on %s boot: %s\n",
		    when, state->cause);
		break;
	}
	print_last_lines(guest);
	return state->result.end == MACHINE_ENGINE ? CMD_BUG : CMD_UNJUDGED;
}

char *
guest_run_unknowns(struct linux_guest *guest, size_t *count)
{
	const struct unknowns *unknowns = linux_guest_unknowns(guest);
	const char *form = linux_guest_unknown_cost(guest);
	char *text = NULL;
	FILE *file = open_memstream(&text, count);

	if (file == NULL)
		return NULL;
	for (unsigned i = 0; i < unknowns->count; i++) {
		const struct unknown *item = &unknowns->item[i];
		char place[LINUX_GUEST_LINE];

		linux_guest_place(guest, item->rip, place);
		fprintf(file,
		    "%-6s 0x%08" PRIx32 "  %8" PRIu64
		    " times, first on CPU %u at %s after %" PRIu64
		    " instructions\n",
		    unknown_name(item->access), item->index, item->count,
		    item->cpu, place, item->insns);
	}
	if (form != NULL)
		fprintf(file,
		    "cost   \"%s\" is not in the cost model, nor may others "
		    "be: a cycle each\n",
		    form);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

int
guest_run_all(struct linux_guest *guest, guest_booted on_booted, void *arg,
    int *code, struct tz_error *err)
{
	struct linux_guest_state state;
	int error = linux_guest_boot(guest, &state, err);
	bool booted = error == 0 && state.end == LINUX_GUEST_BOOTED;

	if (linux_guest_note(guest)[0] != '\0')
		fprintf(stderr, "topaz: %s\n", linux_guest_note(guest));
	if (booted && on_booted != NULL)
		error = on_booted(arg, guest, err);
	if (booted && error == 0)
		error = linux_guest_give(guest, guest_run_print, NULL, err);
	while (booted && error == 0 &&
	    (state.end == LINUX_GUEST_BOOTED || state.end == LINUX_GUEST_SLICE))
		error = linux_guest_run(guest, &state, err);
	if (error == 0)
		*code = guest_run_end(guest, &state, booted);
	return error;
}
