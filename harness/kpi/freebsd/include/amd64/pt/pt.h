/* The configuration that user space passes to the processor trace backend. */
#ifndef _AMD64_PT_PT_H_
#define _AMD64_PT_PT_H_

#include <sys/types.h>
#include <x86/include/specialreg.h>

#define PT_IP_FILTER_MAX_RANGES 2

struct pt_cpu_config {
	uint64_t rtit_ctl;
	register_t cr3_filter;
	int nranges;
	struct ipf_range {
		vm_offset_t start;
		vm_offset_t end;
	} ip_ranges[PT_IP_FILTER_MAX_RANGES];
	uint32_t mtc_freq;
	uint32_t cyc_thresh;
	uint32_t psb_freq;
};

_Static_assert(sizeof(struct pt_cpu_config) == 72, "size");

#endif
