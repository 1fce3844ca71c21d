#include "traces/reencode/replay/unit_driver.h"

#include "emu/base/rtit.h"
#include "emu/pt/packet/nonbranch.h"

#include <stdlib.h>

/* SDM vol. 3, 33.2.8 "Intel Processor Trace Model Specific Registers". */
/*
 * A PSB stands in the line that begins where the counter was looked at; timing
 * packets may come before the event that it belongs to.
 */
#define FEED_HOLD_BYTES 64
/* Where the internal buffer has no room for PSB+, that is not before it has. */
#define FEED_ROOM_BYTES 1024

/* One region of 1 MiB (entry size 8), and an END entry back to the table. */
#define FEED_TABLE      UINT64_C(0x1000)
#define FEED_RING       UINT64_C(0x100000)
#define FEED_RING_BYTES UINT64_C(0x100000)
#define FEED_ENTRY_SIZE UINT64_C(0x200)

static uint8_t *
unit_driver_window(void *arg, struct gpa pa, uint64_t bytes)
{
	struct unit_driver *feed = arg;

	if (pa.u < FEED_RING || pa.u - FEED_RING > FEED_RING_BYTES ||
	    bytes > FEED_RING_BYTES - (pa.u - FEED_RING))
		return NULL;
	return feed->ring + (pa.u - FEED_RING);
}

static bool
feed_read64(void *arg, struct gpa pa, uint64_t *value)
{
	(void)arg;
	*value = pa.u == FEED_TABLE ? FEED_RING | FEED_ENTRY_SIZE
				    : FEED_TABLE | TOPA_ENTRY_END;
	return pa.u == FEED_TABLE || pa.u == FEED_TABLE + 8;
}

static void
unit_driver_raise_pmi(void *arg)
{
	(void)arg;
}

/* The CBR of what begins at OFFSET; the profile's in a trace without any. */
static void
unit_driver_set_cbr(struct unit_driver *feed, uint64_t offset)
{
	uint8_t cbr = trace_stats_cbr(feed->config.stats, offset);

	if (cbr != 0)
		pt_unit_set_cbr(feed->unit, cbr);
}

/* The frequency is an input: the unit's CBR is the one that the trace has. */
static void
unit_driver_event(void *arg, const struct pt_event *event)
{
	struct unit_driver *feed = arg;

	if (event->kind == PT_EVENT_PSB)
		unit_driver_set_cbr(feed, feed->zero + event->offset_bytes);
}

static uint64_t
unit_driver_position(const struct unit_driver *feed)
{
	return pt_unit_position(feed->unit).offset_bytes;
}

static bool
unit_driver_wrmsr(struct unit_driver *feed, uint32_t index, uint64_t value)
{
	struct pt_context at = { .cs_l = true };

	return pt_unit_wrmsr(feed->unit, index, value, &at, 0) == FAULT_NONE;
}

/* Sets the output to where the trace's byte OFFSET lies in the ring. */
static bool
unit_driver_seek(struct unit_driver *feed, uint64_t offset)
{
	uint64_t position = (offset + feed->config.phase) % 64;

	feed->taken = position;
	feed->offset = offset;
	return unit_driver_wrmsr(feed, MSR_RTIT_OUTPUT_BASE, FEED_TABLE) &&
	    unit_driver_wrmsr(feed, MSR_RTIT_OUTPUT_MASK_PTRS, position << 32);
}

bool
unit_driver_frees_psbs(const struct unit_driver *feed)
{
	return feed->compare->form == COMPARE_CANONICAL;
}

/* The ranges, and how late a PSB may be. */
static bool
unit_driver_write_setting(struct unit_driver *feed)
{
	bool good = true;

	if (unit_driver_frees_psbs(feed))
		pt_unit_hold_psb(feed->unit, UINT32_MAX);
	else if (feed->config.roomless)
		pt_unit_hold_psb(feed->unit, FEED_ROOM_BYTES);
	else
		pt_unit_hold_psb(feed->unit,
		    (feed->ctl & CTL_TIMING) != 0 ? PT_LOOK_BYTES
						  : FEED_HOLD_BYTES);
	for (uint32_t n = 0; n < TZ_ARRAY_LEN(feed->filter.a); n++) {
		if (CTL_ADDR_CFG(feed->ctl, n) == 0)
			continue;
		good = good &&
		    unit_driver_wrmsr(
			feed, MSR_RTIT_ADDR_A(n), feed->filter.a[n]) &&
		    unit_driver_wrmsr(
			feed, MSR_RTIT_ADDR_B(n), feed->filter.b[n]);
	}
	return good;
}

