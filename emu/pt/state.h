/*
 * The whole state of a PT unit, shared only by the files of emu/pt.  Each member
 * struct belongs to the file named in its comment.
 */
#ifndef TOPAZ_EMU_PT_STATE_H
#define TOPAZ_EMU_PT_STATE_H

#include "emu/pt/gate.h"
#include "emu/pt/inject.h"
#include "emu/pt/msr/msr.h"
#include "emu/pt/output/buffer.h"
#include "emu/pt/packet/packet.h"
#include "emu/pt/unit.h"

/* output/topa.c: the output position. */
struct topa {
	uint64_t written;    /* bytes since the unit's creation */
	uint64_t fast_limit; /* bytes below it need no check */
	uint64_t free_limit; /* nor do packets below it, on any
				micro-architecture */
	uint64_t look;    /* value of .written that output/layout.c waits for */
	uint64_t lose_at; /* .written never exceeds it; 0: no limit */
	uint64_t region_pa;    /* base of the region being filled */
	uint64_t region_bytes; /* its size */
	uint64_t pmi_at; /* offset at which INT raises the PMI: the size, or
			    less */
	uint64_t offset_bytes; /* IA32_RTIT_OUTPUT_MASK_PTRS[63:32] */
	uint64_t told_bytes;   /* offset up to which PT_EVENT_OUTPUT was
				  reported */
	uint32_t index;        /* IA32_RTIT_OUTPUT_MASK_PTRS[31:7] */
	bool open;             /* a region is being filled */
	bool region_stop;      /* the region's entry has STOP */
	bool region_intr;      /* the region's entry has INT */
};

/* output/layout.c: words, padding and the PSB byte counter. */
struct place {
	uint64_t
	    bias; /* .written + bias: the output position, see output/layout.c */
	uint64_t look;   /* position at which the counter is checked next */
	uint64_t zero;   /* position at which PacketByteCnt was 0 */
	bool close_word; /* the next small or wide packet starts a word */
	bool psb_due;
	uint64_t due_at;     /* position of the check that found it due */
	uint32_t hold_bytes; /* bytes after .due_at during which a due PSB may
				wait */
};

/* output/topa_entry.c: cached entries that are used instead of memory. */
struct topa_stale {
	uint64_t table; /* the table of the entries */
	uint32_t first; /* index of .entry[0] in it */
	uint32_t count;
	uint64_t used; /* bit n: .entry[n] was used */
	uint64_t entry[PT_STALE_ENTRIES_MAX];
};

/* overflow.c: an overflow of the internal buffer in progress. */
struct overflow {
	bool on;
	bool full; /* not forced: it ends when the buffer is empty */
	bool ripe; /* .full, and the buffer is empty; the address is not known
		      yet */
	bool reserve;       /* the packets that end it are being sent */
	uint32_t transfers; /* if not .full: still to be lost, at least 1 */
};

/* output/pmi.c: a delayed PMI. */
struct late_pmi {
	bool on;
	uint32_t index; /* of the region's entry */
	uint64_t due;   /* the cycle */
};

/* flow.c: what a decoder of the stream knows so far. */
struct flow {
	uint64_t last_ip;
	uint64_t cr3;       /* after the last event */
	bool non_root;      /* after the last event: PIP.NR */
	bool last_ip_valid; /* .last_ip may be compressed against */
	bool exec_known;    /* a MODE.Exec was sent since the last PSB and
			       enable */
	bool exec_told;     /* the decoder knows .exec_sent in any case */
	uint8_t exec_sent;  /* payload of the last MODE.Exec */
	uint8_t exec;       /* payload that is right after the last event */
	uint8_t tsx;        /* PACKET_MODE_TSX_IN in a transaction, else 0 */
};

/* packet/timing.c: the clocks, and their values last sent. */
struct timing {
	struct pt_time now;
	uint64_t mtc_due; /* .now.art of the next MTC */
	uint32_t cbr;
};

/* packet/cyc.c: the cycle counter. */
struct cyc {
	uint64_t zero;  /* .timing.now.cycles at which it was 0 */
	bool sent;      /* a CYC was sent then */
	uint64_t ahead; /* its value at the next enable */
};

/* packet/tnt.c: TNT bits and TIPs that are pending besides the bits of struct pt_fast. */
struct tnt {
	uint64_t bits; /* older TNT bits, the oldest highest */
	uint32_t count;
	uint32_t tips; /* deferred TIPs */
	uint64_t tip[8];
};

