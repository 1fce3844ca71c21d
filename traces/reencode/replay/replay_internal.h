/*
 * The state of a replay and the functions of its files, for these files only.  A file
 * calls only files that come before it here.
 */
#ifndef TOPAZ_TRACES_REENCODE_REPLAY_REPLAY_INTERNAL_H
#define TOPAZ_TRACES_REENCODE_REPLAY_REPLAY_INTERNAL_H

#include "emu/pt/packet/packet.h"
#include "traces/reencode/replay/clock.h"
#include "traces/reencode/replay/replay.h"

/*
 * From an overflow to the next PSB, if errata may have misled libipt: a difference there
 * does not end the replay.
 */
struct replay_doubt {
	bool open;
	uint64_t from;    /* trace offset of the overflow */
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
	bool running; /* the unit was started; false in a gap */
	bool traced;  /* PacketEn, as the trace shows it */
	bool entered; /* a TIP.PGE was reported that libipt has not reached */
	bool cr3_written;        /* by the next event */
	bool cr3_peeked;         /* .cr3_written was read ahead of libipt */
	bool failed;             /* out of memory; .ended is true, too */
	bool ended;              /* nothing more is replayed */
	struct pkt_parser guide; /* after the last packet that was looked for */
	struct unit_driver_state vmx;
	uint64_t look_base; /* output offset of some check of PacketByteCnt */
	uint64_t late;  /* bytes that a PSB was due before the last overflow */
	unsigned quiet; /* outcomes that come before any other packet */
	struct clock clock;
	struct replay_doubt doubt;
};

/* The trace offset that the unit's output, as far as it was taken, has reached. */
static inline uint64_t
replay_offset(const struct replay *replay)
{
	return compare_offset(replay->driver.compare);
}

/*
 * psb_count.c: PacketByteCnt at PSB number INDEX, inferred from the places of the PSBs
 * after it.  PERIOD_BYTES: the PSB period; PHASE: 64 if it is not known; ENABLED: the PSB
 * may be that of an enable.
 */
struct psb_count psb_count_infer(const struct trace_stats *stats, size_t index,
    uint64_t period_bytes, uint32_t phase, bool enabled);

/* report.c: uses the setting in force at OFFSET.  TraceEn must be 0. */
void report_set(struct replay *replay, uint64_t offset);

/* Is Event Trace on, so that CFE packets give the causes of transfers? */
bool report_has_event_trace(const struct replay *replay);

/* Compares the unit's output; a difference ends the replay. */
void report_take(struct replay *replay);

/*
 * Reports TRANSFER, by the last block's last instruction or after it, to the unit.
 * HAS_CAUSE: CFE, EVD or MODE.TSX packets may say what it is.
 */
void report_transfer(
    struct replay *replay, struct pt_transfer *transfer, bool has_cause);

/* Reports a transfer of KIND to AFTER, at FROM if it is asynchronous. */
void report_event(struct replay *replay, enum pt_transfer_kind kind,
    uint64_t from, const struct pt_context *after);

/*
 * Completes TRANSFER, the next one, by the CFE, EVD and MODE.TSX packets before it;
 * returns the type of the CFE.
 */
enum packet_cfe report_read_cause(
    const struct replay *replay, struct pt_transfer *transfer);

/* Out of memory: ends the replay. */
void report_fail(struct replay *replay);

/* The flow contradicts itself or the image at IP: ends the replay.  TEXT is static. */
void report_wrong(struct replay *replay, const char *text, uint64_t ip);

/*
 * pending_packets.c: reports the non-branch events and the time before the next transfer
 * to the unit.  SENDS: the transfer sends more than a TNT bit.
 */
void pending_packets_before(struct replay *replay, bool sends);

/* The same before a PSB+. */
void pending_packets_psb(struct replay *replay);

/* Reports a change of frequency to RATIO while nothing is traced. */
void pending_packets_frequency(struct replay *replay, uint32_t ratio);

/* flow.c: the kind of transfer that the last instruction of BLOCK is. */
enum pt_transfer_kind flow_kind(const struct code_block *block);

/* The last block's last instruction led to IP: reports it, or that it cannot. */
void flow_resolve(struct replay *replay, uint64_t ip);

/* Reports the blocks from BLOCK to the next item or END; returns where it stopped. */
const struct code_blocks_key *flow_blocks(struct replay *replay,
    const struct code_blocks_key *block, const struct code_blocks_key *end);

/* trace_boundary.c. */

/* The content of a PSB+. */
struct psb_plus {
	bool context; /* it has a packet that is only sent with ContextEn 1 */
	bool has_fup, has_pip, has_exec;
	bool early; /* BDM70: its FUP was that of the next TIP.PGE */
	uint64_t ip, pip, exec; /* payloads, the FUP's expanded */
	struct unit_driver_state vmx;
};

/* Reads from after a PSB to its PSBEND, or to the OVF that cuts it off. */
void trace_boundary_read_psb(struct pkt_parser *parser, struct psb_plus *plus);

