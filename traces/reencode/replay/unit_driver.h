/*
 * A PT unit without a CPU, and the machine that it needs: a ring of memory as ToPA output,
 * whose bytes go to the comparison.
 */
#ifndef TOPAZ_TRACES_REENCODE_REPLAY_UNIT_DRIVER_H
#define TOPAZ_TRACES_REENCODE_REPLAY_UNIT_DRIVER_H

#include "emu/profile/profile.h"
#include "emu/pt/sync.h"
#include "traces/reencode/compare.h"
#include "traces/reencode/input/settings.h"
#include "traces/reencode/input/trace_stats.h"

/* Everything that is pointed to must outlive the driver. */
struct unit_driver_config {
	const struct profile *profile;
	/* By rising offset, the first of them 0. */
	const struct setting *settings;
	size_t setting_count; /* one at least */
	const struct trace_stats *stats;
	/* Output offset minus trace offset, modulo 64; 64: not known. */
	uint32_t phase;
	bool roomless; /* PSBs wait for room, as UNIT_DRIVER_ROOM_BYTES says */
};

struct unit_driver {
	struct unit_driver_config config; /* .phase: of this stretch */
	struct pt_unit *unit;             /* of this stretch */
	struct profile_uarch uarch;
	struct profile profile;      /* with .uarch */
	size_t setting;              /* index of the setting in force */
	struct decode_filter filter; /* its filter */
	uint64_t ctl;                /* its IA32_RTIT_CTL, with TraceEn 1 */
	struct compare *compare;
	uint64_t offset; /* in the trace, of the unit's next byte */
	uint64_t taken;  /* ring position up to which output was compared */
	uint64_t zero; /* trace offset at which the unit's count of bytes is 0 */
	uint8_t *ring;
	/* At the next enable or start: */
	struct pt_time now;
	uint64_t cycles; /* the cycle counter */
	bool cyc_sent;   /* a CYC of these cycles was sent already */
};

/* State that VMCS and MODE.TSX packets show. */
struct unit_driver_state {
	bool in_vmx;   /* in VMX operation */
	uint64_t vmcs; /* or PT_VMCS_NONE */
	bool in_tsx;   /* in a transaction */
};

/* -TZ_EIO: no memory; -TZ_EUSAGE: the profile refuses CTL or a range. */
int unit_driver_create(struct unit_driver *driver,
    const struct unit_driver_config *config, struct compare *compare,
    struct tz_error *err);
void unit_driver_destroy(struct unit_driver *driver);

/* PSBs are not compared: the unit sends one wherever the trace has one. */
bool unit_driver_ignores_psbs(const struct unit_driver *driver);

/*
 * Is the setting in force at trace offset OFFSET another one than the driver's?
 * unit_driver_set() takes that one, which is used from the next enable on.
 */
bool unit_driver_has_other_setting(
    const struct unit_driver *driver, uint64_t offset);
void unit_driver_set(struct unit_driver *driver, uint64_t offset);

/* Starts a unit in the middle of a trace, at OFFSET.  False: out of memory. */
bool unit_driver_resume(struct unit_driver *driver, uint64_t offset,
    const struct pt_resume *resume, const struct unit_driver_state *state);

/*
 * Clears TraceEn and sets it again, with the output at trace offset OFFSET and the next
 * instruction at AT.  With STATE, the enable starts with a PSB+ and in that state.
 * False: out of memory.
 */
bool unit_driver_toggle(struct unit_driver *driver, uint64_t offset,
    const struct unit_driver_state *state, const struct pt_context *at);

/* Clears TraceEn at AT. */
void unit_driver_disable(
    struct unit_driver *driver, const struct pt_context *at);

/* Compares what the unit has sent since the last call. */
void unit_driver_take(struct unit_driver *driver);

/* Has the ring so much output that it must be taken soon? */
bool unit_driver_is_filling(const struct unit_driver *driver);

/* PacketByteCnt now. */
uint32_t unit_driver_count(const struct unit_driver *driver);

/* An address outside all ranges; without ranges, any address. */
uint64_t unit_driver_outside(const struct unit_driver *driver);

/* ADDRn_CFG.  SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define UNIT_DRIVER_CFG_FILTER 1
#define UNIT_DRIVER_CFG_STOP   2

/* The begin of the first range whose ADDRn_CFG is CFG; false: there is none. */
bool unit_driver_range(
    const struct unit_driver *driver, unsigned cfg, uint64_t *ip);

/*
 * AT with ContextEn 1 (IN), at its CPL or, if that is not traced, at the CPL that is; or
 * with ContextEn 0.
 */
struct pt_context unit_driver_context(
    const struct unit_driver *driver, const struct pt_context *at, bool in);

#endif
