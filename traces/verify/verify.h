/*
 * The verdict on a bundle: every trace that user space read is decoded by libipt and
 * compared with the execution log, instruction by instruction and in both directions.
 * Every byte that was written is accounted for.
 */
#ifndef TOPAZ_TRACES_VERIFY_VERIFY_H
#define TOPAZ_TRACES_VERIFY_VERIFY_H

#include "traces/bundle/bundle.h"
#include "traces/verify/account/account.h"

#include <stdio.h>

#define VERIFY_NAME_BYTES 160
#define VERIFY_TEXT_BYTES 320

/* Names an address: "pt_topa_intr+0x9e pt.c:812". */
struct symbolizer {
	void *arg;
	/* False: unknown.  True: TEXT is filled in, NUL-terminated. */
	bool (*name)(void *arg, uint64_t va, char *text, size_t size);
};

/* The default of verify_options.rows: these rows are not findings. */
#define VERIFY_ROWS_DEFAULT                                                   \
 ((1u << ACCOUNT_WRITTEN) | (1u << ACCOUNT_REPORTED) | (1u << ACCOUNT_LOST) | \
     (1u << ACCOUNT_TAIL))

struct verify_options {
	const char
	    *perf_data; /* in place of the bundle's perf.data; NULL: that */
	const struct symbolizer *symbolizer; /* NULL: addresses only */
	uint32_t rows; /* bits 1 << ACCOUNT_*: rows that are not findings */
};

/* The first difference between decoded and executed instructions. */
struct verify_difference {
	bool found;
	uint64_t index;  /* of the instruction among those that must decode */
	uint64_t offset; /* of the packet in the stream */
	bool has_executed, has_decoded;
	uint64_t executed, decoded;
	char executed_name[VERIFY_NAME_BYTES], decoded_name[VERIFY_NAME_BYTES];
	char cause[VERIFY_NAME_BYTES];
};

/* Times of packets, compared with the core clock of the execution log. */
struct verify_time {
	uint64_t compared;
	uint64_t
	    exact; /* of these: ../decode/clock.h leaves an interval of one tick */
	uint64_t widest;  /* widest interval of ../decode/clock.h, in ticks */
	uint64_t largest; /* greatest error of libipt, in TSC ticks */
	uint64_t allowed; /* error that the rule allows libipt at that packet */
	uint64_t wrong;   /* times of either decoder beyond what is allowed */
	bool lost;        /* packets and instructions did not match */
};

struct verify_stream {
	char name[32]; /* "cpu0", "thread7" */
	bool thread;
	uint32_t id;
	uint64_t expected; /* instructions that must decode */
	uint64_t decoded, matched;
	uint64_t beyond; /* expected, but after the last packet */
	bool stopped; /* the unit stopped by itself in one of its intervals */
	bool open;    /* TraceEn was still 1 when the run ended */
	uint64_t overflows; /* of a bounded internal buffer, each with an OVF */
	uint64_t overflown; /* expected, but lost to overflows */
	uint64_t misled;    /* overflows that misled libipt (SKD010) */
	uint64_t segments;  /* TIP.PGE decoded */
	uint64_t jcc_disables; /* TIP.PGD without IP at a conditional branch */
	uint64_t parts;        /* byte ranges without a hole */
	uint64_t psbs;
	uint64_t rows[ACCOUNT_ROW_COUNT];
	struct account_place places[ACCOUNT_ROW_COUNT];
	struct verify_difference difference;
	struct verify_time time;
};

/* Branch records of one process's task, or of one CPU, or its PEBS records, counted. */
struct verify_records {
	uint64_t id;   /* pid, or ABI_RECORDS_CPU or ABI_RECORDS_PEBS | CPU */
	char name[32]; /* "pid7", "cpu0", "cpu0-pebs" */
	bool pebs;
	uint64_t stored;  /* by the CPUs: branches, interrupts, exceptions */
	uint64_t read;    /* by user space, with those of switches */
	uint64_t matched; /* of these: equal to what was executed */
	uint64_t overwritten; /* in rounds of the buffer that nobody read */
	uint64_t left;        /* in the buffer at its end */
	uint64_t missed;   /* executed and to be recorded, but not recorded */
	uint64_t unstored; /* PEBS: their buffer had no room, or faulted */
	uint64_t differences;
	char difference[VERIFY_TEXT_BYTES]; /* the first one */
};

