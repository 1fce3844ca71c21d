/*
 * The whole state of a PT unit, shared by the files of emu/pt and by nobody
 * else. Each member that is a struct belongs to the file that is named beside
 * it.
 */
#ifndef TOPAZ_EMU_PT_STATE_H
#define TOPAZ_EMU_PT_STATE_H

#include "emu/pt/gate.h"
#include "emu/pt/inject.h"
#include "emu/pt/msr.h"
#include "emu/pt/output/buffer.h"
#include "emu/pt/packet/packet.h"
#include "emu/pt/unit.h"

/* output/topa.c: where the output goes. */
struct topa {
	uint64_t written;    /* bytes since the unit's creation */
	uint64_t fast_limit; /* below it a byte needs no look */
	uint64_t free_limit; /* nor do packets, whatever the micro-architecture */
	uint64_t look;    /* value of .written that output/layout.c waits for */
	uint64_t lose_at; /* that of .written which nothing passes; 0: none */
	uint64_t region_pa;    /* base of the region being filled */
	uint64_t region_bytes; /* its size */
	uint64_t pmi_at; /* offset at which INT raises: the size, or before */
	uint64_t offset_bytes; /* IA32_RTIT_OUTPUT_MASK_PTRS[63:32] */
	uint64_t told_bytes; /* offset up to which PT_EVENT_OUTPUT was given */
	uint32_t index;      /* IA32_RTIT_OUTPUT_MASK_PTRS[31:7] */
	bool open;           /* a region is being filled */
	bool region_stop;    /* the region's entry has STOP */
	bool region_intr;    /* the region's entry has INT */
};

/* output/layout.c: words, padding and the PSB byte counter. */
struct place {
	uint64_t
	    bias; /* .written + bias: the output position, see output/layout.c */
	uint64_t look;   /* position at which the counter is looked at next */
	uint64_t zero;   /* position at which PacketByteCnt was 0 */
	bool close_word; /* the next small or wide packet starts a word */
	bool psb_due;
	uint64_t due_at;     /* position of the look that found it due */
	uint32_t hold_bytes; /* behind it, in which a due PSB may wait */
};

/* output/topa_entry.c: entries that are used instead of what memory holds. */
struct topa_stale {
	uint64_t table; /* whose entries they are */
	uint32_t first; /* index of .entry[0] in it */
	uint32_t count;
	uint64_t used; /* bit n: .entry[n] was used */
	uint64_t entry[PT_STALE_ENTRIES_MAX];
};

/* output/overflow.c: an overflow of the internal buffer that goes on. */
struct overflow {
	bool on;
	bool full;    /* it has come by itself: it ends with an empty buffer */
	bool ripe;    /* and that is so; only the address is not known */
	bool reserve; /* the packets of its end are being sent */
	uint32_t transfers; /* if not .full: still to be lost, at least 1 */
};

/* output/output_queue.c: a PMI that takes time. */
struct late_pmi {
	bool on;
	uint32_t index; /* of the region's entry */
	uint64_t due;   /* the cycle */
};

/* flow.c: what the stream has told its decoder so far. */
struct flow {
	uint64_t last_ip;
	uint64_t cr3;       /* after the last event */
	bool non_root;      /* after the last event: PIP.NR */
	bool last_ip_valid; /* .last_ip may be compressed against */
	bool exec_known;    /* a MODE.Exec was sent since PSB and enable */
	bool exec_told;     /* the decoder knows .exec_sent, come what may */
	uint8_t exec_sent;  /* payload of the last MODE.Exec */
	uint8_t exec;       /* payload that is right after the last event */
	uint8_t tsx;        /* PACKET_MODE_TSX_IN in a transaction, else 0 */
};

/* packet/timing.c: the clocks, and what of them was told last. */
struct timing {
	struct pt_time now;
	uint64_t mtc_due;  /* .now.art of the next MTC */
	uint64_t cyc_zero; /* .now.cycles at which the cycle counter was 0 */
	bool cyc_sent;     /* a CYC was sent then */
	uint64_t ahead;    /* what the counter reads at the next enable */
	uint32_t cbr;
};

