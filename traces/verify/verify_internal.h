/*
 * State shared by the levels of the verification, highest first: the whole bundle
 * (verify.c), one stream (verify_stream.c), one part without a hole (verify_part.c), its
 * times (verify_time.c); and by another decoder's list (../external/external_decoder.c).
 * A level calls only lower ones, and all of them verify_load.c and verify_result.c.  Not
 * for other files.
 */
#ifndef TOPAZ_TRACES_VERIFY_VERIFY_INTERNAL_H
#define TOPAZ_TRACES_VERIFY_VERIFY_INTERNAL_H

#include "harness/host/folder/spill.h"
#include "traces/bundle/image.h"
#include "traces/decode/decode.h"
#include "traces/verify/flow.h"
#include "traces/verify/log_code.h"
#include "traces/verify/verify.h"

#include <stdarg.h>

/* A PSB+ that the unit reported. */
struct verify_psb {
	uint64_t offset; /* in all output of the unit */
	uint64_t insns;  /* instructions retired before it */
};

/* An overflow of the internal buffer that ended with an OVF. */
struct verify_overflow {
	uint64_t offset;     /* of the OVF or its padding, like verify_psb's */
	uint64_t begin, end; /* instructions retired when it began and ended */
};

/* What user space got of the trace, where the events do not say it (delivery/). */
struct verify_delivery {
	struct verify_delivered {
		uint64_t key; /* of the stream, as in the events */
		uint8_t *bytes;
		size_t count, room;
	} * streams;
	size_t count, room;
};

struct verify_work {
	const struct bundle *bundle;
	const struct verify_options *options;
	struct verify_result *result;
	struct tz_error *err;
	struct account account;
	struct flow_source source;
	struct exec_log_file *logs[BUNDLE_CPUS_MAX];
	struct flow_cpu cpus[BUNDLE_CPUS_MAX];
	struct trace_off trace_off[BUNDLE_CPUS_MAX];
	struct verify_psbs {
		size_t count, room;
		struct verify_psb *psbs; /* by rising offset */
	} psbs[BUNDLE_CPUS_MAX];
	struct verify_overflows {
		size_t count, room;
		struct verify_overflow *overflows; /* by rising offset */
	} overflows[BUNDLE_CPUS_MAX];
	struct code_image image;
	struct perf_file *perf; /* NULL: the bundle has no perf.data */
	struct verify_delivery delivery;
	struct image_reader reader;
	struct log_code code; /* if the execution log has the code */
};

/* The stream that is verified. */
struct verify_bytes {
	const struct account_stream *account;
	struct verify_stream *stream;
	uint8_t *bytes; /* drained, then the tail; by piece.position */
	uint64_t count;
	struct spill room; /* of .bytes */
	bool may_have_cfe; /* mask_cfe_may_have() */
	size_t interval_count;
	size_t *intervals; /* of the stream, in order */
};

/* Bytes of a stream that are gone through before memory is left. */
#define VERIFY_PART_BYTES (UINT64_C(1) << 20)

/* Bytes [begin, end) of a stream without a hole. */
struct verify_part {
	uint64_t begin, end;
	size_t first, last;        /* pieces */
	bool complete;             /* it ends where TraceEn fell */
	struct bundle_model model; /* the processor that made it */
	bool has_filter;
	struct decode_filter filter; /* in force where something decodes */
};

/*
 * Reads the execution log, events, frames and images of .bundle; .err is set.  Errors as of
 * verify_bundle().  verify_unload() frees them, also after an error.
 */
int verify_load(struct verify_work *work);
void verify_unload(struct verify_work *work);

/* Adds a finding; text that does not fit is cut off. */
void verify_add_finding(struct verify_work *work, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * NAME, of which *COUNT differences were told before, has one more: the first one goes into
 * TEXT and is a finding, others are counted.
 */
void verify_add_difference(struct verify_work *work, const char *name,
    uint64_t *count, char text[VERIFY_TEXT_BYTES], const char *fmt, va_list ap)
    __attribute__((format(printf, 5, 0)));

/* Reads and compares stream INDEX of the account. */
int verify_one_stream(struct verify_work *work, size_t index);

/* Decodes PART and compares it.  False: stop, the stream has its difference. */
bool verify_one_part(struct verify_work *work, const struct verify_bytes *bytes,
    const struct verify_part *part);

/*
 * The configuration for comparing the times in PART.  False: the trace or the execution
 * log has no times.
 */
struct decode_time_config;
bool verify_time_config(const struct verify_work *work,
    const struct verify_bytes *bytes, const struct verify_part *part,
    struct decode_time_config *config);

/* An instruction of the execution log. */
struct verify_step {
	const struct exec_log_file *log; /* NULL: none */
	uint64_t retired;                /* instructions before it */
};

/*
 * Compares the times of the instructions that DECODE gave last.  STEPS are these
 * instructions; *BEFORE is the one before them, and is set to the last of them.
 */
void verify_times(struct verify_work *work, const struct verify_bytes *bytes,
    const struct decode *decode, const struct decode_time_config *config,
    const struct verify_step *steps, size_t count, struct verify_step *before);

#endif
