/*
 * The setting of Intel PT under perf: IA32_RTIT_CTL from the event's attributes; clocks and
 * filter from the words of perf's AUXTRACE_INFO record.
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_INTEL_PT_H
#define TOPAZ_TRACES_PERF_DATA_PERF_INTEL_PT_H

#include "traces/perf_data/perf_record.h"

struct perf_intel_pt {
	const struct perf_attr *attr; /* the event intel_pt */
	uint32_t pmu_type;
	/* As Linux sets it up, without ranges (arch/x86/events/intel/pt.c). */
	uint64_t ctl;
	uint32_t signature; /* CPUID.1:EAX from the header, 0: unknown */
	bool snapshot, per_cpu;
	uint64_t sched_switch; /* how context switches were recorded, 0: not */
	uint32_t tsc_ctc_n, tsc_ctc_d; /* CPUID.15H:EBX and EAX, 0: unknown */
	uint32_t max_nonturbo_ratio;   /* 0: unknown */
	/* perf's clock: ns = TSC * mult >> shift, plus zero; mult 0: unknown. */
	uint64_t time_shift, time_mult, time_zero;
	const char *filter; /* as perf resolved it, "": none */
};

/*
 * -TZ_EUSAGE: FILE has no trace of Intel PT, and the message says what it has;
 * -TZ_EFORMAT: damaged.
 */
int perf_intel_pt_read(const struct perf_file *file, struct perf_intel_pt *pt,
    struct tz_error *err);

/* The TSC at NS of perf's clock, rounded down; 0 if the clock is unknown. */
uint64_t perf_intel_pt_tsc(const struct perf_intel_pt *pt, uint64_t ns);

#endif
