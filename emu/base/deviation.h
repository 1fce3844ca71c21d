/*
 * The deviations of deviation.def: what a running machine may be made to do.
 */
#ifndef TOPAZ_EMU_BASE_DEVIATION_H
#define TOPAZ_EMU_BASE_DEVIATION_H

#include "emu/base/base.h"

enum deviation_class { DEVIATION_CLASS_SCHEDULE, DEVIATION_CLASS_FAULT };

/* Searches that try a deviation, if the user names no kinds; bits. */
enum {
	DEVIATION_IN_EXPLORE = 1,
	DEVIATION_IN_PAIRS = 2, /* two deviations in a schedule */
	DEVIATION_IN_FAULTS = 4,
};

/* Where a search tries a deviation: elsewhere it is impossible, or has no effect
 * that it has not at a later place. */
enum deviation_when {
	DEVIATION_WHEN_ANY,
	DEVIATION_WHEN_TRIGGER_EN, /* STATUS.TriggerEn is 1 */
	DEVIATION_WHEN_POSITION, /* and the code may read the output position */
	DEVIATION_WHEN_INTERRUPTS, /* RFLAGS.IF is 1 */
	DEVIATION_WHEN_NO_NMI,     /* no NMI handler runs */
	DEVIATION_WHEN_SHARED,     /* the instruction affects other CPUs */
	DEVIATION_WHEN_SPLIT,      /* it loads and stores, without LOCK */
	DEVIATION_WHEN_FALLIBLE_CALL, /* a kernel function that can fail is called */
};

/* What a deviation may cause by itself, on its CPU and to the end of the run; bits. */
enum {
	DEVIATION_MAY_SEND_NMI = 1, /* one that is not the unit's */
	DEVIATION_MAY_CONFUSE_NMI =
	    2,                      /* an NMI without bit 55, or the opposite */
	DEVIATION_MAY_LOSE_PMI = 4, /* a PMI without its NMI, or too late */
	DEVIATION_MAY_LOSE_BYTES = 8, /* a number that nobody can know */
	DEVIATION_MAY_ERROR = 0x10,   /* ToPA operational error */
	DEVIATION_MAY_MISREAD_TABLE = 0x20,
	DEVIATION_MAY_WRITE_ELSEWHERE = 0x40,
	DEVIATION_MAY_MISCONFIGURE = 0x80, /* CTL, STATUS and the filters */
	DEVIATION_MAY_GP = 0x100,
};

/* As .usual: the number of each CPU but the deviation's. */
#define DEVIATION_EACH_CPU UINT64_MAX

enum deviation_kind {
#define DEVIATION(id, ...) DEVIATION_##id,
#include "emu/base/deviation.def"
#undef DEVIATION
	DEVIATION_COUNT
};

struct deviation_info {
	const char *word; /* as in tokens */
	enum deviation_class class;
	uint32_t searches; /* bits: DEVIATION_IN_* */
	enum deviation_when when;
	uint64_t usual;   /* parameter; or DEVIATION_EACH_CPU */
	uint32_t effects; /* bits: DEVIATION_MAY_* */
	const char *text, *parameter, *citation; /* parameter "": none */
};
const struct deviation_info *deviation_info(enum deviation_kind kind);

/* The kinds in any of SEARCHES (DEVIATION_IN_*): bit 1 << kind each. */
uint32_t deviation_kinds(uint32_t searches);

/* The deviation with that WORD of LENGTH characters; DEVIATION_COUNT: there is none. */
enum deviation_kind deviation_find(const char *word, size_t length);

#endif
