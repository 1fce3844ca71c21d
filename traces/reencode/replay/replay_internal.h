/*
 * What the files that drive the unit share and nobody else sees.  A file calls only
 * files that come before it here.
 */
#ifndef TOPAZ_TRACES_REENCODE_REPLAY_REPLAY_INTERNAL_H
#define TOPAZ_TRACES_REENCODE_REPLAY_REPLAY_INTERNAL_H

#include "emu/pt/packet/packet.h"
#include "traces/reencode/replay/clock.h"
#include "traces/reencode/replay/replay.h"

/* What is after an overflow, up to the next PSB, where errata leave it in doubt. */
struct replay_doubt {
	bool open;
	uint64_t from;    /* the offset before it */
	unsigned untaken; /* batches since report_take() */
};

struct replay {
	struct replay_config config;
	struct replay_result *result;
	struct recover *recover;
	struct compare compare;
	struct unit_driver driver;
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
	struct pkt_parser guide; /* up to the last event that needed packets */
	struct unit_driver_state vmx;
	uint64_t look_base; /* trace offset + phase of some look at the counter */
	uint64_t late;      /* of a PSB that is due, before the last overflow */
	unsigned quiet;     /* outcomes before anything but them can come */
	struct clock clock;
	struct replay_doubt doubt;
};

/* Where in the trace the unit's output, as far as it was taken, has come to. */
static inline uint64_t
replay_offset(const struct replay *replay)
{
	return compare_offset(replay->driver.compare);
}

/*
 * psb_count.c: the state in which a unit must be at PSB number INDEX so that the PSBs
 * after it come where they do, PERIOD_BYTES being the PSB period.  PHASE is known, or
 * 64: not known.  ENABLED: the PSB may be that of an enable.
 */
struct psb_count psb_count_infer(const struct trace_stats *stats, size_t index,
    uint64_t period_bytes, uint32_t phase, bool enabled);

/* report.c: takes the setting in force at OFFSET.  TraceEn must be 0. */
void report_set(struct replay *replay, uint64_t offset);

/* Does Event Trace tell of transfers? */
bool report_has_event_trace(const struct replay *replay);

/* Hands the unit's output to the comparison. */
void report_take(struct replay *replay);

/*
 * Reports TRANSFER, by the last block's last instruction or after it, to the unit; TELLS:
 * packets before it may say what it is.
 */
void report_transfer(
    struct replay *replay, struct pt_transfer *transfer, bool tells);

/* The same of a transfer of KIND that has led to AFTER. */
void report_event(struct replay *replay, enum pt_transfer_kind kind,
    uint64_t from, const struct pt_context *after);

/*
 * Puts into TRANSFER, which comes next, what Event Trace and MODE.TSX say of it; returns
 * the type of its CFE.
 */
enum packet_cfe report_read_cause(
    const struct replay *replay, struct pt_transfer *transfer);

/* There is no memory: nothing more can be driven. */
void report_fail(struct replay *replay);

/* The flow contradicts itself or the image at IP. */
void report_wrong(struct replay *replay, const char *text, uint64_t ip);

/*
 * pending_packets.c: tells the unit of all that happened before the transfer that comes
 * next, and when that is.  SENDS: it sends more than outcomes.
 */
void pending_packets_before(struct replay *replay, bool sends);

/* A PSB+ comes next. */
void pending_packets_psb(struct replay *replay);

/* TSC, TMA and CBR that are not of an enable, while nothing is traced. */
void pending_packets_frequency(struct replay *replay, uint32_t ratio);

/* flow.c: what the last instruction of BLOCK is to the unit. */
enum pt_transfer_kind flow_kind(const struct code_block *block);

/* The last block's last instruction led to IP: may it, and what was it? */
void flow_resolve(struct replay *replay, uint64_t ip);

/* The flow goes on with blocks from BLOCK on, up to an item or END; returns where it is. */
const struct code_blocks_key *flow_blocks(struct replay *replay,
    const struct code_blocks_key *block, const struct code_blocks_key *end);

/* trace_boundary.c. */

/* What a PSB+ says. */
struct psb_plus {
	bool context; /* it has what is only sent with ContextEn 1 */
	bool has_fup, has_pip, has_exec;
	bool early; /* BDM70: the FUP that it had is that of the next TIP.PGE */
	uint64_t ip, pip, exec; /* payloads, the FUP's expanded */
	struct unit_driver_state vmx;
};

/* Reads on after a PSB, up to its PSBEND or what cuts it off. */
void trace_boundary_read_psb(struct pkt_parser *parser, struct psb_plus *plus);

/*
 * BDM70: a PSB+ just before TIP.PGE may hold a FUP, and says nothing by it.  Nothing
 * else has these two after each other, so it need not be told.
 */