/* A unit with everything set but CTL. */
static bool
unit_driver_open(struct unit_driver *feed, uint64_t offset)
{
	const struct pt_port port = { .arg = feed,
		.window = unit_driver_window,
		.read64 = feed_read64,
		.raise_pmi = unit_driver_raise_pmi,
		.event = unit_driver_event };

	if (feed->unit != NULL)
		pt_unit_destroy(feed->unit);
	feed->unit = pt_unit_create(&feed->profile, &port);
	if (feed->unit == NULL)
		return false;
	feed->zero = offset;
	unit_driver_set_cbr(feed, offset);
	return unit_driver_write_setting(feed) &&
	    unit_driver_seek(feed, offset);
}

static size_t
unit_driver_setting_at(const struct unit_driver *feed, uint64_t offset)
{
	size_t low = 0, high = feed->config.setting_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (feed->config.settings[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

bool
unit_driver_is_reset(const struct unit_driver *feed, uint64_t offset)
{
	return unit_driver_setting_at(feed, offset) != feed->setting;
}

static void
unit_driver_choose(struct unit_driver *feed, size_t setting)
{
	const struct setting *from = &feed->config.settings[setting];

	feed->setting = setting;
	feed->filter = from->filter;
	feed->ctl = from->ctl | CTL_TRACE_EN | from->filter.config << 32;
}

void
unit_driver_set(struct unit_driver *feed, uint64_t offset)
{
	unit_driver_choose(feed, unit_driver_setting_at(feed, offset));
}

int
unit_driver_create(struct unit_driver *feed,
    const struct unit_driver_config *config, struct compare *compare,
    struct tz_error *err)
{
	size_t count = config->setting_count;
	bool good = true;

	TZ_ASSERT(count != 0);
	*feed = (struct unit_driver){ .config = *config,
		.uarch = *config->profile->uarch,
		.profile = *config->profile,
		.compare = compare };
	feed->profile.uarch = &feed->uarch;
	/* What sends VMCS packets traces in VMX operation, whatever is compared. */
	feed->uarch.vmx_pt = true;
	feed->ring = malloc(FEED_RING_BYTES);
	if (feed->ring == NULL)
		return tz_error(err, TZ_EIO, "ring: out of memory");
	/* All are tried, the first one last: with that it begins. */
	while (good && count-- != 0) {
		unit_driver_choose(feed, count);
		good = unit_driver_open(feed, 0) &&
		    unit_driver_wrmsr(feed, MSR_RTIT_CTL, feed->ctl);
	}
	if (good)
		return 0;
	unit_driver_destroy(feed);
	return tz_error(err, TZ_EUSAGE,
	    "profile %s: it refuses IA32_RTIT_CTL %#llx or a range",
	    config->profile->name, (unsigned long long)feed->ctl);
}

void
unit_driver_destroy(struct unit_driver *feed)
{
	if (feed->unit != NULL)
		pt_unit_destroy(feed->unit);
	feed->unit = NULL;
	free(feed->ring);
	feed->ring = NULL;
}

bool
unit_driver_resume(struct unit_driver *feed, uint64_t offset,
    const struct pt_resume *resume, const struct unit_driver_state *state)
{
	compare_start(feed->compare, offset);
	if (!unit_driver_open(feed, offset))
		return false;
	if (state->in_vmx)
		pt_unit_vmptrld(feed->unit, state->vmcs);
	/* Without a packet, while TraceEn is 0. */
	pt_unit_tsx(feed->unit, &resume->at, state->in_tsx);
	pt_unit_set_time(feed->unit, &feed->now, feed->cycles);
	TZ_ASSERT(pt_unit_resume(feed->unit, feed->ctl, resume) == FAULT_NONE);
	unit_driver_take(feed);
	return true;
}

void
unit_driver_disable(struct unit_driver *feed, const struct pt_context *at)
{
	(void)pt_unit_wrmsr(
	    feed->unit, MSR_RTIT_CTL, feed->ctl & ~CTL_TRACE_EN, at, 0);
}

uint32_t
unit_driver_count(const struct unit_driver *feed)
{
	uint64_t status = 0;

	(void)pt_unit_rdmsr(feed->unit, MSR_RTIT_STATUS, &status);
	return (uint32_t)(status >> STATUS_COUNT_SHIFT & STATUS_COUNT_MASK);
}

bool
unit_driver_toggle(struct unit_driver *feed, uint64_t offset,
    const struct unit_driver_state *state, const struct pt_context *at)
{
	static const uint8_t pads[64];
	uint64_t count;

	unit_driver_disable(feed, at);
	unit_driver_take(feed);
	/* Where the next enable begins is an input. */
	while (feed->offset < offset) {
		uint64_t left = offset - feed->offset;

		if (left > sizeof(pads))
			left = sizeof(pads);
		compare_feed(feed->compare, pads, left, true);
		feed->offset += left;
		feed->zero += left;
	}
	/* A counter of 0 would be that of an enable with PSB+. */
	count = unit_driver_count(feed);
	if (state != NULL && state->in_vmx)
		pt_unit_vmptrld(feed->unit, state->vmcs);
	if (state != NULL || count == 0)
		count = state == NULL;
	unit_driver_set_cbr(feed, offset);
	pt_unit_set_time(feed->unit, &feed->now, feed->cycles);
	if (!unit_driver_write_setting(feed) ||
	    !unit_driver_seek(feed, feed->offset) ||
	    !unit_driver_wrmsr(
		feed, MSR_RTIT_STATUS, count << STATUS_COUNT_SHIFT) ||
	    pt_unit_wrmsr(feed->unit, MSR_RTIT_CTL, feed->ctl, at, at->ip) !=
		FAULT_NONE)
		return false;
	unit_driver_take(feed);
	return true;
}

void
unit_driver_take(struct unit_driver *feed)
{
	uint64_t position = unit_driver_position(feed);

	if (position == feed->taken)
		return;
	if (position < feed->taken) {
		compare_feed(feed->compare, feed->ring + feed->taken,
		    FEED_RING_BYTES - feed->taken, false);
		feed->offset += FEED_RING_BYTES - feed->taken;
		feed->taken = 0;
	}
	compare_feed(feed->compare, feed->ring + feed->taken,
	    position - feed->taken, true);
	feed->offset += position - feed->taken;
	feed->taken = position;
}

bool
unit_driver_is_filling(const struct unit_driver *feed)
{
	return (unit_driver_position(feed) - feed->taken) % FEED_RING_BYTES >
	    FEED_RING_BYTES / 4;
}

bool
unit_driver_range(const struct unit_driver *feed, unsigned cfg, uint64_t *ip)
{
	for (unsigned n = 0; n < TZ_ARRAY_LEN(feed->filter.a); n++)
		if (CTL_ADDR_CFG(feed->ctl, n) == cfg) {
			*ip = feed->filter.a[n];
			return true;
		}
	return false;
}

uint64_t
unit_driver_outside(const struct unit_driver *feed)
{
	uint64_t ip = 0;

	for (unsigned tried = 0; tried < TZ_ARRAY_LEN(feed->filter.a); tried++)
		for (unsigned n = 0; n < TZ_ARRAY_LEN(feed->filter.a); n++) {
			if (CTL_ADDR_CFG(feed->ctl, n) != 0 &&
			    ip >= feed->filter.a[n] && ip <= feed->filter.b[n])
				ip = feed->filter.b[n] + 1;
		}
	return ip;
}

struct pt_context
unit_driver_context(
    const struct unit_driver *feed, const struct pt_context *at, bool in)
{
	struct pt_context context = *at;

	if (!(feed->ctl & CTL_OS))
		context.cpl = in ? 3 : 0;
	else if (!(feed->ctl & CTL_USER))
		context.cpl = in ? 0 : 3;
	else
		context.enclave = !in;
	if (in)
		context.enclave = false;
	return context;
}
