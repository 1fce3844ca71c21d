/*
 * What the files that drive the unit share and nobody else sees.
 */
#ifndef TOPAZ_TRACES_REENCODE_DRIVE_WORK_H
#define TOPAZ_TRACES_REENCODE_DRIVE_WORK_H

#include "traces/reencode/clock.h"
#include "traces/reencode/drive.h"

struct drive {
	struct drive_config config;
	struct drive_result *result;
	struct feed *feed;
	struct pt_context at;    /* after the last event */
	struct walk_block *last; /* whose last instruction is not reported yet */
	bool has_last;
	bool running;      /* a stretch has begun; else nothing is driven */
	bool traced;       /* PacketEn, as the trace has it */
	bool entered;      /* by a TIP.PGE that the flow has yet to come to */
	bool cr3_written;  /* by the event that comes next */
	bool cr3_peeked;   /* of the last event, before libipt tells of it */
	bool failed;       /* out of memory; .ended then */
	bool ended;        /* nothing more can be driven */
	struct scan guide; /* packets up to the last event that needed them */
	size_t
	    next_mark; /* behind the one that it was led to last, to be tried */
	struct feed_state vmx;
	uint32_t phase;     /* 64: not known */
	uint64_t look_base; /* trace offset + phase of some look at the counter */
	uint64_t late;      /* of a PSB that is due, before the last overflow */
	unsigned untaken;   /* while .doubts: batches since drive_take() */
	unsigned quiet;     /* outcomes before anything but them can come */
	struct clock clock;
	/* There is more than transfers in the trace: happen_before() is needed. */
	bool watched;
	bool told;         /* by Event Trace */
	bool tsx;          /* MODE.TSX outside PSB+ */
	uint64_t cyc_most; /* the end of the cycle counter */
	uint64_t psb_period_bytes;
	bool doubts;         /* behind an overflow, up to the next PSB */
	uint64_t doubt_from; /* the offset before it */
};

