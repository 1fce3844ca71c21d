#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/unit/pt/event_text.h"
#include "tests/unit/pt/packet_text.h"

#define FAKE_EVENTS_BYTES (FAKE_EVENTS_MAX * sizeof(struct pt_event))

/* Untouched pages cost nothing, whatever malloc is told to do to its own. */
static void *
fake_map(size_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	return map;
}

static uint8_t *
fake_window(void *arg, struct gpa pa, uint64_t bytes)
{
	struct fake *fake = arg;

	if (pa.u >= FAKE_RAM_BYTES || bytes > FAKE_RAM_BYTES - pa.u)
		return NULL;
	return fake->ram + pa.u;
}

static bool
fake_read64(void *arg, struct gpa pa, uint64_t *value)
{
	struct fake *fake = arg;

	if (pa.u > FAKE_RAM_BYTES - 8)
		return false;
	*value = fake_peek(fake, pa.u);
	return true;
}

static void
fake_raise_pmi(void *arg)
{
	struct fake *fake = arg;

	fake->pmi_count++;
}

static void
fake_note(void *arg, const struct pt_event *event)
{
	struct fake *fake = arg;

	assert_true(fake->event_count < FAKE_EVENTS_MAX);
	fake->events[fake->event_count++] = *event;
	if (event->kind != PT_EVENT_OUTPUT)
		return;
	assert_true(event->pa.u + event->bytes <= FAKE_RAM_BYTES);
	assert_true(fake->stream_bytes + event->bytes <= FAKE_RAM_BYTES);
	memcpy(fake->stream + fake->stream_bytes, fake->ram + event->pa.u,
	    event->bytes);
	fake->stream_bytes += event->bytes;
}

static bool
fake_restricted(void *arg, struct gpa pa, uint64_t bytes)
{
	struct fake *fake = arg;

	return pa.u < fake->restricted_pa + fake->restricted_bytes &&
	    fake->restricted_pa < pa.u + bytes;
}

struct fake *
fake_create(void)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct pt_port port = {
		.window = fake_window,
		.read64 = fake_read64,
		.raise_pmi = fake_raise_pmi,
		.event = fake_note,
		.restricted = fake_restricted,
	};

	assert_non_null(fake);
	port.arg = fake;
	fake->ram = fake_map(FAKE_RAM_BYTES);
	fake->stream = fake_map(FAKE_RAM_BYTES);
	fake->events = fake_map(FAKE_EVENTS_BYTES);
	fake->profile = *profile_find("skylake");
	fake->uarch = *fake->profile.uarch;
	fake->profile.uarch = &fake->uarch;
	fake->at = (struct pt_context){
		.ip = FAKE_CLIP, .cr3 = 0x12345000, .cpl = 0, .cs_l = true
	};
	fake->unit = pt_unit_create(&fake->profile, &port);
	assert_non_null(fake->unit);
	return fake;
}

void
fake_destroy(struct fake *fake)
{
	pt_unit_destroy(fake->unit);
	munmap(fake->ram, FAKE_RAM_BYTES);
	munmap(fake->stream, FAKE_RAM_BYTES);
	munmap(fake->events, FAKE_EVENTS_BYTES);
	free(fake);
}

void
fake_poke(struct fake *fake, uint64_t pa, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		fake->ram[pa + i] = (uint8_t)(value >> (8 * i));
}

uint64_t
fake_peek(const struct fake *fake, uint64_t pa)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)fake->ram[pa + i] << (8 * i);
	return value;
}

void
fake_wrmsr(struct fake *fake, uint32_t index, uint64_t value)
{
	assert_int_equal(
	    pt_unit_wrmsr(fake->unit, index, value, &fake->at, FAKE_NLIP),
	    FAULT_NONE);
}

uint64_t
fake_rdmsr(const struct fake *fake, uint32_t index)
{
	uint64_t value = 0;

	assert_int_equal(pt_unit_rdmsr(fake->unit, index, &value), FAULT_NONE);
	return value;
}

void
fake_start(struct fake *fake, uint64_t ctl)
{
	fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_SIZE(12));
	fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
	fake_wrmsr(fake, 0x561, 0);
	fake_wrmsr(fake, 0x570, ctl | CTL_TRACE_EN);
}

