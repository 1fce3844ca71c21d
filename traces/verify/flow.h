/*
 * The instructions that must decode from one stream: those of its intervals,
 * one interval after the other, even if different CPUs traced them.
 */
#ifndef TOPAZ_TRACES_VERIFY_FLOW_H
#define TOPAZ_TRACES_VERIFY_FLOW_H

#include "traces/verify/account/account.h"
#include "traces/verify/expect.h"

/* One CPU's execution log, split at each rise of TraceEn. */
struct flow_cpu {
	size_t count, room;
	struct flow_interval {
		struct expect start; /* after the instruction that set TraceEn */
		uint64_t insns;      /* instructions that a decoder must list */
	} * intervals;
};

/* Finds the intervals of LOG, which must outlive them.  -TZ_EIO: no memory. */
int flow_cpu_create(const struct exec_log_file *log, struct flow_cpu *cpu,
    struct tz_error *err);
void flow_cpu_destroy(struct flow_cpu *cpu);

/* The account and the CPUs' intervals that streams refer to. */
struct flow_source {
	const struct account *account;
	const struct flow_cpu *cpus;
};

/* A position in a stream's instructions; plain data, may be copied. */
struct flow {
	const struct flow_source *source;
	const size_t *intervals; /* of the stream, indices into the account */
	size_t at, end;          /* the current interval; one past the last */
	struct expect expect;
	struct expect_item item;
	uint32_t taken; /* instructions of .item already taken */
	bool unlisted; /* flow_next() gives INT n, too, which no decoder lists */
};

/* Starts at INTERVALS[AT] and ends before INTERVALS[END]. */
void flow_start(struct flow *flow, const struct flow_source *source,
    const size_t *intervals, size_t at, size_t end);

/* The next instruction's address.  False: none is left. */
bool flow_next(struct flow *flow, uint64_t *ip);

/* Instructions that its CPU retired before the one that flow_next() gave last. */
uint64_t flow_retired(const struct flow *flow);

/* The execution log's interval that belongs to an interval of the account, or NULL. */
const struct flow_interval *flow_find(
    const struct flow_source *source, size_t interval);

#endif
