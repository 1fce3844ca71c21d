/*
 * The tracing hardware of the CPU that calls: CPUID, the IA32_RTIT_* MSRs, the
 * PMI's status bit and its LVT entry.  The order of the writes is all the
 * policy here.  No XSAVES.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_HW_H
#define TOPAZ_DRIVER_INSNTRACE_HW_H

#include "driver/insntrace/config.h"

/* What a CPU traces with: each field is a register's value. */
struct hw_setup {
	uint64_t ctl; /* TraceEn and ToPA included */
	uint64_t output_base;
	uint64_t cr3_match;
	uint64_t addr_a[INSNTRACE_RANGES_MAX], addr_b[INSNTRACE_RANGES_MAX];
};

/* Registers as tracing left them. */
struct hw_capture {
	uint64_t status, output_base, mask_ptrs;
};

/* Of the CPU that calls only: others may differ. */
void hw_read_caps(struct caps *caps);

/* Tracing runs from the beginning of the tables when it returns. */
void hw_start(const struct caps *caps, const struct hw_setup *setup);
/* TraceEn = 0; everything written is in memory. */
void hw_stop(const struct hw_setup *setup);
/* With TraceEn = 0: what the registers hold; and clears all of them. */
void hw_capture(struct hw_capture *capture);
void hw_clear(const struct caps *caps);

/*
 * For the PMI's handler: stops tracing for as long as it runs, and lets it go
 * on as it was.  pause returns what resume wants; resume of a CPU that did not
 * trace, or whose tracing has stopped by itself, leaves it off.
 */
uint64_t hw_pause(void);
void hw_resume(uint64_t ctl);

/* IA32_PERF_GLOBAL_STATUS bit 55, set by the PMI until it is acknowledged. */
bool hw_pmi_pending(void);
void hw_pmi_acknowledge(void);
void hw_pmi_unmask(void);
void hw_pmi_mask(void);
bool hw_pmi_masked(void);

#endif
