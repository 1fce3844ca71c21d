/*
 * The execution log of a run, spelt out: every retired instruction in its order, with
 * the events and writes of trace MSRs between them; and the comparison with
 * what libipt's instruction decoder makes of the trace.  Shares nothing with
 * emu/cpu.
 */
#ifndef TOPAZ_TESTS_UNIT_EMU_RETIRED_H
#define TOPAZ_TESTS_UNIT_EMU_RETIRED_H

#include "guest.h"

enum retired_kind {
	RETIRED_INSN,  /* .ip */
	RETIRED_MSR,   /* .arg written with .ip as its value */
	RETIRED_EVENT, /* vector .arg with .ip as the return address */
	RETIRED_STOPPED,
	RETIRED_TIME, /* .ip is what the core clock reads */
};

struct retired {
	uint8_t kind, cpl;
	uint32_t arg;
	uint64_t ip, cr3;
};

struct retired_list {
	struct retired *item;
	size_t count, room;
};

/* Expands what CPU did; code is read as it stands at the end of the run. */
void retired_expand(
    const struct guest *guest, unsigned cpu, struct retired_list *list);
void retired_free(struct retired_list *list);

/*
 * Decodes the trace at GUEST_TRACE_PA(cpu) and fails unless it shows exactly
 * what retired from the instruction after TraceEn's setting to its clearing.
 */
void retired_assert_decodes(
    const struct guest *guest, unsigned cpu, const struct retired_list *list);

#endif