void trace_boundary_apply_bdm70(struct replay *replay, struct psb_plus *plus);

/* Takes over what PLUS says of the processor. */
void trace_boundary_take_state(
    struct replay *replay, const struct psb_plus *plus);

/*
 * The CPU's place after PLUS, which has no FUP: in no range, or out of context; where
 * it has context but there is no range, or with BDM70, at the next TIP.PGE.
 * Returns whether it is traced from here on.
 */
bool trace_boundary_locate(
    struct replay *replay, const struct psb_plus *plus, struct pt_context *at);

/* A new stretch at OFFSET, where the CPU stands at .at. */
void trace_boundary_resume(
    struct replay *replay, uint64_t offset, struct pt_resume *resume);

/* Leads the guide past the next packet of KIND, TIP.PGD or OVF; false: none. */
bool trace_boundary_guide(
    struct replay *replay, enum pkt_kind kind, uint64_t *offset);

/*
 * Leads the clock's look ahead to OFFSET; where nothing is told of but transfers, from
 * the last PSB on.
 */
void trace_boundary_look(struct replay *replay, uint64_t offset);

/*
 * CR3 may have changed while nothing was told: if a PSB+ is the next to tell of it, and
 * no CR3 write of its own, then it has.
 */
void trace_boundary_peek_cr3(struct replay *replay);

/*
 * An asynchronous transfer comes next, to AFTER: takes over what a PIP among its packets
 * says, of which libipt tells after it.
 */
void trace_boundary_peek_pip(struct replay *replay, struct pt_context *after);

/* VMPTRLD has made the VMCS at PA (or PT_VMCS_NONE) the current one. */
void trace_boundary_vmcs(struct replay *replay, uint64_t pa);
/* The address in a VMCS packet. */
uint64_t trace_boundary_vmcs_pa(uint64_t payload);

/* CS and the ring of an address, as far as an address tells. */
void trace_boundary_move(struct pt_context *at, uint64_t ip);
void trace_boundary_mode(struct pt_context *at, uint64_t exec);
/* CR3 and NR, out of the payload of a PIP. */
void trace_boundary_pip(struct pt_context *at, uint64_t pip);

/* cut.c: the packets from the output's place on to END that are no PADs. */
struct cut {
	uint64_t
	    end; /* of the last of them; the output's place: there are none */
	uint64_t kinds;  /* of them, a set */
	struct pkt last; /* that is no CYC; PAD: none */
	uint64_t ip, pip;
};

struct cut cut_read(const struct replay *replay, uint64_t end);

/*
 * The last block's last instruction, where nothing that was executed after it is
 * known: what the trace says of it before END.
 */
void cut_last(struct replay *replay, uint64_t end);

/*
 * Of the last event before END only the first packets are there: TNT, which it forced
 * out, CYC, FUP, PIP or MODE.Exec.  LOST: the unit loses the others, else the trace
 * does not go on to them.
 */
void cut_event(struct replay *replay, uint64_t end, bool lost);

/* gap.c: leaves out GAP, from which on nothing is known up to the next PSB; sets its .to. */
void gap_add(struct replay *replay, const struct replay_gap *gap);

/* The gap that is open ends at OFFSET. */
void gap_close(struct replay *replay, uint64_t offset);

/* Leaves out, for TEXT, what is between FROM and the next PSB. */
void gap_skip(struct replay *replay, uint64_t from, const char *text);

/* libipt stops, as ITEM says. */
void gap_stop(struct replay *replay, const struct recover_item *item);

/* An overflow comes, whose errata may leave it in doubt. */
void gap_doubt(struct replay *replay);

/* Leaves out what is in doubt if something has ended all that may be due to that. */
void gap_excuse(struct replay *replay);

/*
 * trace_off_span.c: what happens after a TIP.PGD, up to the next TIP.PGE, OVF or the
 * end.
 */
void trace_off_span_drive(struct replay *replay);

/* sync.c: a new stretch at the PSB at OFFSET. */
void sync_drive(struct replay *replay, uint64_t offset);

/* overflow.c: a new stretch after the OVF that the guide comes to next. */
void overflow_drive(struct replay *replay);

/* trace_end.c: how the trace ends: by a flush, or cut off while the unit goes on. */
void trace_end_finish(struct replay *replay);

/* replay.c: errors as replay_run(). */
int replay_begin(struct replay *replay, const struct replay_config *config,
    struct replay_result *result, struct tz_error *err);
void replay_end(struct replay *replay);

/* Drives what libipt has found. */
void replay_batch(struct replay *replay, const struct recover_batch *batch);

#endif
