/*
 * What the files that drive the unit share and nobody else sees.
 */
#ifndef TOPAZ_TRACES_REENCODE_REPLAY_REPLAY_INTERNAL_H
#define TOPAZ_TRACES_REENCODE_REPLAY_REPLAY_INTERNAL_H

#include "traces/reencode/replay/clock.h"
#include "traces/reencode/replay/replay.h"

struct replay {
	struct replay_config config;
	struct replay_result *result;
	struct unit_driver *feed;
	struct pt_context at;    /* after the last event */
	struct code_block *last; /* whose last instruction is not reported yet */
	bool has_last;
	bool running;     /* a stretch has begun; else nothing is driven */
	bool traced;      /* PacketEn, as the trace has it */
	bool entered;     /* by a TIP.PGE that the flow has yet to come to */
	bool cr3_written; /* by the event that comes next */
	bool cr3_peeked;  /* of the last event, before libipt tells of it */
	bool failed;      /* out of memory; .ended then */
	bool ended;       /* nothing more can be driven */
	struct pkt_parser
	    guide; /* packets up to the last event that needed them */
	size_t
	    next_mark; /* behind the one that it was led to last, to be tried */
	struct unit_driver_state vmx;
	uint32_t phase;     /* 64: not known */
	uint64_t look_base; /* trace offset + phase of some look at the counter */
	uint64_t late;      /* of a PSB that is due, before the last overflow */
	unsigned untaken;   /* while .doubts: batches since replay_take() */
	unsigned quiet;     /* outcomes before anything but them can come */
	struct clock clock;
	/* There is more than transfers in the trace: pending_packets_before() is needed. */
	bool watched;
	bool told;         /* by Event Trace */
	bool tsx;          /* MODE.TSX outside PSB+ */
	uint64_t cyc_most; /* the end of the cycle counter */
	uint64_t psb_period_bytes;
	bool doubts;              /* behind an overflow, up to the next PSB */
	uint64_t errata_gap_from; /* the offset before it */
};

/* What Event Trace and MODE.TSX say of the transfer that comes next. */
struct pending_packets_event {
	unsigned type; /* of the CFE, 0: there is none */
	uint8_t vector;
	uint64_t ip; /* of its own FUP */
	uint64_t cr2, exit[2];
	bool aborts; /* a transaction */
};

/*
 * Tells the unit of all that happened before the transfer that comes next, and
 * when that is.  SENDS: it sends more than outcomes.
 */
void pending_packets_before(struct replay *replay, bool sends);

/*
 * NEXT, or where it has no CYC, since its packet is none that may have one, that of
 * what the same event sends behind it.
 */
struct clock_next pending_packets_behind(
    const struct replay *replay, const struct clock_next *next);

/* May PACKET be an event that is no transfer? */
bool event_packets_is_event(const struct pkt *packet);

/* Tells the unit of what NEXT is.  False: that is a transfer, or is its. */
bool event_packets_event(struct replay *replay, struct clock_next *next);

/* A PSB+ comes next. */
void pending_packets_psb(struct replay *replay);

/* Is the packet before END, at which libipt stops, the CFE of a VM entry? */
bool pending_packets_is_entry(const struct replay *replay, uint64_t end);

void pending_packets_told(
    const struct replay *replay, struct pending_packets_event *event);

/* TSC, TMA and CBR that are not of an enable, while nothing is traced. */
void pending_packets_frequency(struct replay *replay, uint32_t ratio);

/* Hands the unit's output to the comparison. */
void replay_take(struct replay *replay);

/* The same where there might be no room for much more. */
void replay_room(struct replay *replay);

/* What a PSB+ says; .offset is that of its first packet. */
struct psb_plus {
	uint64_t offset;
	bool context; /* it has what is only sent with ContextEn 1 */
	bool has_fup, has_pip, has_vmcs, has_exec;
	uint64_t ip, cr3, vmcs;
	bool non_root, in_tsx;
	uint64_t exec;
};

/* Reads on behind the PSB at PACKET, up to its PSBEND or what cuts it off. */
void trace_boundary_read_psb(
    struct pkt_parser *parser, const struct pkt *psb, struct psb_plus *plus);

/* Leads the guide past the next packet of KIND, TIP.PGD or OVF; false: none. */
bool trace_boundary_guide(
    struct replay *replay, enum pkt_kind kind, uint64_t *offset);

/*
 * The last block's last instruction, where nothing that was executed after it is
 * known: what the trace says of it before END.
 */
void replay_last(struct replay *replay, uint64_t end);

/* Takes the setting in force at OFFSET; false: it was already.  TraceEn must be 0. */
bool replay_set(struct replay *replay, uint64_t offset);

