/*
 * The PT unit that a recovered flow is fed to, with the machine around it: a ring
 * of memory as its output, whose bytes go to the comparison as they come.
 */
#ifndef TOPAZ_TRACES_REENCODE_REPLAY_UNIT_DRIVER_H
#define TOPAZ_TRACES_REENCODE_REPLAY_UNIT_DRIVER_H

#include "emu/profile/profile.h"
#include "emu/pt/sync.h"
#include "traces/reencode/compare.h"
#include "traces/reencode/input/settings.h"
#include "traces/reencode/input/trace_stats.h"

/* How it is set up; all that is pointed to must outlive it. */
struct unit_driver_config {
	const struct profile *profile;
	const struct setting
	    *settings;        /* by rising offset, the first of them 0 */
	size_t setting_count; /* one at least */
	const struct trace_stats *stats;
	uint32_t
	    phase; /* output offset minus trace offset, modulo 64; 64: not known */
	bool roomless; /* PSBs wait for room, as UNIT_DRIVER_ROOM_BYTES says */
};

struct unit_driver {
	struct unit_driver_config config; /* .phase: of this stretch */
	struct pt_unit *unit;             /* of this stretch */
	struct profile_uarch uarch;
	struct profile profile;      /* with .uarch */
	size_t setting;              /* index of the one in force */
	struct decode_filter filter; /* its */
	uint64_t ctl;                /* its, with TraceEn */
	struct compare *compare;
	uint64_t offset; /* in the trace, of the unit's next byte */
	uint64_t taken;  /* ring position up to which output was compared */
	uint64_t zero; /* trace offset that the unit's byte count 0 stands for */
	uint8_t *ring;
	struct pt_time now; /* at the next enable or stretch */
	uint64_t cycles;    /* what the cycle counter reads then */
	bool cyc_sent;      /* and a CYC has told of that already */
};

/* VMX operation, as VMCS packets tell of it, and MODE.TSX. */
struct unit_driver_state {
	bool in_vmx;
	uint64_t vmcs; /* or PT_VMCS_NONE */
	bool in_tsx;   /* in a transaction */
};

/* -TZ_EIO: no memory; -TZ_EUSAGE: the profile refuses CTL or a range. */
int unit_driver_create(struct unit_driver *driver,
    const struct unit_driver_config *config, struct compare *compare,
    struct tz_error *err);
void unit_driver_destroy(struct unit_driver *driver);

/* Do PSBs come where the trace has them alone?  They are not compared then. */
bool unit_driver_ignores_psbs(const struct unit_driver *driver);

/* Is another setting in force at OFFSET?  Takes that one, from the next enable on. */
bool unit_driver_has_other_setting(
    const struct unit_driver *driver, uint64_t offset);
void unit_driver_set(struct unit_driver *driver, uint64_t offset);

/*
 * A new stretch: the unit begins in the middle of a trace, at OFFSET.  False: out
 * of memory.
 */
bool unit_driver_resume(struct unit_driver *driver, uint64_t offset,
    const struct pt_resume *resume, const struct unit_driver_state *state);

/*
 * TraceEn 1 -> 0, then 0 -> 1 with the output at trace offset OFFSET and the next
 * instruction at AT.  With STATE, which is taken over, PacketByteCnt becomes 0.
 */
bool unit_driver_toggle(struct unit_driver *driver, uint64_t offset,
    const struct unit_driver_state *state, const struct pt_context *at);

/* TraceEn 1 -> 0 at AT. */
void unit_driver_disable(
    struct unit_driver *driver, const struct pt_context *at);

/* Hands what the unit has sent to the comparison. */
void unit_driver_take(struct unit_driver *driver);

/* Might the ring soon be full of what was not taken? */
bool unit_driver_is_filling(const struct unit_driver *driver);

/* PacketByteCnt now. */
uint32_t unit_driver_count(const struct unit_driver *driver);

/* An address that no range holds; any, where there are no ranges. */
uint64_t unit_driver_outside(const struct unit_driver *driver);

/* ADDRn_CFG.  SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define UNIT_DRIVER_CFG_FILTER 1
#define UNIT_DRIVER_CFG_STOP   2

/* Where the first range begins whose ADDRn_CFG is CFG; false: there is none. */
bool unit_driver_range(
    const struct unit_driver *driver, unsigned cfg, uint64_t *ip);

/*
 * AT, but in context at its CPL or, if that is not traced, at the one that is; not IN:
 * out of context, ContextEn is 0.
 */
struct pt_context unit_driver_context(
    const struct unit_driver *driver, const struct pt_context *at, bool in);

#endif