/*
 * BDM70: a PSB+ just before a TIP.PGE may have a FUP without meaning.  Without the erratum
 * these two never follow each other, so it is recognised without being given.
 */
void trace_boundary_apply_bdm70(struct replay *replay, struct psb_plus *plus);

/* Takes mode, CR3, VMCS and transaction from PLUS. */
void trace_boundary_take_state(
    struct replay *replay, const struct psb_plus *plus);

/*
 * Sets AT to where the CPU is after PLUS, which has no FUP: outside all ranges or out of
 * context; or at the next TIP.PGE, if PLUS has context and there is no range, or with
 * BDM70.  Returns whether a TIP.PGE comes.
 */
bool trace_boundary_locate(
    struct replay *replay, const struct psb_plus *plus, struct pt_context *at);

/* Starts the unit at OFFSET with the CPU at .at. */
void trace_boundary_resume(
    struct replay *replay, uint64_t offset, struct pt_resume *resume);

/* Moves the guide after the next packet of KIND, TIP.PGD or OVF; false: there is none. */
bool trace_boundary_guide(
    struct replay *replay, enum pkt_kind kind, uint64_t *offset);

/* Moves the clock to OFFSET; without non-branch events it reads from the last PSB on. */
void trace_boundary_look(struct replay *replay, uint64_t offset);

/*
 * CR3 may have changed while packets were lost or off: takes it from the next PSB+, unless
 * a PIP of a CR3 write comes first.
 */
void trace_boundary_peek_cr3(struct replay *replay);

/*
 * Before an asynchronous transfer to AFTER: takes CR3 from a PIP among its packets, which
 * libipt reports only after it.
 */
void trace_boundary_peek_pip(struct replay *replay, struct pt_context *after);

/* VMPTRLD has made the VMCS at PA (or PT_VMCS_NONE) the current one. */
void trace_boundary_vmcs(struct replay *replay, uint64_t pa);
/* The address in a VMCS packet. */
uint64_t trace_boundary_vmcs_pa(uint64_t payload);

/* Sets IP, and with it CPL: 0 in the upper half of the address space, else 3. */
void trace_boundary_move(struct pt_context *at, uint64_t ip);
/* Sets CS.L and CS.D from the payload of a MODE.Exec. */
void trace_boundary_mode(struct pt_context *at, uint64_t exec);
/* Sets CR3 and NR from the payload of a PIP. */
void trace_boundary_pip(struct pt_context *at, uint64_t pip);

/* cut.c: the packets from replay_offset() to END, without PADs. */
struct cut {
	uint64_t end; /* of the last of them; replay_offset(): there are none */
	uint64_t kinds;  /* of them, a set */
	struct pkt last; /* that is no CYC; PAD: none */
	uint64_t ip, pip;
};

struct cut cut_read(const struct replay *replay, uint64_t end);

/*
 * Reports the last block's last instruction, after which libipt found none, by the packets
 * before END.
 */
void cut_last(struct replay *replay, uint64_t end);

/*
 * Reports an event of which the trace has only the first packets before END: TNT, which
 * it forced out, CYC, FUP, PIP or MODE.Exec.  LOST: an overflow lost the others; else the
 * trace ends.
 */
void cut_event(struct replay *replay, uint64_t end, bool lost);

/* gap.c: leaves out GAP, up to the next PSB; its .to is ignored. */
void gap_add(struct replay *replay, const struct replay_gap *gap);

/* The gap that is open ends at OFFSET. */
void gap_close(struct replay *replay, uint64_t offset);

/* Leaves out, for TEXT, everything from FROM to the next PSB. */
void gap_skip(struct replay *replay, uint64_t from, const char *text);

/* libipt stopped with ITEM, of kind RECOVER_ERROR. */
void gap_stop(struct replay *replay, const struct recover_item *item);

/* Opens .doubt at an overflow, if SKD007 or SKD010 may show. */
void gap_doubt(struct replay *replay);

/* If the replay ended while .doubt is open, leaves that part out and continues. */
void gap_excuse(struct replay *replay);

/* trace_off_span.c: replays from a TIP.PGD to the next TIP.PGE, OVF or the end. */
void trace_off_span_drive(struct replay *replay);

/* sync.c: starts the unit at the PSB at OFFSET. */
void sync_drive(struct replay *replay, uint64_t offset);

/* overflow.c: starts the unit after the next OVF. */
void overflow_drive(struct replay *replay);

/* trace_end.c: compares the end of the trace: a flush, or packets that are cut off. */
void trace_end_finish(struct replay *replay);

/* replay.c: errors as replay_run(). */
int replay_begin(struct replay *replay, const struct replay_config *config,
    struct replay_result *result, struct tz_error *err);
void replay_end(struct replay *replay);

/* Reports what libipt has found. */
void replay_batch(struct replay *replay, const struct recover_batch *batch);

#endif