/*
 * One performance counter of a driver.  Overflows are all accounted for: overflows = off +
 * samples due; samples due = read + no_room + lost + discarded.
 */
struct verify_counter {
	uint64_t id;        /* the OS's */
	char name[32];      /* "counter 10701" */
	char what[64];      /* "event c0 umask 00 in ring 3 of cpu0" */
	bool samples;       /* else it counts */
	bool reported;      /* only the CPU's reports tell its overflows ... */
	bool unknown;       /* nothing of it is compared ... */
	const char *reason; /* ... because of this */
	uint64_t events;    /* that it must have counted in all */
	uint64_t values;    /* that user space has read of it ... */
	uint64_t equal;     /* ... that are as executed */
	uint64_t first_slices; /* events of its processes before the first switch
				  to a new one, which the OS does not count */
	uint64_t missed;  /* other events of its processes while it was on */
	uint64_t entries; /* of the log: events of a switch or an exit ... */
	uint64_t entries_equal; /* ... that are as executed */
	uint64_t overflows;     /* while it was on or when it has just been */
	uint64_t masked; /* in an NMI's handler, and no other came for it */
	uint64_t off;  /* the counter had been taken from the CPU at the NMI */
	uint64_t read; /* samples */
	uint64_t matched; /* of these: as executed */
	uint64_t
	    chains; /* of these: with the callers in ring 3, all as executed */
	uint64_t chains_unknown; /* with callers that the log cannot tell */
	uint64_t no_room, lost, discarded;
	uint64_t skidded; /* of ring 3, in ring 0 when the NMI came: no sample */
	uint64_t differences;
	/* The event ABI_COUNTER_READ, from 1, whose value .difference is of; 0: none */
	uint64_t wrong_read;
	char difference[VERIFY_TEXT_BYTES];
};

struct verify_finding {
	char text[VERIFY_TEXT_BYTES];
};

/* What perf recorded of the trace, counted. */
struct verify_perf {
	bool present;                /* the bundle has a perf.data */
	bool snapshot;               /* perf took snapshots */
	uint64_t records, truncated; /* AUX; of these: TRUNCATED */
	uint64_t snapshots;
	uint64_t lost; /* records that perf says it lost */
};

struct verify_result {
	size_t stream_count, stream_room;
	struct verify_stream *streams;
	size_t record_count, record_room;
	struct verify_records *records;
	size_t counter_count, counter_room;
	struct verify_counter *counters;
	/* Of performance counters: reads of their registers, and overflows, by the
	   CPUs; entries of exec, fork, exit and attach in the driver's log. */
	uint64_t counter_registers, counter_overflows, process_entries;
	uint64_t pebs_records; /* by the CPUs, as executed */
	struct verify_perf perf;
	bool files; /* the guest reports no reads: the streams' bytes are found
		       again in what the units wrote */
	size_t finding_count, finding_room;
	struct verify_finding *findings;
	bool match;   /* no difference and no finding */
	bool nothing; /* neither trace nor records: there is nothing to compare */
};

/*
 * Verifies BUNDLE.  -TZ_EFORMAT: its execution log, events or frames contradict their
 * formats; -TZ_EUSAGE: .perf_data for a bundle without one; -TZ_EIO: no memory.  A
 * mismatch is a result, not an error.
 */
int verify_bundle(const struct bundle *bundle,
    const struct verify_options *options, struct verify_result *result,
    struct tz_error *err);
void verify_result_free(struct verify_result *result);

/*
 * One word for a stream: "MATCH" (decoded and executed are equal), "MISMATCH", or
 * "NOTHING" (instructions should decode, but there is no packet).
 */
const char *verify_verdict(const struct verify_stream *stream);

/* "MATCH", "MISMATCH", or "NOT JUDGED": no difference, but no byte was written. */
const char *verify_word(const struct verify_result *result);

/* Prints RESULT as text, one line a stream first. */
void verify_print(const struct verify_result *result, FILE *file);

/* RESULT as JSON with sorted keys, which the caller frees.  NULL: no memory. */
char *verify_json(const struct verify_result *result);

#endif
