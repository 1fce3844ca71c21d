/*
 * The tracing hardware of the calling CPU: CPUID, the IA32_RTIT_* MSRs and the
 * PMI's status bit.  The only policy here is the order of the writes.  XSAVES:
 * xstate.h.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_HW_HW_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_HW_HW_H

#include "driver/insntrace/core/config.h"

/* The setup of a CPU's trace: each field is the value of a register. */
struct hw_setup {
	uint64_t ctl; /* TraceEn and ToPA included */
	uint64_t output_base;
	uint64_t cr3_match;
	uint64_t addr_a[INSNTRACE_RANGES_MAX], addr_b[INSNTRACE_RANGES_MAX];
};

/* The registers after tracing. */
struct hw_capture {
	uint64_t status, output_base, mask_ptrs;
};

/* Those that all CPUs have: hybrid CPUs differ.  Where sleeping is allowed, one call at a
 * time. */
void hw_read_caps(struct caps *caps);

/* On return tracing runs, from the beginning of the tables. */
void hw_start(const struct caps *caps, const struct hw_setup *setup);
/* TraceEn = 0; everything written is in memory. */
void hw_stop(const struct hw_setup *setup);
/* Call with TraceEn = 0.  Reads the registers; clears all of them. */
void hw_capture(struct hw_capture *capture);
void hw_clear(const struct caps *caps);

/*
 * For the PMI handler: stops tracing while the handler runs, and resumes it
 * unchanged.  hw_pause returns the argument of hw_resume.  A CPU that did not
 * trace, or whose tracing has stopped by itself, stays off.
 */
uint64_t hw_pause(void);
void hw_resume(uint64_t ctl);

/* IA32_PERF_GLOBAL_STATUS bit 55, set by the PMI until it is acknowledged. */
bool hw_pmi_pending(void);
void hw_pmi_acknowledge(void);

#endif
