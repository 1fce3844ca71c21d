/*
 * The deviations of deviation.def: events that a search can force on a running
 * machine.
 */
#ifndef TOPAZ_EMU_BASE_DEVIATION_H
#define TOPAZ_EMU_BASE_DEVIATION_H

#include "emu/base/base.h"

enum deviation_class { DEVIATION_CLASS_SCHEDULE, DEVIATION_CLASS_FAULT };

/* Searches that try a deviation if the user names no kinds; bits. */
enum {
	DEVIATION_IN_EXPLORE = 1,
	DEVIATION_IN_PAIRS = 2, /* two deviations in a schedule */
	DEVIATION_IN_FAULTS = 4,
};

/*
 * Where a search tries a deviation.  Elsewhere the deviation is impossible, or has
 * the same effect as at a later place.
 */
enum deviation_when {
	DEVIATION_WHEN_ANY,
	DEVIATION_WHEN_TRIGGER_EN, /* STATUS.TriggerEn is 1 */
	DEVIATION_WHEN_POSITION, /* and the code may read the output position */
	DEVIATION_WHEN_INTERRUPTS, /* RFLAGS.IF is 1 */
	DEVIATION_WHEN_NO_NMI,     /* no NMI handler runs */
	DEVIATION_WHEN_SHARED,     /* the instruction affects other CPUs */
	DEVIATION_WHEN_SPLIT,      /* it loads and stores, without LOCK */
	DEVIATION_WHEN_FALLIBLE_CALL, /* a kernel function that can fail is called */
	DEVIATION_WHEN_COUNTS, /* a counter whose overflow interrupts is enabled */
};

/*
 * What a deviation may cause by itself, on its CPU and until the end of the run;
 * bits.
 */
enum {
	DEVIATION_MAY_SEND_NMI = 1, /* an NMI that the PT unit did not raise */
	DEVIATION_MAY_CONFUSE_NMI =
	    2,                      /* an NMI without bit 55, or the opposite */
	DEVIATION_MAY_LOSE_PMI = 4, /* a PMI without its NMI, or too late */
	DEVIATION_MAY_LOSE_BYTES = 8, /* trace bytes, in unknown number */
	DEVIATION_MAY_ERROR = 0x10,   /* ToPA operational error */
	DEVIATION_MAY_MISREAD_TABLE = 0x20,
	DEVIATION_MAY_WRITE_ELSEWHERE = 0x40,
	DEVIATION_MAY_MISCONFIGURE = 0x80, /* CTL, STATUS and the filters */
	DEVIATION_MAY_GP = 0x100,
};

/* Value of .usual: the number of each CPU except the deviation's own. */
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

/* The kinds that any of SEARCHES (DEVIATION_IN_*) tries, as bits 1 << kind. */
uint32_t deviation_kinds(uint32_t searches);

/*
 * The deviation named WORD, of LENGTH characters; DEVIATION_COUNT if there is none.
 */
enum deviation_kind deviation_find(const char *word, size_t length);

#endif
