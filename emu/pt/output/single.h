/*
 * Trace output to a single range: a circular buffer of 128 bytes to 4 GiB of
 * physical memory, which never interrupts and never stops.
 *
 * Source: SDM vol. 3, 33.2.7.1 "Single-Range Output".
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_SINGLE_H
#define TOPAZ_EMU_PT_OUTPUT_SINGLE_H

struct pt_unit;

/*
 * Describes the range of OUTPUT_BASE and OUTPUT_MASK_PTRS as the region to be filled
 * (topa.c).  Returns NULL, or static text that names the fault of these MSRs.
 */
const char *single_describe(struct pt_unit *unit);

#endif