/* packet/tnt.c: what waits beside the bits of struct pt_fast. */
struct tnt {
	uint64_t bits; /* older ones, oldest highest */
	uint32_t count;
	uint32_t tips; /* that wait */
	uint64_t tip[8];
};

/* vmx.c: what VMCS packets say. */
struct vmx {
	bool on;       /* in VMX operation */
	uint64_t vmcs; /* payload: bits 51:12 of the address, all ones: none */
};

/* What ranges there are, while TraceEn is 1. */
enum unit_ranges {
	UNIT_NO_RANGES,
	UNIT_FILTERS, /* one of them is .low to .high of struct pt_fast */
	UNIT_STOPS,   /* one at least is for TraceStop */
};

struct pt_unit {
	struct pt_fast fast; /* first: see pt_unit_fast() */
	enum unit_ranges ranges;
	struct gate_config msrs; /* CTL, STATUS, CR3_MATCH, ADDRn_A and _B */
	uint64_t output_base;    /* in ToPA mode the current table */
	struct gate gate;
	struct topa topa;
	struct place place;
	struct flow flow;
	struct overflow overflow;
	struct tnt tnt;
	struct timing timing;
	struct topa_stale stale;
	struct vmx vmx;
	struct late_pmi late_pmi;

	/* From here on: not part of a saved state, but for what .buffer holds. */
	struct pt_cycles cycles;
	struct buffer *buffer; /* NULL: without bound, everything is at once */
	uint8_t *window;       /* host memory of the region, or NULL */
	const struct profile *profile;
	struct pt_port port;
};

/* Recomputes what derives from MSRs and gates: PacketEn, STATUS, .fast. */
void unit_refresh(struct pt_unit *unit);

/* TraceEn 1 -> 0 with the packets already sent: output ends, counts freeze. */
void unit_trace_off(struct pt_unit *unit);

/*
 * TraceEn 0 -> 1: IA32_RTIT_CTL is already the new one.  CFE: the event of Event
 * Trace that goes with it.
 */
void unit_trace_on(struct pt_unit *unit, const struct pt_context *at,
    uint64_t nlip, enum packet_cfe cfe);

/*
 * STATUS with PendPSB as it is while TraceEn is 1.  SDM vol. 3, 33.2.8.4: the
 * processor sets and clears it where InjectPsbPmiOnEnable is 1.
 */
uint64_t unit_pending(const struct pt_unit *unit, uint64_t status);

/* vmx.c: may IA32_RTIT_CTL be written, as to VMX operation? */
bool vmx_allows(const struct pt_unit *unit);

/*
 * Writes BYTE, a small packet (output/layout.h), where that needs no look at anything else: below
 * LIMIT, one of the two of struct topa.  False: it is for layout_emit().
 */
static inline bool
unit_put_byte(struct pt_unit *unit, uint64_t limit, uint8_t byte)
{
	struct topa *topa = &unit->topa;

	if (topa->written + 1 >= limit || unit->place.close_word ||
	    unit->buffer != NULL || unit->overflow.on)
		return false;
	unit->window[topa->offset_bytes++] = byte;
	topa->written++;
	return true;
}

/*
 * Is what PENDING of STATUS stands for to come at this TraceEn 0 -> 1?  SDM vol. 3,
 * 33.2.8.4 "IA32_RTIT_STATUS MSR", PendPSB and PendTopaPMI.
 */
static inline bool
unit_injects(const struct pt_unit *unit, uint64_t pending)
{
	return (unit->msrs.ctl & CTL_INJECT) != 0 &&
	    (unit->msrs.status & pending) != 0;
}

/* Reports EVENT, with what is in memory by now. */
static inline void
unit_event(struct pt_unit *unit, struct pt_event event)
{
	event.offset_bytes = unit->topa.written;
	unit->port.event(unit->port.arg, &event);
}

/* Does the model have ERRATUM, and does it show? */
static inline bool
unit_erratum(const struct pt_unit *unit, enum profile_erratum erratum)
{
	return (unit->profile->errata_on >> erratum & 1) != 0;
}

#endif
