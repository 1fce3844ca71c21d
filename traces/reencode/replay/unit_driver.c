#include "traces/reencode/replay/unit_driver.h"

#include "emu/base/rtit.h"
#include "emu/pt/packet/nonbranch.h"

/* A PSB comes within the line that begins where PacketByteCnt was checked. */
#define UNIT_DRIVER_HOLD_BYTES 64
/* Where PSB+ waits for room in the internal buffer, it comes later, by this at most. */
#define UNIT_DRIVER_ROOM_BYTES 1024

/* One region of 1 MiB (entry size 8), and an END entry back to the table. */
#define UNIT_DRIVER_TABLE      UINT64_C(0x1000)
#define UNIT_DRIVER_RING       UINT64_C(0x100000)
#define UNIT_DRIVER_RING_BYTES UINT64_C(0x100000)
#define UNIT_DRIVER_ENTRY_SIZE UINT64_C(0x200)

static uint8_t *
unit_driver_window(void *arg, struct gpa pa, uint64_t bytes)
{
	struct unit_driver *driver = arg;

	if (pa.u < UNIT_DRIVER_RING ||
	    pa.u - UNIT_DRIVER_RING > UNIT_DRIVER_RING_BYTES ||
	    bytes > UNIT_DRIVER_RING_BYTES - (pa.u - UNIT_DRIVER_RING))
		return NULL;
	return driver->ring + (pa.u - UNIT_DRIVER_RING);
}

static bool
unit_driver_read64(void *arg, struct gpa pa, uint64_t *value)
{
	(void)arg;
	*value = pa.u == UNIT_DRIVER_TABLE
	    ? UNIT_DRIVER_RING | UNIT_DRIVER_ENTRY_SIZE
	    : UNIT_DRIVER_TABLE | TOPA_ENTRY_END;
	return pa.u == UNIT_DRIVER_TABLE || pa.u == UNIT_DRIVER_TABLE + 8;
}

static void
unit_driver_raise_pmi(void *arg)
{
	(void)arg;
}

/* The ratio of the CBR after OFFSET; in a trace without CBRs, the profile's. */
static void
unit_driver_set_cbr(struct unit_driver *driver, uint64_t offset)
{
	uint8_t cbr = trace_stats_cbr(driver->config.stats, offset);

	if (cbr != 0)
		pt_unit_set_cbr(driver->unit, cbr);
}

/* The frequency is an input: the unit's CBR is that of the trace. */
static void
unit_driver_event(void *arg, const struct pt_event *event)
{
	struct unit_driver *driver = arg;

	if (event->kind == PT_EVENT_PSB)
		unit_driver_set_cbr(driver, driver->zero + event->offset_bytes);
}

static uint64_t
unit_driver_position(const struct unit_driver *driver)
{
	return pt_unit_position(driver->unit).offset_bytes;
}

static bool
unit_driver_wrmsr(struct unit_driver *driver, uint32_t index, uint64_t value)
{
	struct pt_context at = { .cs_l = true };

	return pt_unit_wrmsr(driver->unit, index, value, &at, 0) == FAULT_NONE;
}

/* Sets the output position so that trace offset OFFSET keeps its place in a line. */
static bool
unit_driver_seek(struct unit_driver *driver, uint64_t offset)
{
	uint64_t position = (offset + driver->config.phase) % 64;

	driver->taken = position;
	driver->offset = offset;
	return unit_driver_wrmsr(
		   driver, MSR_RTIT_OUTPUT_BASE, UNIT_DRIVER_TABLE) &&
	    unit_driver_wrmsr(
		driver, MSR_RTIT_OUTPUT_MASK_PTRS, position << 32);
}

bool
unit_driver_ignores_psbs(const struct unit_driver *driver)
{
	return driver->compare->form == COMPARE_CANONICAL;
}