/* What Event Trace and MODE.TSX say of the transfer that comes next. */
struct happen_event {
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
void happen_before(struct drive *drive, bool sends);

/*
 * NEXT, or where it has no CYC, since its packet is none that may have one, that of
 * what the same event sends behind it.
 */
struct clock_next happen_behind(
    const struct drive *drive, const struct clock_next *next);

/* May PACKET be an event that is no transfer? */
bool tell_is_event(const struct scan_packet *packet);

/* Tells the unit of what NEXT is.  False: that is a transfer, or is its. */
bool tell_event(struct drive *drive, struct clock_next *next);

/* A PSB+ comes next. */
void happen_psb(struct drive *drive);

/* Is the packet before END, at which libipt stops, the CFE of a VM entry? */
bool happen_is_entry(const struct drive *drive, uint64_t end);

void happen_told(const struct drive *drive, struct happen_event *event);

/* TSC, TMA and CBR that are not of an enable, while nothing is traced. */
void happen_frequency(struct drive *drive, uint32_t ratio);

/* Hands the unit's output to the comparison. */
void drive_take(struct drive *drive);

/* The same where there might be no room for much more. */
void drive_room(struct drive *drive);

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
void edge_read_psb(
    struct scan *scan, const struct scan_packet *psb, struct psb_plus *plus);

/* Leads the guide past the next packet of KIND, TIP.PGD or OVF; false: none. */
bool edge_guide(struct drive *drive, enum scan_kind kind, uint64_t *offset);

/*
 * The last block's last instruction, where nothing that was executed after it is
 * known: what the trace says of it before END.
 */
void drive_last(struct drive *drive, uint64_t end);

/* Takes the setting in force at OFFSET; false: it was already.  TraceEn must be 0. */
bool drive_set(struct drive *drive, uint64_t offset);

/*
 * BDM70: a PSB+ just before TIP.PGE may hold a FUP, and says nothing by it.  Nothing
 * else has these two behind each other, so it need not be told.
 */
void edge_mind_bdm70(struct drive *drive, struct psb_plus *plus);

/* A new stretch at the PSB at OFFSET. */
void edge_sync(struct drive *drive, uint64_t offset);

/*
 * Of the last event before END only the first packets are there: TNT, which it forced
 * out, CYC, FUP, PIP or MODE.Exec.  LOST: the unit loses the others, else the trace
 * does not go on to them.
 */
void overflow_cut(struct drive *drive, uint64_t end, bool lost);

/* A new stretch behind the OVF that the guide comes to next. */
void edge_overflow(struct drive *drive);

/* Takes over what PLUS says of the processor. */
void edge_take_state(struct drive *drive, const struct psb_plus *plus);

/*
 * Where the CPU stands behind PLUS, which has no FUP: in no range, or out of
 * context; where it has context but there is no range, at the next TIP.PGE.
 * Returns whether it is traced from here on.
 */
bool edge_stand(
    struct drive *drive, const struct psb_plus *plus, struct pt_context *at);

/*
 * CR3 may have changed while nothing was told: if a PSB+ is the next to tell of it, and
 * no CR3 write of its own, then it has.
 */
void edge_peek_cr3(struct drive *drive);

/*
 * An asynchronous transfer comes next, to AFTER: takes over what a PIP among its packets
 * says, of which libipt tells behind it.
 */
void state_peek_cr3(struct drive *drive, struct pt_context *after);

/*
 * Leads the clock's look ahead to OFFSET; where nothing is told of but transfers, from
 * the last PSB on.
 */
void edge_look(struct drive *drive, uint64_t offset);

/* A new stretch at OFFSET, where the CPU stands at drive->at. */
void edge_resume(
    struct drive *drive, uint64_t offset, struct pt_resume *resume);

/* What happens after a TIP.PGD, up to the next TIP.PGE, OVF or the end. */
void interlude_drive(struct drive *drive);

/* VMPTRLD has made the VMCS at PA (or PT_VMCS_NONE) the current one. */
void edge_vmcs(struct drive *drive, uint64_t pa);
/* The address in a VMCS packet. */
uint64_t edge_vmcs_pa(uint64_t payload);

/* CS and the ring of an address, as far as an address tells. */
void edge_move(struct pt_context *at, uint64_t ip);
void edge_mode(struct pt_context *at, uint64_t exec);
/* CR3 and NR, out of the payload of a PIP. */
void edge_set_cr3(struct pt_context *at, uint64_t pip);

/*
 * An overflow comes: with errata SKD007 and SKD010, where they show, what is up to the
 * next PSB may not be what it seems.  doubt_end() is at that PSB.
 */
void doubt_begin(struct drive *drive);
/* Does it with the packet at OFFSET, at which libipt stops? */
bool doubt_is_ovf(const struct drive *drive, uint64_t offset);
void doubt_end(struct drive *drive);

/* Leaves out GAP, from which on nothing is known up to the next PSB; sets its .to. */
void drive_add_gap(struct drive *drive, const struct drive_gap *gap);

/* libipt stops, as ITEM says. */
void drive_gap(struct drive *drive, const struct recover_item *item);

/* How the trace ends: by a flush, or cut off while the unit goes on. */
void drive_finish(struct drive *drive);

/* Leaves out, for TEXT, what is between FROM and the next PSB. */
void doubt_skip(struct drive *drive, uint64_t from, const char *text);

/* The same if something has ended DRIVE that may be such an erratum's doing. */
void doubt_forgive(struct drive *drive);

/* There is no memory: nothing more can be driven. */
void drive_fail(struct drive *drive);

/* The flow contradicts itself or the image at IP. */
void drive_wrong(struct drive *drive, const char *text, uint64_t ip);

/* What the last instruction of a block is to the unit. */
enum pt_transfer_kind drive_kind(enum walk_kind kind);

/* Drives what libipt has found. */
void drive_batch(struct drive *drive, const struct recover_batch *batch);
void drive_item(struct drive *drive, const struct recover_item *item);

/* The last block's last instruction led to IP: may it, and what was it? */
void drive_resolve(struct drive *drive, uint64_t ip);

/* Reports a transfer of KIND that has led to AFTER. */
void drive_report(struct drive *drive, enum pt_transfer_kind kind,
    uint64_t from, const struct pt_context *after);

#endif
