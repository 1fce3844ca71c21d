/*
 * State of deviations (emu/base/deviation.def) that wait in a CPU for the event
 * that they affect.  Private to emu/cpu.
 */
#ifndef TOPAZ_EMU_CPU_PENDING_FAULTS_H
#define TOPAZ_EMU_CPU_PENDING_FAULTS_H

#include "emu/base/base.h"
#include "emu/base/deviation.h"

/* An instruction that has done its load but not its store; .bytes 0: none. */
struct split {
	uint64_t insns, rip, pa, value;
	unsigned bytes;
};

/* The deviation in progress, until its event has been emitted. */
struct deviation_note {
	bool pending;
	enum deviation_kind kind;
	uint64_t param;
};

/*
 * Deviations that wait for the event that they affect (deviation.def), and what
 * they need.  Owner: inject.c.
 */
struct pending_faults {
	uint32_t late_insns; /* LATE: delay in addition to the skid */
	bool lost, twice, merge;
	bool merging; /* MERGE: a PMI was held back */
	bool xrstors_gp, wrmsr_gp, fail;
	bool older; /* OLDER: the values that the next read returns */
	uint64_t older_position, older_status;
	struct split split;
	struct deviation_note note;
	uint64_t xsaves_pa[2]; /* the last area's component 8: its first 64 bytes
				  and the others; 0: there was none */
};

struct cpu;
/* inject.c: completes the instruction whose load the deviation has done. */
void cpu_join(struct cpu *cpu);

#endif