/*
 * BDM70: a PSB+ just before TIP.PGE may hold a FUP, and says nothing by it.  Nothing
 * else has these two behind each other, so it need not be told.
 */
void edge_mind_bdm70(struct replay *replay, struct psb_plus *plus);

/* A new stretch at the PSB at OFFSET. */
void trace_boundary_sync(struct replay *replay, uint64_t offset);

/*
 * Of the last event before END only the first packets are there: TNT, which it forced
 * out, CYC, FUP, PIP or MODE.Exec.  LOST: the unit loses the others, else the trace
 * does not go on to them.
 */
void overflow_cut(struct replay *replay, uint64_t end, bool lost);

/* A new stretch behind the OVF that the guide comes to next. */
void trace_boundary_overflow(struct replay *replay);

/* Takes over what PLUS says of the processor. */
void trace_boundary_take_state(
    struct replay *replay, const struct psb_plus *plus);

/*
 * Where the CPU stands behind PLUS, which has no FUP: in no range, or out of
 * context; where it has context but there is no range, at the next TIP.PGE.
 * Returns whether it is traced from here on.
 */
bool trace_boundary_stand(
    struct replay *replay, const struct psb_plus *plus, struct pt_context *at);

/*
 * CR3 may have changed while nothing was told: if a PSB+ is the next to tell of it, and
 * no CR3 write of its own, then it has.
 */
void edge_peek_cr3(struct replay *replay);

/*
 * An asynchronous transfer comes next, to AFTER: takes over what a PIP among its packets
 * says, of which libipt tells behind it.
 */
void state_peek_cr3(struct replay *replay, struct pt_context *after);

/*
 * Leads the clock's look ahead to OFFSET; where nothing is told of but transfers, from
 * the last PSB on.
 */
void trace_boundary_look(struct replay *replay, uint64_t offset);

/* A new stretch at OFFSET, where the CPU stands at drive->at. */
void trace_boundary_resume(
    struct replay *replay, uint64_t offset, struct pt_resume *resume);

/* What happens after a TIP.PGD, up to the next TIP.PGE, OVF or the end. */
void trace_off_span_drive(struct replay *replay);

/* VMPTRLD has made the VMCS at PA (or PT_VMCS_NONE) the current one. */
void trace_boundary_vmcs(struct replay *replay, uint64_t pa);
/* The address in a VMCS packet. */
uint64_t trace_boundary_vmcs_pa(uint64_t payload);

/* CS and the ring of an address, as far as an address tells. */
void trace_boundary_move(struct pt_context *at, uint64_t ip);
void trace_boundary_mode(struct pt_context *at, uint64_t exec);
/* CR3 and NR, out of the payload of a PIP. */
void edge_set_cr3(struct pt_context *at, uint64_t pip);

/*
 * An overflow comes: with errata SKD007 and SKD010, where they show, what is up to the
 * next PSB may not be what it seems.  errata_gap_end() is at that PSB.
 */
void errata_gap_begin(struct replay *replay);
/* Does it with the packet at OFFSET, at which libipt stops? */
bool errata_gap_is_ovf(const struct replay *replay, uint64_t offset);
void errata_gap_end(struct replay *replay);

/* Leaves out GAP, from which on nothing is known up to the next PSB; sets its .to. */
void replay_add_gap(struct replay *replay, const struct replay_gap *gap);

/* libipt stops, as ITEM says. */
void replay_gap(struct replay *replay, const struct recover_item *item);

/* How the trace ends: by a flush, or cut off while the unit goes on. */
void replay_finish(struct replay *replay);

/* Leaves out, for TEXT, what is between FROM and the next PSB. */
void errata_gap_skip(struct replay *replay, uint64_t from, const char *text);

/* The same if something has ended DRIVE that may be such an erratum's doing. */
void errata_gap_forgive(struct replay *replay);

/* There is no memory: nothing more can be driven. */
void replay_fail(struct replay *replay);

/* The flow contradicts itself or the image at IP. */
void replay_wrong(struct replay *replay, const char *text, uint64_t ip);

/* What the last instruction of a block is to the unit. */
enum pt_transfer_kind replay_kind(enum code_blocks_kind kind);

/* Drives what libipt has found. */
void replay_batch(struct replay *replay, const struct recover_batch *batch);
void replay_item(struct replay *replay, const struct recover_item *item);

/* The last block's last instruction led to IP: may it, and what was it? */
void replay_resolve(struct replay *replay, uint64_t ip);

/* Reports a transfer of KIND that has led to AFTER. */
void replay_report(struct replay *replay, enum pt_transfer_kind kind,
    uint64_t from, const struct pt_context *after);

#endif
