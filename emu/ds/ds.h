/*
 * The Debug Store of one logical CPU: the DS save area in memory, branch trace store
 * (BTS), and the records of precise event-based sampling (PEBS).
 *
 * The CPU says which branch, interrupt or exception happened, and the unit writes the
 * record through linear addresses.  The unit knows no engine, and raises no interrupt
 * or exception itself: it says which one is due.
 *
 * Source: SDM vol. 3, 18.4.5 "Branch Trace Store (BTS)", 18.4.9 "BTS and DS Save Area".
 */
#ifndef TOPAZ_EMU_DS_DS_H
#define TOPAZ_EMU_DS_DS_H

#include "emu/base/base.h"
#include "emu/profile/profile.h"

#define DS_MSR_DEBUGCTL UINT32_C(0x1d9)
#define DS_MSR_AREA     UINT32_C(0x600)

enum ds_debugctl {
#define DEBUGCTL(name, bit, needs, text) DS_DEBUGCTL_##name = 1 << (bit),
#include "emu/ds/debugctl.def"
#undef DEBUGCTL
};

enum ds_area {
#define AREA(name, index, text) DS_AREA_##name = (index),
#include "emu/ds/area.def"
#undef AREA
};

/* A record of the BTS buffer: 18.4.9.1, "64-Bit Branch Trace Record Format". */
struct ds_branch {
	uint64_t from, to; /* linear addresses */
	uint64_t flags;    /* bit 4, predicted, of older processors: 0 */
};

enum ds_value {
#define VALUE(name, text) DS_##name,
#include "emu/ds/value.def"
#undef VALUE
	DS_VALUES
};

/* What a PEBS record is made of; DS_ZERO and DS_FORMAT are ignored. */
struct ds_sample {
	uint64_t value[DS_VALUES];
};

struct ds {
	const struct profile *profile;
	uint64_t debugctl, area; /* the MSRs */
};

/*
 * Guest memory by linear address, as a supervisor.  False: a page fault at *FAULT, and
 * nothing was written.
 */
struct ds_port {
	void *arg;
	bool (*read)(void *arg, struct gva va, void *bytes, size_t count,
	    struct gva *fault);
	bool (*write)(void *arg, struct gva va, const void *bytes, size_t count,
	    struct gva *fault);
};

enum ds_end {
	DS_STORED,
	DS_FULL,        /* there is no room: nothing is stored */
	DS_READ_FAULT,  /* a page fault at .fault: nothing is stored */
	DS_WRITE_FAULT, /* the same, of a store */
};

struct ds_result {
	enum ds_end end;
	struct gva record; /* where the record is, or would be */
	struct gva fault;
	bool pmi; /* the index is at or beyond the threshold */
};

/* The MSRs after power-up or RESET; PROFILE must outlive DS. */
void ds_reset(struct ds *ds, const struct profile *profile);

bool ds_owns_msr(uint32_t index);

/*
 * RDMSR and WRMSR of an MSR that the unit owns.  FAULT_GP: the processor has no such
 * MSR, or VALUE sets a reserved bit or is not canonical; nothing changes then.
 */
enum fault ds_rdmsr(const struct ds *ds, uint32_t index, uint64_t *value);
enum fault ds_wrmsr(struct ds *ds, uint32_t index, uint64_t value);

/*
 * Bits of IA32_DEBUGCTL in VALUE that exist on processors but have no model:
 * last-branch records, single-stepping on branches, the uncore, SMM.
 */
uint64_t ds_unmodelled(uint64_t value);

/*
 * True if a branch, interrupt or exception in ring 0 or, if USER, outside it has to be
 * recorded.
 */
bool ds_records_branches(const struct ds *ds, bool user);

/* Stores a record in the BTS buffer; only if ds_records_branches(). */
void ds_store_branch(const struct ds *ds, const struct ds_port *port,
    const struct ds_branch *branch, struct ds_result *result);

/*
 * Stores a PEBS record in the PEBS buffer.  GROUPS: those of an adaptive record, PMU_PEBS_*
 * of emu/pmu/pmu.h; ignored by formats before 4.
 */
void ds_store_sample(const struct ds *ds, const struct ds_port *port,
    const struct ds_sample *sample, uint64_t groups, struct ds_result *result);

/*
 * The counter reset value of a general-purpose or, if FIXED, fixed counter.  False: a
 * page fault at *FAULT.
 */
bool ds_reset_value(const struct ds *ds, const struct ds_port *port,
    unsigned counter, bool fixed, uint64_t *value, struct gva *fault);

/* A hash of everything that decides what the unit does next. */
uint64_t ds_hash(const struct ds *ds);

#endif