/* The ranges, and how late a PSB may be. */
static bool
unit_driver_write_setting(struct unit_driver *driver)
{
	bool good = true;

	if (unit_driver_ignores_psbs(driver))
		pt_unit_hold_psb(driver->unit, UINT32_MAX);
	else if (driver->config.roomless)
		pt_unit_hold_psb(driver->unit, UNIT_DRIVER_ROOM_BYTES);
	else
		pt_unit_hold_psb(driver->unit,
		    (driver->ctl & CTL_TIMING) != 0 ? PT_LOOK_BYTES
						    : UNIT_DRIVER_HOLD_BYTES);
	for (uint32_t n = 0; n < TZ_ARRAY_LEN(driver->filter.a); n++) {
		if (CTL_ADDR_CFG(driver->ctl, n) == 0)
			continue;
		good = good &&
		    unit_driver_wrmsr(
			driver, MSR_RTIT_ADDR_A(n), driver->filter.a[n]) &&
		    unit_driver_wrmsr(
			driver, MSR_RTIT_ADDR_B(n), driver->filter.b[n]);
	}
	return good;
}

/* A unit with everything set but CTL. */
static bool
unit_driver_open(struct unit_driver *driver, uint64_t offset)
{
	const struct pt_port port = { .arg = driver,
		.window = unit_driver_window,
		.read64 = unit_driver_read64,
		.raise_pmi = unit_driver_raise_pmi,
		.event = unit_driver_event };

	if (driver->unit != NULL)
		pt_unit_destroy(driver->unit);
	driver->unit = pt_unit_create(&driver->profile, &port);
	if (driver->unit == NULL)
		return false;
	driver->zero = offset;
	unit_driver_set_cbr(driver, offset);
	return unit_driver_write_setting(driver) &&
	    unit_driver_seek(driver, offset);
}

