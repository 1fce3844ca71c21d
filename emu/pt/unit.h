/*
 * The Intel PT unit of one logical processor: MSRs, enables, packet generation,
 * ToPA output, XSAVES component 8.  Events that are no control transfers are in
 * packet/nonbranch.h.  Pure C: it depends on no engine and no machine, and calls
 * them through struct pt_port.  It never reads guest code: the CPU reports each
 * control transfer after it has happened.
 *
 * Not modelled here: the local APIC (the port's raise_pmi delivers a PMI),
 * GLOBAL_STATUS (emu/pmu).  The CPU passes in the time.
 *
 * Source of behaviour: SDM vol. 3, chapter 33 "Intel Processor Trace".
 */
#ifndef TOPAZ_EMU_PT_UNIT_H
#define TOPAZ_EMU_PT_UNIT_H

#include "emu/pt/fast.h"
#include "emu/pt/packet/cycles.h"

struct profile;
struct pt_unit;

/*
 * Bytes of component 8 in the XSAVE area (CPUID.(EAX=0DH,ECX=8):EAX), and the
 * MSRs it holds in order: CTL, OUTPUT_BASE, OUTPUT_MASK_PTRS, STATUS, CR3_MATCH,
 * ADDR0_A, ADDR0_B, ADDR1_A, ADDR1_B.
 */
#define PT_XSTATE_BYTES 128
#define PT_XSTATE_MSRS  9

/* The CPU's context, from which ContextEn and FilterEn are computed. */
struct pt_context {
	uint64_t ip;   /* RIP of the next instruction (after the event) */
	uint64_t cr3;  /* whole register, bit 63 clear */
	uint8_t cpl;   /* 0..3 */
	bool cs_l;     /* CS.L && EFER.LMA: 64-bit code */
	bool cs_d;     /* CS.D */
	bool if_flag;  /* RFLAGS.IF */
	bool enclave;  /* in a production enclave */
	bool non_root; /* in VMX non-root operation that is not concealed */
};

/*
 * One control transfer as PT sees it (SDM vol. 3, 33.2.1 "Change of Flow
 * Instruction (COFI) Tracing").
 */
enum pt_transfer_kind {
#define TRANSFER(name, fup, cfe, cite) PT_TRANSFER_##name,
#include "emu/pt/transfer.def"
#undef TRANSFER
	PT_TRANSFER_KINDS
};

struct pt_transfer {
	enum pt_transfer_kind kind;
	bool taken;       /* PT_TRANSFER_COND only */
	bool cr3_written; /* the event loaded CR3 (MOV CR3, task switch) */
	bool has_vector;  /* .vector is valid: interrupt, exception, SIPI, VM
			     exit */
	uint8_t vector;
	bool trace_off;   /* VM entry and exit: the MSR list clears TraceEn */
	uint64_t ip_from; /* FUP payload: CLIP or NLIP by kind */
	uint64_t nlip;    /* address after the instruction (calls) */
	uint64_t cr2;     /* exception with vector 14 */
	uint64_t exit[2]; /* VM exit: qualification, reason */
	struct pt_context after;
};

/* Events that a unit reports to its observer, in the order in which they happen. */
enum pt_event_kind {
	PT_EVENT_PSB,    /* a PSB+ begins; .offset_bytes is its first byte */
	PT_EVENT_OUTPUT, /* bytes now in memory: .pa, .bytes */
	/* .pa region, .bytes its size, .value entry index; 0: a single range */
	PT_EVENT_REGION_FULL,
	PT_EVENT_PMI, /* raised, by an INT region or pending; .value its index */
	PT_EVENT_STOPPED,    /* STATUS.Stopped was set */
	PT_EVENT_ERROR,      /* STATUS.Error was set; .text is the cause */
	PT_EVENT_TRACE_ON,   /* TraceEn 0 -> 1; .value CTL */
	PT_EVENT_TRACE_OFF,  /* TraceEn 1 -> 0; .value CTL before */
	PT_EVENT_UNMODELLED, /* the guest used something not modelled: .text */
	PT_EVENT_TOPA_ENTRY, /* a ToPA entry was read: .pa, .value, .index */
	PT_EVENT_OVERFLOW,   /* .value 1: the bounded buffer overflows from here
				on; 0: OVF is the next packet, at
				.offset_bytes */
};

struct pt_event {
	enum pt_event_kind kind;
	struct gpa pa;
	uint64_t bytes;
	uint64_t offset_bytes; /* bytes written since the unit's creation */
	uint64_t value;
	uint32_t index;   /* of a ToPA entry in its table */
	const char *text; /* NULL or static text */
};

/*
 * A unit's interface to its machine.  Every member except .restricted must be set.
 *
 * window: host memory that backs guest physical [pa, pa + bytes), or NULL where
 *   that is not wholly RAM; the unit writes trace output through it.  A region
 *   without a window loses its output (SDM is silent; model choice: drop).
 * read64: reads 8 bytes of a ToPA table; false where there is no RAM.
 * raise_pmi: an INT region was filled.  Must only record the fact.
 * event: observer; must not call back into the unit.
 * restricted: true if any byte of [pa, pa + bytes) is memory that trace output and
 *   ToPA tables must not use (SDM vol. 3, 33.2.7.4 "Restricted Memory Access").
 *   NULL: there is no such memory.
 */
