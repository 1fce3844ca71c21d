/*
 * One run from a driver's source to a bundle: build, load, execute, record.  It reports
 * what happened; traces/verify/verify.h checks the trace.
 */
#ifndef TOPAZ_HARNESS_RUN_H
#define TOPAZ_HARNESS_RUN_H

#include "emu/machine.h"
#include "emu/profile/cpu_set.h"

#define RUN_FRAMES_MAX    24
#define RUN_LINE_BYTES    192
#define RUN_CONSOLE_BYTES 1024

enum run_mode {
	RUN_MODE_ANY, /* CPUs, if the driver can trace them, else threads */
	RUN_MODE_CPU,
	RUN_MODE_THREAD,
};

/* A limit far beyond what the workloads and all that traces them take. */
#define RUN_LIMIT_BY_WORK UINT64_MAX

struct run_options {
	const char *driver;
	const char *source; /* one file; NULL: the driver's own */
	const char *tree;   /* the OS's own sources, or NULL */
	const char *cc;     /* NULL: gcc */
	unsigned cc_seconds; /* compiler's limit for a source; 0: BUILD_SECONDS */
	const char *drivers; /* folder with DRIVER/driver.yaml; NULL: topaz's */
	const char *output;  /* the bundle */
	const char *profile; /* of emu/profile/cpu_set.h; NULL: the driver's */
	const char *errata;  /* enabled errata, comma-separated keys, or NULL */
	const char *workload; /* comma-separated names */
	const char *settings; /* additional guest boot parameters, or "" */
	uint64_t buffer_bytes;
	uint64_t rounds;
	uint64_t insns_max; /* at least 1, or RUN_LIMIT_BY_WORK */
	unsigned cpu_count;
	uint32_t core_cbr; /* machine_config's */
	bool cost;         /* cpu_set_use_cost() */
	struct pt_cycles pt_cycles;
	enum run_mode mode;
	bool trace_kernel, trace_user;
	bool invariants;
	bool exec_log;
	bool single_step;
	bool verbose;
	bool objects; /* compiled already: no source is needed */
};

/* The defaults of `topaz run`. */
struct run_options run_defaults(void);

/*
 * Instructions of all CPUs after which a run of OPTIONS is ended.  By work: 300 million,
 * and 1000 times those of the workloads, a round being 100,000; no limit where the guest
 * parameter insns says how much work there is.
 */
uint64_t run_limit(const struct run_options *options);

struct run_outcome {
	struct machine_result result;
	bool waits; /* at .result a kernel operation waits without end */
	bool thread_mode;
	unsigned cpu_count;
	struct run_cpu {
		struct machine_counters counters;
		uint64_t wraps;
		uint64_t pt_errors;
		uint64_t branch_records;       /* stored by BTS */
		char pt_error[RUN_LINE_BYTES]; /* cause, if .pt_errors is not 0 */
		/* Performance counters that were enabled for an event without a
		 * model, and IA32_PERFEVTSELx of the first: they stand still. */
		uint64_t uncounted, uncounted_select;
		/* The first instruction that the cost model does not know. */
		char unknown_cost[RUN_LINE_BYTES];
	} cpu[MACHINE_CPUS_MAX];
	/* Configurations that the driver refused while the kernel ignored the error:
	 * their number, and the CPU and the error of the first one. */
	uint64_t refused_count, refused_cpu;
	int refused_error;
	char models[CPU_SET_TEXT_BYTES]; /* of the CPUs: see cpu_set.h */
	char sha256[65];                 /* of the driver's source */
	bool no_trace;                   /* the driver does not use Intel PT */
	char console[RUN_CONSOLE_BYTES]; /* the last part of it */
	char where[RUN_LINE_BYTES];      /* symbol and line of the end */
	unsigned frame_count;            /* of the backtrace, innermost first */
	char frame[RUN_FRAMES_MAX][RUN_LINE_BYTES];
};

/*
 * -TZ_EUSAGE: bad option, or a source that is missing or does not compile;
 * -TZ_ENOENT: no such driver or profile, or topaz's own files are missing;
 * -TZ_EFORMAT: an ELF file is corrupt; -TZ_EIO.  After an error the output path is
 * unchanged.
 */
int run_driver(const struct run_options *options, struct run_outcome *outcome,
    struct tz_error *err);

/* True if a stop request (harness/host/stop.h) ended the run; then there is no bundle. */
bool run_was_stopped(const struct run_outcome *outcome);

/*
 * The verdict on a run.  Failed: a panic, an exit code other than 0, a deadlock, a
 * triple fault, an operation that waits without end, an operational error of a trace
 * unit, a configuration that the driver refused.  Not judged: the run ended at something
 * that the model does not have, at its limit, without memory, by an error of the
 * emulator or because it was stopped, or a driver that uses Intel PT or the Debug Store
 * wrote neither a byte of trace nor a branch record.  Passed: none of these.
 * traces/verify/verify.h checks the trace.
 */
enum run_verdict {
	RUN_PASSED,
	RUN_FAILED,
	RUN_NOT_JUDGED,
};
enum run_verdict run_verdict(const struct run_outcome *outcome);

/* The reason why a run failed or was not judged, as text; "": it passed. */
const char *run_reason(const struct run_outcome *outcome);

#endif