/* vmx.c: the content of VMCS packets. */
struct vmx {
	bool on;       /* in VMX operation */
	uint64_t vmcs; /* payload: bits 51:12 of the address, all ones: none */
};

/* The kinds of address ranges in use, while TraceEn is 1. */
enum unit_ranges {
	UNIT_NO_RANGES,
	UNIT_FILTERS, /* only filters; one is .low to .high of struct pt_fast */
	UNIT_STOPS,   /* at least one is for TraceStop */
};

struct pt_unit {
	struct pt_fast fast; /* first: see pt_unit_fast() */
	enum unit_ranges ranges;
	struct gate_config msrs; /* CTL, STATUS, CR3_MATCH, ADDRn_A and _B */
	uint64_t output_base;    /* in ToPA mode, the current table */
	struct gate gate;
	struct topa topa;
	struct place place;
	struct flow flow;
	struct overflow overflow;
	struct tnt tnt;
	struct timing timing;
	struct cyc cyc;
	struct topa_stale stale;
	struct vmx vmx;
	struct late_pmi late_pmi;

	/* Members from here on are not part of a saved state, except the content of
	 * .buffer. */
	struct pt_cycles cycles;
	struct buffer *buffer; /* NULL: unbounded, without delays */
	uint8_t *window;       /* host memory of the region, or NULL */
	const struct profile *profile;
	struct pt_port port;
};

/* Recomputes what follows from MSRs and gates: PacketEn, STATUS, .fast. */
void state_refresh(struct pt_unit *unit);

/* Drops the TNT bits and TIPs that are pending: they are lost. */
void state_forget_tnt(struct pt_unit *unit);

/*
 * The overflow is now HOW: no packet after it depends on a branch or a return address
 * before it.
 */
void state_lose(struct pt_unit *unit, struct overflow how);

/*
 * Updates the gates from the CPU's context after an event, MOVED as for gate_next();
 * true if the trace stops.
 */
bool state_move(struct pt_unit *unit, const struct pt_context *at, bool moved);

/*
 * STATUS with the value that PendPSB has while TraceEn is 1.  SDM vol. 3, 33.2.8.4:
 * the processor sets and clears it where InjectPsbPmiOnEnable is 1.
 */
uint64_t state_pending(const struct pt_unit *unit, uint64_t status);

/* vmx.c: true if VMX operation permits a write of IA32_RTIT_CTL. */
bool vmx_allows(const struct pt_unit *unit);

/*
 * Writes BYTE, a small packet (output/layout.h), if no other check is needed: below
 * LIMIT, which is .fast_limit or .free_limit of struct topa.  False: call
 * layout_emit().
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
 * True if this TraceEn 0 -> 1 raises what the bit PENDING of STATUS requests.  SDM
 * vol. 3, 33.2.8.4 "IA32_RTIT_STATUS MSR", PendPSB and PendTopaPMI.
 */
static inline bool
unit_injects(const struct pt_unit *unit, uint64_t pending)
{
	return (unit->msrs.ctl & CTL_INJECT) != 0 &&
	    (unit->msrs.status & pending) != 0;
}

/* Reports EVENT, with the output position in memory. */
static inline void
unit_event(struct pt_unit *unit, struct pt_event event)
{
	event.offset_bytes = unit->topa.written;
	unit->port.event(unit->port.arg, &event);
}

/* True if packets that ENABLE, a bit of IA32_RTIT_CTL, asks for are sent. */
static inline bool
unit_sends(const struct pt_unit *unit, uint64_t enable)
{
	return unit->gate.trigger_en && (unit->msrs.ctl & enable) != 0;
}

/* True if no TNT bit and no TIP is pending. */
static inline bool
unit_tnt_is_empty(const struct pt_unit *unit)
{
	TZ_ASSERT(unit->tnt.tips == 0 || unit->fast.tnt != PT_FAST_TNT_EMPTY ||
	    unit->tnt.count != 0);
	return unit->fast.tnt == PT_FAST_TNT_EMPTY && unit->tnt.count == 0;
}

/* True if the model has ERRATUM and it is switched on. */
static inline bool
unit_erratum(const struct pt_unit *unit, enum profile_erratum erratum)
{
	return (unit->profile->errata_on >> erratum & 1) != 0;
}

#endif