void
fake_stop(struct fake *fake)
{
	fake->at.ip = FAKE_CLIP;
	fake_wrmsr(fake, 0x570, fake_rdmsr(fake, 0x570) & ~CTL_TRACE_EN);
}

void
fake_forget(struct fake *fake)
{
	pt_unit_sync_output(fake->unit);
	fake->stream_bytes = 0;
	fake->event_count = 0;
	fake->pmi_count = 0;
}

void
fake_expect(struct fake *fake, const char *hex)
{
	char *got;

	pt_unit_sync_output(fake->unit);
	got = calloc(3, fake->stream_bytes + 1);
	assert_non_null(got);
	for (size_t i = 0; i < fake->stream_bytes; i++)
		snprintf(got + 3 * i, 4,
		    i + 1 < fake->stream_bytes ? "%02X " : "%02X",
		    fake->stream[i]);
	assert_string_equal(got, hex);
	free(got);
	fake_forget(fake);
}

void
fake_expect_packets(struct fake *fake, const char *text)
{
	char *got;

	pt_unit_sync_output(fake->unit);
	got = packet_text_read(fake->stream, fake->stream_bytes);
	assert_string_equal(got, text);
	free(got);
	fake_forget(fake);
}

void
fake_expect_events(struct fake *fake, bool errata, const char *text)
{
	char *got;

	pt_unit_sync_output(fake->unit);
	got = event_text_read(fake->stream, fake->stream_bytes,
	    errata ? fake->profile.signature : 0);
	assert_string_equal(got, text);
	free(got);
}

size_t
fake_count(const struct fake *fake, enum pt_event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < fake->event_count; i++)
		count += fake->events[i].kind == kind;
	return count;
}

const struct pt_event *
fake_event(const struct fake *fake, enum pt_event_kind kind, size_t index)
{
	for (size_t i = 0; i < fake->event_count; i++) {
		if (fake->events[i].kind == kind && index-- == 0)
			return &fake->events[i];
	}
	fail_msg("no such event");
	return NULL;
}

void
fake_transfer(struct fake *fake, enum pt_transfer_kind kind, uint64_t target)
{
	struct pt_transfer transfer = { .kind = kind };

	fake->at.ip = target;
	transfer.after = fake->at;
	pt_unit_transfer(fake->unit, &transfer);
}

void
fake_cond(struct fake *fake, bool taken, uint64_t target)
{
	struct pt_transfer transfer = { .kind = PT_TRANSFER_COND,
		.taken = taken };

	fake->at.ip = target;
	transfer.after = fake->at;
	pt_unit_transfer(fake->unit, &transfer);
}

uint64_t
fake_tsc(const struct fake *fake, uint64_t cycles)
{
	return fake->core_cbr == 0
	    ? cycles
	    : cycles * fake->profile.cbr / fake->core_cbr;
}

/* The first cycle in which the TSC reads TSC. */
static uint64_t
fake_cycle(const struct fake *fake, uint64_t tsc)
{
	uint32_t cbr = fake->profile.cbr;

	return fake->core_cbr == 0 ? tsc
				   : (tsc * fake->core_cbr + cbr - 1) / cbr;
}

static void
fake_tell(struct fake *fake, uint64_t cycles)
{
	uint64_t ratio = fake->profile.tsc_num / fake->profile.tsc_den;
	uint64_t tsc = fake_tsc(fake, cycles);
	struct pt_time now = { .cycles = cycles,
		.tsc = tsc,
		.art = tsc / ratio,
		.fc = (uint32_t)(tsc % ratio) };

	pt_unit_time(fake->unit, &now);
}

/* The next cycle at which the unit is to be told the time. */
static uint64_t
fake_due(const struct fake *fake)
{
	uint64_t ratio = fake->profile.tsc_num / fake->profile.tsc_den;
	uint64_t mtc = pt_unit_mtc_due(fake->unit);
	uint64_t due = pt_unit_due(fake->unit);

	if (mtc == UINT64_MAX)
		return due;
	mtc = fake_cycle(fake, mtc * ratio);
	return mtc < due ? mtc : due;
}

void
fake_time(struct fake *fake, uint64_t cycles)
{
	uint64_t due;

	while ((due = fake_due(fake)) <= cycles)
		fake_tell(fake, due);
	fake_tell(fake, cycles);
}

uint64_t
fake_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}
