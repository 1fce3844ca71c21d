/*
 * What acts (emu/act.def) leave in a CPU until their occasion comes.  Private to emu/cpu.
 */
#ifndef TOPAZ_EMU_CPU_ACT_STATE_H
#define TOPAZ_EMU_CPU_ACT_STATE_H

#include "emu/act.h"
#include "emu/base.h"

/* Deviations that wait for their occasion (act.def). */
struct armed {
	uint32_t late_insns; /* LATE: beyond the skid */
	bool lost, twice, merge;
	bool merging; /* MERGE: a PMI was held back */
	bool xrstors_gp, wrmsr_gp, fail;
	bool older; /* OLDER: what the next read gives */
	uint64_t older_position, older_status;
};

/* An instruction whose load is done; .bytes 0: there is none. */
struct split {
	uint64_t insns, rip, pa, value;
	unsigned bytes;
};

/* The act that is being done, while its event has not been emitted. */
struct act_note {
	bool pending;
	enum act act;
	uint64_t param;
};

#endif