struct pt_port {
	void *arg;
	uint8_t *(*window)(void *arg, struct gpa pa, uint64_t bytes);
	bool (*read64)(void *arg, struct gpa pa, uint64_t *value);
	void (*raise_pmi)(void *arg);
	void (*event)(void *arg, const struct pt_event *event);
	bool (*restricted)(void *arg, struct gpa pa, uint64_t bytes);
};

/* Creates a unit in its state after a cold reset.  NULL: out of memory. */
struct pt_unit *pt_unit_create(
    const struct profile *profile, const struct pt_port *port);
void pt_unit_destroy(struct pt_unit *unit);

/*
 * SDM vol. 3, 33.3.4 "Warm Reset": a cold reset clears every PT MSR (MASK_PTRS reads
 * 7FH); a warm reset clears only TraceEn where CPUID.14H:EBX[2] is 1.
 */
void pt_unit_reset(struct pt_unit *unit, bool warm);

/* True if INDEX is a trace MSR (560H, 561H, 570H..572H, 580H..587H). */
bool pt_unit_owns_msr(uint32_t index);

/*
 * RDMSR and WRMSR of a trace MSR.  AT is the CPU's context: .ip is the IP of the
 * instruction itself for TraceEn 1 -> 0 (FUP CLIP), NLIP is the address after it
 * for 0 -> 1 (TIP.PGE).  Returns FAULT_NONE, or FAULT_GP with no state changed.
 */
enum fault pt_unit_rdmsr(
    const struct pt_unit *unit, uint32_t index, uint64_t *value);
enum fault pt_unit_wrmsr(struct pt_unit *unit, uint32_t index, uint64_t value,
    const struct pt_context *at, uint64_t nlip);

/*
 * XSAVES of component 8: CTL is saved, then TraceEn cleared (with the packets of
 * a disable at AT), then the other eight MSRs and zeroes are saved (SDM vol. 1,
 * 13.5.6 "PT State").
 */
void pt_unit_xsaves(struct pt_unit *unit, uint8_t image[PT_XSTATE_BYTES],
    const struct pt_context *at);

/*
 * XRSTORS of component 8 from IMAGE, or to its initial state (all zero) where IMAGE
 * is NULL.  FAULT_GP before any change if TraceEn = 1.  FAULT_GP also on a value
 * that WRMSR would refuse, and on non-zero reserved bytes: other PT MSRs may then
 * have changed, but not TraceEn.
 */
enum fault pt_unit_xrstors(struct pt_unit *unit, const uint8_t *image,
    const struct pt_context *at, uint64_t nlip);

/* The clocks of a CPU, all read at the same moment. */
struct pt_time {
	uint64_t cycles; /* core clock: what CYC counts */
	uint64_t tsc;    /* as RDTSC returns */
	uint64_t art;    /* crystal ticks: what MTC counts */
	uint32_t fc;     /* TSC ticks since the last crystal tick, 0..511 */
	uint32_t zero; /* no padding: equal states are equal bytes when saved */
};

/*
 * Passes in the time.  To be called before TraceEn 0 -> 1 and, while .timed of
 * struct pt_fast is true, before each event and RDMSR, and exactly at each crystal
 * edge of pt_unit_mtc_due() and in each cycle of pt_unit_due().  No clock may go
 * back, and no edge may be skipped.
 */
void pt_unit_time(struct pt_unit *unit, const struct pt_time *now);

/* The value of the crystal clock at which the next MTC is due; UINT64_MAX: none is. */
uint64_t pt_unit_mtc_due(const struct pt_unit *unit);

/* Crystal ticks between two MTCs. */
uint64_t pt_unit_mtc_period(const struct pt_unit *unit);

/* The ratio of core clock to bus clock (100 MHz), 1..255, is now CBR. */
void pt_unit_frequency(struct pt_unit *unit, uint32_t cbr);
/*
 * VMPTRLD has made the VMCS at VMCS_PA the current one: a VMCS packet is sent now,
 * if ContextEn, and in every PSB+ from here on.  PT_VMCS_NONE: VMX operation
 * without a current VMCS.  Without any such call the unit is outside VMX operation.
 */
#define PT_VMCS_NONE UINT64_MAX
void pt_unit_vmptrld(struct pt_unit *unit, uint64_t vmcs_pa);

/* Reports a control transfer that has just happened to the unit. */
void pt_unit_transfer(struct pt_unit *unit, const struct pt_transfer *transfer);

/*
 * Reports the bytes in memory as PT_EVENT_OUTPUT now; without a call, that happens
 * at a region's end.
 */
void pt_unit_sync_output(struct pt_unit *unit);

/*
 * Snapshot support: the unit's whole state is one block of pt_unit_size() bytes
 * that holds no pointer; a restore derives the unit's window anew.
 */
size_t pt_unit_size(const struct pt_unit *unit);
void pt_unit_save(const struct pt_unit *unit, void *state);
void pt_unit_restore(struct pt_unit *unit, const void *state);

/*
 * The position of the next output byte.  Single range: .table is its base, .entry
 * bits 31:7 of its mask.
 */
struct pt_output_position {
	struct gpa table;
	uint32_t entry;
	uint32_t offset_bytes;
};
struct pt_output_position pt_unit_position(const struct pt_unit *unit);

#endif
