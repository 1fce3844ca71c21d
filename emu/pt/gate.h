/*
 * The enables that decide whether packets are generated: TriggerEn, ContextEn,
 * FilterEn and, from them, PacketEn.  Pure functions of the MSRs and of the CPU's
 * context.
 *
 * Source: SDM vol. 3, 33.2.6 "Packet Generation Enable Controls".
 */
#ifndef TOPAZ_EMU_PT_GATE_H
#define TOPAZ_EMU_PT_GATE_H

#include "emu/base/base.h"
#include "emu/pt/unit.h"

#define GATE_RANGES_MAX 4

/* The MSRs that the gates read. */
struct gate_config {
	uint64_t ctl;
	uint64_t status;
	uint64_t cr3_match;
	uint64_t range_a[GATE_RANGES_MAX];
	uint64_t range_b[GATE_RANGES_MAX];
};

struct gate {
	bool trigger_en;
	bool context_en;
	bool filter_en;
	bool packet_en;
};

/* TraceEn && !Stopped && !Error. */
bool gate_trigger_en(const struct gate_config *config);

/* True if the privilege level and CR3 of AT allow tracing. */
bool gate_context_en(
    const struct gate_config *config, const struct pt_context *at);

/* True if IP is in a range that is configured for CFG (1: FilterEn, 2: TraceStop). */
bool gate_in_range(const struct gate_config *config, unsigned cfg, uint64_t ip);

/*
 * The first range that is configured for FilterEn.  False: there is none, or a
 * range for TraceStop is configured as well.
 */
bool gate_filter(const struct gate_config *config, uint64_t *a, uint64_t *b);

/* True if any address range is in use. */
bool gate_has_ranges(const struct gate_config *config);

/*
 * The gates after an event that left the CPU at AT, computed from the gates BEFORE.
 * MOVED: the event evaluates FilterEn, as all do except a conditional branch not
 * taken.  Sets *STOP where AT lies in a TraceStop range that stops the trace.
 */
struct gate gate_next(const struct gate_config *config, struct gate before,
    const struct pt_context *at, bool moved, bool *stop);

#endif
