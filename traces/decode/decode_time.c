#include "traces/decode/decode_time.h"

#include "emu/base/rtit.h"
#include "traces/bundle/image.h"

#include <intel-pt.h>
#include <stdlib.h>

/* libipt keeps ratios in 256ths: it may be off by a 128th of a time. */
#define TIMES_PART 128

/* libipt truncates the ticks of a core cycle to a multiple of a 256th. */
#define TIMES_RATIO_PARTS 256

struct times {
	struct pt_event_decoder *decoder;
	struct clock *clock;
	struct pt_event event; /* the next one, if .loaded */
	bool loaded;
	unsigned branches; /* unused bits of the last TNT */
	uint64_t passed;   /* packets before this offset have no event left */
	bool lost;
	bool began; /* TIMES_ON or TIMES_ASYNC, and no instruction since */
};

struct times *
decode_time_create(const struct decode_time_config *from)
{
	struct times *times = calloc(1, sizeof(*times));
	struct pt_config config;

	if (times == NULL)
		return NULL;
	image_config(&config, from->clock.bytes, from->clock.count,
	    from->signature, from->errata);
	config.cpuid_0x15_eax = from->clock.tsc_den;
	config.cpuid_0x15_ebx = from->clock.tsc_num;
	config.mtc_freq = (uint8_t)tz_bits(from->clock.ctl, 17, 14);
	config.nom_freq = (uint8_t)from->clock.cbr;
	times->decoder = pt_evt_alloc_decoder(&config);
	times->clock = clock_create(&from->clock);
	if (times->decoder == NULL || times->clock == NULL) {
		decode_time_destroy(times);
		return NULL;
	}
	return times;
}

void
decode_time_destroy(struct times *times)
{
	if (times == NULL)
		return;
	if (times->decoder != NULL)
		pt_evt_free_decoder(times->decoder);
	clock_destroy(times->clock);
	free(times);
}

void
decode_time_sync(struct times *times, uint64_t offset)
{
	times->loaded = false;
	times->branches = 0;
	times->passed = 0;
	times->began = false;
	times->lost = pt_evt_sync_set(times->decoder, offset) < 0 ||
	    !clock_sync(times->clock, offset);
}

bool
decode_time_is_lost(const struct times *times)
{
	return times->lost;
}

/* The kind of EVENT; false: it has no packet of enum clock_packet. */
static bool
kind_of(const struct pt_event *event, enum decode_time_kind *kind)
{
	if (event->status_update)
		return false;
	switch ((int)event->type) {
	case ptev_tip:
		*kind = TIMES_TIP;
		return true;
	case ptev_enabled:
		*kind = TIMES_ON;
		return true;
	case ptev_disabled:
	case ptev_async_disabled:
		*kind = TIMES_OFF;
		return true;
	case ptev_async_branch:
		*kind = TIMES_ASYNC;
		return true;
	default:
		return false;
	}
}

/* Loads the next event that is a TNT, an overflow or in kind_of().  False: none. */
static bool
load(struct times *times)
{
	enum decode_time_kind kind;

	while (!times->loaded) {
		if (pt_evt_next(times->decoder, &times->event,
			sizeof(times->event)) < 0)
			return false;
		times->loaded = times->event.type == ptev_tnt ||
		    times->event.type == ptev_overflow ||
		    kind_of(&times->event, &kind);
	}
	return true;
}

/* The time at the next packet that has an event. */
static bool
next_packet(struct times *times, struct clock_time *exact)
{
	do {
		if (!clock_next(times->clock, exact))
			return false;
	} while (exact->offset < times->passed);
	return true;
}

/* Consumes the next event, which must be of KIND. */
static bool
take(struct times *times, enum decode_time_kind kind,
    struct decode_time_mark *mark)
{
	static const enum clock_packet packets[] = {
		[TIMES_TIP] = CLOCK_TIP,
		[TIMES_OFF] = CLOCK_PGD,
		[TIMES_ON] = CLOCK_PGE,
		[TIMES_ASYNC] = CLOCK_TIP,
	};
	enum decode_time_kind found;

	if (times->lost)
		return false;
	if (times->branches > 0 || !load(times) ||
	    !kind_of(&times->event, &found) || found != kind ||
	    !next_packet(times, &mark->exact) ||
	    mark->exact.packet != packets[kind]) {
		times->lost = true;
		return false;
	}
	times->loaded = false;
	mark->kind = kind;
	mark->tsc = times->event.tsc;
	return mark->exact.known && times->event.has_tsc;
}

/* True if the next branch packet is a TNT: consumes one bit of it. */
static bool
take_branch(struct times *times)
{
	if (times->branches == 0 && load(times) &&
	    times->event.type == ptev_tnt) {
		times->branches = times->event.variant.tnt.size;
		times->loaded = false;
	}
	if (times->branches == 0)
		return false;
	times->branches--;
	return true;
}

