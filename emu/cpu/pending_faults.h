/*
 * What deviations (emu/base/deviation.def) leave in a CPU until their occasion comes.
 * Private to emu/cpu.
 */
#ifndef TOPAZ_EMU_CPU_PENDING_FAULTS_H
#define TOPAZ_EMU_CPU_PENDING_FAULTS_H

#include "emu/base/base.h"
#include "emu/base/deviation.h"

/* Deviations that wait for their occasion (deviation.def). */
struct pending_faults {
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

/* The deviation that is being done, while its event has not been emitted. */
struct deviation_note {
	bool pending;
	enum deviation_kind kind;
	uint64_t param;
};

#endif
