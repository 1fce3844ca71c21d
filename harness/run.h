/*
 * One run from a driver's source to a bundle: build, load, execute, record.  It
 * reports what happened; whether the trace is right is for traces/verify.h.
 */
#ifndef TOPAZ_HARNESS_RUN_H
#define TOPAZ_HARNESS_RUN_H

#include "emu/machine.h"
#include "emu/profile/mix.h"

#define RUN_FRAMES_MAX    24
#define RUN_LINE_BYTES    192
#define RUN_CONSOLE_BYTES 1024

struct run_options {
	const char *driver;
	const char *source;  /* one file; NULL: the driver's own */
	const char *tree;    /* the OS's own sources, or NULL */
	const char *cc;      /* NULL: gcc */
	const char *drivers; /* folder with DRIVER/driver.yaml; NULL: topaz's */
	const char *output;  /* the bundle */
	const char *profile; /* of emu/profile/mix.h */
	const char *errata;  /* further keys by comma that show, or NULL */
	const char *workload; /* comma-separated names */
	const char *settings; /* further words for the guest, or "" */
	uint64_t buffer_bytes;
	uint64_t rounds;
	uint64_t insns_max; /* 0: no limit */
	unsigned cpu_count;
	uint32_t core_cbr; /* machine_config's */
	struct pt_cycles pt_cycles;
	bool thread_mode;
	bool trace_kernel, trace_user;
	bool invariants;
	bool truth;
	bool single_step;
	bool verbose;
	bool objects; /* compiled before: no source is needed */
};

/* The defaults of `topaz run`. */
struct run_options run_defaults(void);

struct run_outcome {
	struct machine_result result;
	unsigned cpu_count;
	struct run_cpu {
		struct machine_counters counters;
		uint64_t wraps;
		uint64_t pt_errors;
		char pt_error[RUN_LINE_BYTES]; /* why, if there were any */
	} cpu[MACHINE_CPUS_MAX];
	/* The driver refused the configuration, and the kernel dropped the error:
	 * how often, the first error, and on which CPU. */
	uint64_t refused_count, refused_cpu;
	int refused_error;
	char models[PROFILE_MIX_TEXT_BYTES]; /* the CPUs': of mix.h */
	char sha256[65];                     /* of the driver's source */
	char console[RUN_CONSOLE_BYTES];     /* its end */
	char where[RUN_LINE_BYTES];          /* symbol and line of the end */
	unsigned frame_count; /* of the backtrace, innermost first */
	char frame[RUN_FRAMES_MAX][RUN_LINE_BYTES];
};

/*
 * -TZ_EUSAGE: bad option, or a source that is missing or does not compile;
 * -TZ_ENOENT: no such driver or profile, or topaz's own files are missing;
 * -TZ_EFORMAT: an ELF file is corrupt; -TZ_EIO.  After an error the place of
 * the bundle is as it was before.
 */
int run_driver(const struct run_options *options, struct run_outcome *outcome,
    struct tz_error *err);

/*
 * The exit code that OUTCOME asks for: 0, 1 (panic, bad exit, deadlock, triple
 * fault, limit, operational error, configuration refused), 6 (not modelled) or 70 (engine).
 */
int run_exit_code(const struct run_outcome *outcome);

#endif
