/*
 * What the invariants (harness/check) have to know of a booted kernel: which pages an AUX
 * buffer has, which bytes of it perf is given, whether an NMI was claimed, and whether
 * ring 3 runs.  A guest of topaz's own kernel says so by its host channel; of a stock
 * kernel it follows from calls between perf and the driver, whose arguments are perf's
 * documented interface (include/linux/perf_event.h), and from NMIs and IRETs.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_PERF_H
#define TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_PERF_H

#include "emu/machine.h"
#include "harness/check/check.h"
#include "harness/explore/linux/linux_code.h"

#define LINUX_PERF_BUFFERS   8
#define LINUX_PERF_PAGES     2048 /* of one buffer */
#define LINUX_PERF_FUNCTIONS 16

/* Constant after linux_perf_find(): the functions of struct audit, and who calls them. */
struct linux_perf_code {
	uint64_t function[LINUX_PERF_FUNCTIONS]; /* ascending, for struct audit */
	uint8_t meaning[LINUX_PERF_FUNCTIONS];
	struct audit audit; /* refers to .function */
};

/* All of it belongs to a run's state. */
struct linux_perf {
	struct linux_perf_buffer {
		uint64_t va[LINUX_PERF_PAGES], pa[LINUX_PERF_PAGES];
		uint64_t pages_va; /* perf's array of them */
		uint32_t pages;
		uint64_t position; /* of the next byte that perf is given */
		bool live;
		bool overwrite; /* no byte is given to perf */
	} buffer[LINUX_PERF_BUFFERS];
	unsigned buffers;
	bool full;   /* a buffer is too large, or there are too many */
	bool begun;  /* a buffer was to be filled */
	bool filled; /* ring 3 ran with one open, or a unit wrote a byte */
	struct {
		bool in_nmi, unclaimed;
		bool pmi;   /* it is that of a ToPA PMI, with a buffer open */
		bool began; /* the handler has begun a buffer, or tried to */
		bool ended; /* it has ended one before */
		unsigned depth;  /* exceptions in the handler */
		unsigned buffer; /* of the last output */
		/* Of the struct perf_output_handle that was begun with last;
		 * 0: none. */
		uint64_t handle_pa;
	} cpu[MACHINE_CPUS_MAX];
	uint64_t cycles; /* of the last event */
};

/* -TZ_EFORMAT: the kernel does not have one of the functions. */
int linux_perf_find(const struct linux_code *code, struct linux_perf_code *perf,
    struct tz_error *err);

/* True if CALL sets up an AUX buffer for Intel PT, or begins to fill one. */
bool linux_perf_is_setup(
    const struct linux_perf_code *code, const struct audit_call *call);
bool linux_perf_is_begin(
    const struct linux_perf_code *code, const struct audit_call *call);

/* The rows that are judged in a booted kernel, one bit each. */
check_rows linux_perf_rows(void);

/* To be called with each call that MACHINE's audit reports. */
void linux_perf_call(struct linux_perf *perf,
    const struct linux_perf_code *code, struct machine *machine,
    struct check *check, const struct audit_call *call);

/* To be called with each event of MACHINE; passes it to CHECK. */
void linux_perf_event(struct linux_perf *perf, struct machine *machine,
    struct check *check, const struct event *event);

/* The script has ended: nobody traces, and all has been collected. */
void linux_perf_end(struct linux_perf *perf, struct machine *machine,
    unsigned cpu, struct check *check);

#endif