/* True if the near CALL or JMP is indirect, by register or memory (FF /2, FF /4). */
static bool
is_indirect(const struct pt_insn *insn)
{
	unsigned at = 0;

	/* Skip segment, operand size, address size and REP prefixes, and REX. */
	while (at < insn->size &&
	    (insn->raw[at] == 0x66 || insn->raw[at] == 0x67 ||
		insn->raw[at] == 0x2e || insn->raw[at] == 0x3e ||
		(insn->raw[at] & 0xfe) == 0x64 ||
		(insn->raw[at] & 0xfe) == 0xf2 ||
		(insn->raw[at] & 0xf0) == 0x40))
		at++;
	return at < insn->size && insn->raw[at] == 0xff;
}

bool
decode_time_insn(struct times *times, const struct pt_insn *insn,
    struct decode_time_mark *mark)
{
	times->began = false;
	switch ((int)insn->iclass) {
	case ptic_cond_jump:
		/* Without a TNT bit tracing ends here. */
		(void)take_branch(times);
		return false;
	case ptic_call:
	case ptic_jump:
		if (!is_indirect(insn))
			return false;
		break;
	case ptic_return:
		if (take_branch(times))
			return false;
		break;
	case ptic_far_call:
	case ptic_far_return:
	case ptic_far_jump:
		break;
	default:
		return false;
	}
	/* Its packet is a TIP.PGD or the TIP of an event: decode_time_event() has it. */
	if (times->lost || times->branches > 0 || !load(times) ||
	    times->event.type != ptev_tip)
		return false;
	return take(times, TIMES_TIP, mark);
}

/* Discards all events and packets before the overflow. */
static void
take_overflow(struct times *times)
{
	times->branches = 0;
	times->began = false;
	while (
	    !times->lost && load(times) && times->event.type != ptev_overflow)
		times->lost = true;
	times->loaded = false;
	/* SKD010, APL11: libipt may have consumed a packet to find the IP. */
	(void)pt_evt_get_offset(times->decoder, &times->passed);
}

bool
decode_time_event(struct times *times, const struct pt_event *event,
    struct decode_time_mark *mark)
{
	enum decode_time_kind kind;

	if (event->type == ptev_overflow) {
		take_overflow(times);
		return false;
	}
	if (!kind_of(event, &kind) || kind == TIMES_TIP)
		return false;
	mark->empty = kind == TIMES_OFF && times->began;
	times->began = kind != TIMES_OFF;
	return take(times, kind, mark);
}

void
decode_time_leave(struct times *times)
{
	struct decode_time_mark mark;

	(void)take(times, TIMES_OFF, &mark);
}

/* Upper bound of TSC ticks from one MTC to the next. */
static uint64_t
mtc_ticks(const struct clock_config *clock)
{
	unsigned freq = (unsigned)tz_bits(clock->ctl, 17, 14);
	uint64_t ticks = (uint64_t)clock->tsc_num << freq;

	return (ticks + clock->tsc_den - 1) / clock->tsc_den;
}

/*
 * libipt measures the core clock by the CYCs between two MTCs.  The threshold hides up to
 * HIDDEN of these cycles, or adds as many from before.  Returns the resulting error in a
 * time of TICKS that libipt computes from CYCs.
 */
static uint64_t
mismeasured(const struct clock_config *clock, uint64_t hidden, uint32_t core,
    uint64_t ticks)
{
	uint64_t cycles = mtc_ticks(clock) * core / clock->cbr;
	uint64_t seen = cycles > 2 * hidden ? cycles - hidden : hidden;

	if (!(clock->ctl & CTL_MTC_EN) || hidden == 0)
		return 0;
	return (ticks * hidden + seen - 1) / seen;
}

/*
 * libipt's error in SINCE ticks from truncating the ticks of each cycle.  For a core at
 * more than twice the TSC's ratio it exceeds a TIMES_PART-th of the time.
 */
static uint64_t
cut_off(const struct clock_config *clock, uint64_t since, uint32_t core)
{
	uint64_t part = since / TIMES_PART;
	uint64_t cut = since * core / clock->cbr / TIMES_RATIO_PARTS;

	return part > cut ? part : cut;
}

uint64_t
decode_time_allowed(const struct clock_config *clock,
    const struct clock_time *exact, uint32_t core)
{
	unsigned threshold = (unsigned)tz_bits(clock->ctl, 22, 19);
	uint64_t hidden = threshold == 0 ? 0
					 : (UINT64_C(1) << (threshold - 1)) - 1;

	if (clock->ctl & CTL_CYC_EN) {
		if (exact->mismeasured)
			return UINT64_MAX;
		if (hidden == 0 && core == clock->cbr)
			return 1;
		return cut_off(clock, exact->since, core) + 1 +
		    exact->cyc_count + exact->overlap +
		    mismeasured(
			clock, hidden, core, exact->since + exact->overlap) +
		    ((hidden + 1) * clock->cbr + core - 1) / core;
	}
	if (clock->ctl & CTL_MTC_EN)
		return mtc_ticks(clock);
	return UINT64_MAX;
}