static size_t
unit_driver_setting_at(const struct unit_driver *driver, uint64_t offset)
{
	size_t low = 0, high = driver->config.setting_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (driver->config.settings[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

bool
unit_driver_has_other_setting(const struct unit_driver *driver, uint64_t offset)
{
	return unit_driver_setting_at(driver, offset) != driver->setting;
}

static void
unit_driver_choose(struct unit_driver *driver, size_t setting)
{
	const struct setting *from = &driver->config.settings[setting];

	driver->setting = setting;
	driver->filter = from->filter;
	driver->ctl = from->ctl | CTL_TRACE_EN | from->filter.config << 32;
}

void
unit_driver_set(struct unit_driver *driver, uint64_t offset)
{
	unit_driver_choose(driver, unit_driver_setting_at(driver, offset));
}

int
unit_driver_create(struct unit_driver *driver,
    const struct unit_driver_config *config, struct compare *compare,
    struct tz_error *err)
{
	size_t count = config->setting_count;
	bool good = true;

	TZ_ASSERT(count != 0);
	*driver = (struct unit_driver){ .config = *config,
		.uarch = *config->profile->uarch,
		.profile = *config->profile,
		.compare = compare };
	driver->profile.uarch = &driver->uarch;
	/* A trace with VMCS packets was made in VMX operation. */
	driver->uarch.vmx_pt = true;
	driver->ring = tz_map(UNIT_DRIVER_RING_BYTES);
	if (driver->ring == NULL)
		return tz_error(err, TZ_EIO, "ring: out of memory");
	/* Does the profile accept all settings?  The first one last: it comes first. */
	while (good && count-- != 0) {
		unit_driver_choose(driver, count);
		good = unit_driver_open(driver, 0) &&
		    unit_driver_wrmsr(driver, MSR_RTIT_CTL, driver->ctl);
	}
	if (good)
		return 0;
	unit_driver_destroy(driver);
	return tz_error(err, TZ_EUSAGE,
	    "profile %s: it refuses IA32_RTIT_CTL %#llx or a range",
	    config->profile->name, (unsigned long long)driver->ctl);
}

void
unit_driver_destroy(struct unit_driver *driver)
{
	if (driver->unit != NULL)
		pt_unit_destroy(driver->unit);
	driver->unit = NULL;
	tz_unmap(driver->ring, UNIT_DRIVER_RING_BYTES);
	driver->ring = NULL;
}

bool
unit_driver_resume(struct unit_driver *driver, uint64_t offset,
    const struct pt_resume *resume, const struct unit_driver_state *state)
{
	compare_start(driver->compare, offset);
	if (!unit_driver_open(driver, offset))
		return false;
	if (state->in_vmx)
		pt_unit_vmptrld(driver->unit, state->vmcs);
	/* Without a packet, while TraceEn is 0. */
	pt_unit_tsx(driver->unit, &resume->at, state->in_tsx);
	pt_unit_set_time(driver->unit, &driver->now, driver->cycles);
	TZ_ASSERT(
	    pt_unit_resume(driver->unit, driver->ctl, resume) == FAULT_NONE);
	unit_driver_take(driver);
	return true;
}

void
unit_driver_disable(struct unit_driver *driver, const struct pt_context *at)
{
	(void)pt_unit_wrmsr(
	    driver->unit, MSR_RTIT_CTL, driver->ctl & ~CTL_TRACE_EN, at, 0);
}

uint32_t
unit_driver_count(const struct unit_driver *driver)
{
	uint64_t status = 0;

	(void)pt_unit_rdmsr(driver->unit, MSR_RTIT_STATUS, &status);
	return (uint32_t)(status >> STATUS_COUNT_SHIFT & STATUS_COUNT_MASK);
}

bool
unit_driver_toggle(struct unit_driver *driver, uint64_t offset,
    const struct unit_driver_state *state, const struct pt_context *at)
{
	static const uint8_t pads[64];
	uint64_t count;

	unit_driver_disable(driver, at);
	unit_driver_take(driver);
	/* The offset of the next enable is an input. */
	while (driver->offset < offset) {
		uint64_t left = offset - driver->offset;

		if (left > sizeof(pads))
			left = sizeof(pads);
		compare_feed(driver->compare, pads, left, true);
		driver->offset += left;
		driver->zero += left;
	}
	/* With PacketByteCnt 0 an enable sends PSB+. */
	count = unit_driver_count(driver);
	if (state != NULL && state->in_vmx)
		pt_unit_vmptrld(driver->unit, state->vmcs);
	if (state != NULL || count == 0)
		count = state == NULL;
	unit_driver_set_cbr(driver, offset);
	pt_unit_set_time(driver->unit, &driver->now, driver->cycles);
	if (!unit_driver_write_setting(driver) ||
	    !unit_driver_seek(driver, driver->offset) ||
	    !unit_driver_wrmsr(
		driver, MSR_RTIT_STATUS, count << STATUS_COUNT_SHIFT) ||
	    pt_unit_wrmsr(driver->unit, MSR_RTIT_CTL, driver->ctl, at,
		at->ip) != FAULT_NONE)
		return false;
	unit_driver_take(driver);
	return true;
}

void
unit_driver_take(struct unit_driver *driver)
{
	uint64_t position = unit_driver_position(driver);

	if (position == driver->taken)
		return;
	if (position < driver->taken) {
		compare_feed(driver->compare, driver->ring + driver->taken,
		    UNIT_DRIVER_RING_BYTES - driver->taken, false);
		driver->offset += UNIT_DRIVER_RING_BYTES - driver->taken;
		driver->taken = 0;
	}
	compare_feed(driver->compare, driver->ring + driver->taken,
	    position - driver->taken, true);
	driver->offset += position - driver->taken;
	driver->taken = position;
}

bool
unit_driver_is_filling(const struct unit_driver *driver)
{
	return (unit_driver_position(driver) - driver->taken) %
	    UNIT_DRIVER_RING_BYTES >
	    UNIT_DRIVER_RING_BYTES / 4;
}

bool
unit_driver_range(const struct unit_driver *driver, unsigned cfg, uint64_t *ip)
{
	for (unsigned n = 0; n < TZ_ARRAY_LEN(driver->filter.a); n++)
		if (CTL_ADDR_CFG(driver->ctl, n) == cfg) {
			*ip = driver->filter.a[n];
			return true;
		}
	return false;
}

uint64_t
unit_driver_outside(const struct unit_driver *driver)
{
	uint64_t ip = 0;

	for (unsigned tried = 0; tried < TZ_ARRAY_LEN(driver->filter.a);
	     tried++)
		for (unsigned n = 0; n < TZ_ARRAY_LEN(driver->filter.a); n++) {
			if (CTL_ADDR_CFG(driver->ctl, n) != 0 &&
			    ip >= driver->filter.a[n] &&
			    ip <= driver->filter.b[n])
				ip = driver->filter.b[n] + 1;
		}
	return ip;
}

struct pt_context
unit_driver_context(
    const struct unit_driver *driver, const struct pt_context *at, bool in)
{
	struct pt_context context = *at;

	if (!(driver->ctl & CTL_OS))
		context.cpl = in ? 3 : 0;
	else if (!(driver->ctl & CTL_USER))
		context.cpl = in ? 0 : 3;
	else
		context.enclave = !in;
	if (in)
		context.enclave = false;
	return context;
}
