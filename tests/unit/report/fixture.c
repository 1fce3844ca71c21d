/*
 * Made-up runs.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/deviation.h"

#define REGION_BYTES UINT64_C(4096)
#define BASE_PA      UINT64_C(0x7a0000)
#define CTL_ON       UINT64_C(0x2509)
#define PMI_BIT      TZ_BIT(55)

/* A run that is being written down. */
struct writer {
	struct finding_timeline *timeline;
	size_t event_room, span_room;
	unsigned cpu;
	uint64_t clock[8]; /* cycles of each CPU; one instruction is one */
	struct finding_place place;
	uint64_t output[8]; /* bytes that CPU wrote */
};

static void *
grow(void *array, size_t count, size_t *room, size_t bytes)
{
	if (count < *room)
		return array;
	*room = *room == 0 ? 64 : *room * 2;
	array = realloc(array, *room * bytes);
	TZ_ASSERT(array != NULL);
	return array;
}

static void
at(struct writer *w, const char *function, unsigned offset, int line)
{
	snprintf(w->place.function, sizeof(w->place.function), "%s", function);
	snprintf(w->place.file, sizeof(w->place.file), "driver/ring/ring.c");
	w->place.offset_bytes = offset;
	w->place.line = line;
}

static void
add(struct writer *w, enum event_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	struct finding_timeline *timeline = w->timeline;
	size_t room = w->event_room;

	timeline->event = grow(timeline->event, timeline->event_count,
	    &w->event_room, sizeof(struct event));
	timeline->event_place = grow(timeline->event_place,
	    timeline->event_count, &room, sizeof(struct finding_place));
	timeline->event_place[timeline->event_count] = w->place;
	timeline->event[timeline->event_count++] = (struct event){
		.kind = (uint16_t)kind,
		.cpu = (uint16_t)w->cpu,
		.insns = w->clock[w->cpu],
		.cycles = w->clock[w->cpu],
		.a = a,
		.b = b,
		.c = c,
	};
}

static void
pass(struct writer *w, uint64_t cycles)
{
	w->clock[w->cpu] += cycles;
}

static void
to(struct writer *w, unsigned cpu)
{
	unsigned from = w->cpu;

	w->cpu = cpu;
	add(w, EVENT_SWITCH, from, 0, 0);
}

/* On the writer's CPU, from BEGIN to END of its clock. */
static void
span(struct writer *w, unsigned depth, const char *function, int line,
    uint64_t begin, uint64_t end, unsigned flags)
{
	struct finding_timeline *timeline = w->timeline;
	struct finding_span *next;

	timeline->span = grow(timeline->span, timeline->span_count,
	    &w->span_room, sizeof(*timeline->span));
	next = &timeline->span[timeline->span_count++];
	memset(next, 0, sizeof(*next));
	next->cpu = (uint16_t)w->cpu;
	next->depth = (uint8_t)depth;
	next->in_nmi = (flags & 1) != 0;
	next->in_interrupt = (flags & 2) != 0;
	next->driver = (flags & 4) == 0;
	next->begin_cycles = begin;
	next->end_cycles = end;
	at(w, function, 0, line);
	next->place = w->place;
}

/* BYTES of trace into a circle of REGIONS regions, the last with INT. */
static void
output(struct writer *w, uint64_t bytes, unsigned regions)
{
	while (bytes > 0) {
		uint64_t at_byte = w->output[w->cpu];
		uint64_t entry = at_byte / REGION_BYTES % regions;
		uint64_t room = REGION_BYTES - at_byte % REGION_BYTES;
		uint64_t part = bytes < room ? bytes : room;
		uint64_t pa = BASE_PA + w->cpu * 0x100000 +
		    entry * 2 * REGION_BYTES;

		add(w, EVENT_OUTPUT, pa + at_byte % REGION_BYTES, part,
		    at_byte);
		w->output[w->cpu] += part;
		bytes -= part;
		if (part < room)
			continue;
		add(w, EVENT_REGION_FULL, pa, REGION_BYTES, entry);
		if (entry == regions - 1)
			add(w, EVENT_TOPA_PMI, entry, 0, w->output[w->cpu]);
		entry = (entry + 1) % regions;
		pa = BASE_PA + w->cpu * 0x100000 + entry * 2 * REGION_BYTES;
		add(w, EVENT_TOPA_ENTRY, 0x50000 + entry * 8,
		    pa | (entry == regions - 1 ? 4 : 0), entry);
	}
}

static void
switch_on(struct writer *w, unsigned regions)
{
	uint64_t entry = w->output[w->cpu] / REGION_BYTES % regions;
	uint64_t pa = BASE_PA + w->cpu * 0x100000 + entry * 2 * REGION_BYTES;

	add(w, EVENT_MSR_WRITE, 0x560, 0x50000, 0);
	pass(w, 6);
	add(w, EVENT_MSR_WRITE, 0x561, 0x7f, 0);
	pass(w, 6);
	add(w, EVENT_MSR_WRITE, 0x571, 0, 0);
	pass(w, 9);
	add(w, EVENT_TRACE_ON, CTL_ON, 0, 0);
	add(w, EVENT_TOPA_ENTRY, 0x50000 + entry * 8,
	    pa | (entry == regions - 1 ? 4 : 0), entry);
	add(w, EVENT_MSR_WRITE, 0x570, CTL_ON, 0);
	add(w, EVENT_PSB, 0, 0, w->output[w->cpu]);
}

static void
race_begin(struct writer *w)
{
	w->cpu = 1;
	add(w, EVENT_BUFFER, 1, BASE_PA + 0x100000, 4 * REGION_BYTES);
	add(w, EVENT_CALL_BEGIN, 0, 0, 3);
	at(w, "ring_start", 0x31, 412);
	pass(w, 40);
	switch_on(w, 4);
	pass(w, 60);
	add(w, EVENT_CALL_END, 0, 0, 0);
	memset(&w->place, 0, sizeof(w->place));
	w->output[1] = 2 * REGION_BYTES + 1800;
	for (int i = 0; i < 12; i++) {
		pass(w, 45);
		output(w, 480, 4);
		if (i == 5) {
			add(w, EVENT_DRAIN, 1,
			    BASE_PA + 0x100000 + 4 * REGION_BYTES + 1800, 2000);
			add(w, EVENT_POINT, 2, 0xffffffff80a01c00, 0);
		}
	}
}

/* The PMI's handler of CPU 1 up to where the other CPU runs. */
static void
race_handler(struct writer *w)
{
	pass(w, 20);
	add(w, EVENT_DEVIATION, DEVIATION_PMI, 0, 0xffffffff80a01b80);
	output(w, REGION_BYTES - w->output[1] % REGION_BYTES, 4);
	pass(w, 4);
	add(w, EVENT_NMI, 0, 0x401230, 0);
	pass(w, 24);
	at(w, "ring_pmi", 0x4e, 796);
	add(w, EVENT_MSR_READ, 0x38e, PMI_BIT, 0xffffffff80a01bfe);
	pass(w, 30);
	at(w, "ring_toggle", 0x22, 241);
	add(w, EVENT_XSAVES, 0x51000, CTL_ON, 0xffffffff80a01c22);
	add(w, EVENT_TRACE_OFF, CTL_ON, 0, w->output[1]);
	pass(w, 42);
	add(w, EVENT_DEVIATION, DEVIATION_SWITCH, 0, 0xffffffff80a01c30);
	span(w, 0, "nmi_handler", 120, 704, 930, 1);
	span(w, 1, "ring_pmi", 790, 722, 915, 1);
	span(w, 2, "ring_toggle", 236, 745, 800, 1);
	span(w, 2, "ring_record", 530, 850, 890, 1);
}

static void
race_story(struct writer *w, struct finding_timeline *timeline)
{
	timeline->cpu_count = 2;
	timeline->buffer_bytes = 4 * REGION_BYTES;
	race_begin(w);
	race_handler(w);
	w->clock[0] = 610;
	to(w, 0);
	at(w, "ring_stop_all", 0x10, 610);
	pass(w, 10);
	add(w, EVENT_CALL_BEGIN, 1, 1, 4);
	pass(w, 220);
	add(w, EVENT_IPI, 1, 0xf3, 0);
	pass(w, 90);
	span(w, 0, "ring_stop_all", 604, 612, 925, 0);
	span(w, 1, "device_stop", 88, 660, 780, 4);
	span(w, 1, "smp_rendezvous", 77, 800, 925, 4);
	to(w, 1);
	pass(w, 60);
	at(w, "ring_pmi", 0x97, 812);
	add(w, EVENT_MSR_WRITE, 0x390, PMI_BIT, 0);
	pass(w, 74);
	add(w, EVENT_NMI_DONE, 1, 0, 0);
	add(w, EVENT_IRET, 0, 0x401230, 0);
	pass(w, 30);
	add(w, EVENT_INTERRUPT, 0xf3, 0x401230, 0);
	pass(w, 180);
	span(w, 0, "smp_rendezvous_action", 60, 962, 1320, 2);
	span(w, 1, "ring_stop", 430, 1010, 1320, 2);
	span(w, 2, "ring_toggle", 236, 1060, 1320, 2);
	at(w, "ring_toggle", 0x18, 239);
	add(w, EVENT_MSR_READ, 0x570, CTL_ON & ~UINT64_C(1),
	    0xffffffff80a01c18);
	pass(w, 50);
	add(w, EVENT_PANIC, 0, 0xffffffff80a01c18, 0xffffc000001f0e80);
	timeline->console = strdup("module ring loaded\n"
				   "panic: the unit is on\n"
				   "cpuid = 1 <b>&amp; not markup</b>\n");
}

/* What the same run does when CPU 1 is left alone: a part of it differs. */
static void
race_passing(struct finding_timeline *timeline)
{
	size_t count = timeline->event_count;
	struct event *event = calloc(count + 2, sizeof(*event));
	size_t used = 0;

	TZ_ASSERT(event != NULL);
	for (size_t i = 0; i < count; i++) {
		const struct event *from = &timeline->event[i];

		if (from->kind == EVENT_PANIC ||
		    (from->kind == EVENT_DEVIATION &&
			from->a == DEVIATION_SWITCH))
			continue;
		event[used] = *from;
		if (from->kind == EVENT_MSR_READ && from->a == 0x570)
			event[used].b |= 1;
		used++;
	}
	event[used] = timeline->event[count - 1];
	event[used].kind = EVENT_TRACE_OFF;
	event[used].a = CTL_ON;
	event[used++].c = 16384;
	timeline->passing_event = event;
	timeline->passing_event_count = used;
}

static void
add_ticks(struct finding_timeline *timeline, size_t count, size_t first,
    size_t last, unsigned cpu)
{
	timeline->tick = calloc(count, sizeof(*timeline->tick));
	timeline->tick_count = count;
	TZ_ASSERT(timeline->tick != NULL);
	for (size_t i = 0; i < count; i++) {
		struct finding_tick *tick = &timeline->tick[i];

		tick->cpu = (uint16_t)(i * 7 / count % 2 == 0 ? cpu : 0);
		tick->outcome = i >= first && i <= last ? TICK_FAIL
		    : i % 31 < 9                        ? TICK_MERGED
							: TICK_PASS;
		tick->insns = i;
		tick->rip = 0xffffffff80a01b00 + i;
		snprintf(tick->token, sizeof(tick->token),
		    "tz1:smp-stop-vs-pmi:skylake:0:1@680=pmi,%u@%zu=cpu0:9c41",
		    tick->cpu, i);
	}
}

static void
one_story(struct writer *w, struct finding_timeline *timeline)
{
	uint64_t rounds = 0;

	timeline->cpu_count = 1;
	timeline->buffer_bytes = 8 * REGION_BYTES;
	add(w, EVENT_BUFFER, EVENT_STREAM_THREAD | 5, BASE_PA,
	    8 * REGION_BYTES);
	at(w, "insntrace_start", 0x8c, 77);
	pass(w, 200);
	switch_on(w, 8);
	span(w, 0, "insntrace_start", 60, 120, 320, 0);
	for (int i = 0; i < 60; i++) {
		memset(&w->place, 0, sizeof(w->place));
		pass(w, 150);
		output(w, 1024 + (uint64_t)i % 5 * 100, 8);
		if (i % 8 == 7)
			add(w, EVENT_DRAIN, EVENT_STREAM_THREAD | 5,
			    BASE_PA + (uint64_t)(i / 8) * 2 * REGION_BYTES,
			    2048);
		if (w->output[0] / (8 * REGION_BYTES) > rounds) {
			rounds++;
			pass(w, 40);
			add(w, EVENT_NMI, 0, 0x401230, 0);
			span(w, 0, "insntrace_pmi", 210, w->clock[0] + 10,
			    w->clock[0] + 190, 1);
			pass(w, 100);
			at(w, "insntrace_pmi", 0x40, 222);
			add(w, EVENT_MSR_READ, 0x571, 6, 0xffffffff80b00040);
			add(w, EVENT_MSR_WRITE, 0x390, PMI_BIT, 0);
			pass(w, 100);
			add(w, EVENT_IRET, 0, 0x401230, 0);
		}
	}
	pass(w, 300);
	add(w, EVENT_STOPPED, 0, 0, w->output[0]);
	pass(w, 200);
	add(w, EVENT_PT_ERROR, 0, 0, w->output[0]);
	add(w, EVENT_LOST, EVENT_STREAM_THREAD | 5, 0, 4096);
}

static void
eight_story(struct writer *w, struct finding_timeline *timeline)
{
	timeline->cpu_count = 8;
	timeline->buffer_bytes = 2 * REGION_BYTES;
	for (unsigned round = 0; round < 6; round++) {
		for (unsigned cpu = 0; cpu < 8; cpu++) {
			uint64_t begin;

			if (cpu == 5)
				continue; /* nothing at all happens there */
			to(w, cpu);
			begin = w->clock[cpu];
			at(w, "ring_configure", 0x20, 300);
			pass(w, 30);
			if (round == 0)
				switch_on(w, 2);
			for (int i = 0; i < 5; i++) {
				pass(w, 70);
				output(w, 400 + cpu * 40, 2);
			}
			span(w, 0, cpu % 2 == 0 ? "ring_configure" : "syscall",
			    300, begin + 10, w->clock[cpu],
			    cpu % 2 == 0 ? 0 : 4);
			add(w, EVENT_IPI, (cpu + 1) % 8, 0xf3, 0);
			if (round == 3 && cpu == 2)
				add(w, EVENT_DEVIATION, DEVIATION_LATE, 400,
				    0x401000);
		}
	}
	add(w, EVENT_PT_ERROR, 0, 0, 8192);
}

static void
large_story(struct writer *w, struct finding_timeline *timeline)
{
	timeline->cpu_count = 2;
	timeline->buffer_bytes = 16 * REGION_BYTES;
	switch_on(w, 16);
	w->cpu = 1;
	switch_on(w, 16);
	while (timeline->event_count < FIXTURE_LARGE_EVENTS - 20) {
		size_t i = timeline->event_count;
		uint64_t begin;

		if (i % 97 < 4)
			to(w, 1 - w->cpu);
		begin = w->clock[w->cpu];
		at(w, "ring_record", (unsigned)(i % 200), 530);
		pass(w, 20 + i % 13);
		output(w, 200 + i % 31, 16);
		add(w, EVENT_MSR_READ, 0x561, i << 32 | 0x7f,
		    0xffffffff80a01c18);
		if (i % 50 < 3)
			add(w, EVENT_DRAIN, w->cpu,
			    BASE_PA + w->cpu * 0x100000 +
				(i / 40 % 16) * 2 * REGION_BYTES,
			    1024);
		span(w, (unsigned)(i % 4), "ring_record", 530, begin,
		    w->clock[w->cpu], i % 9 == 0 ? 1 : 0);
	}
	while (timeline->event_count < FIXTURE_LARGE_EVENTS) {
		pass(w, 10);
		add(w, EVENT_NOTE, 1, ~UINT64_C(0), 0);
	}
}

void
fixture_story(enum fixture_kind kind, struct finding_timeline *timeline)
{
	struct writer w = { .timeline = timeline };

	memset(timeline, 0, sizeof(*timeline));
	switch (kind) {
	case FIXTURE_RACE:
		race_story(&w, timeline);
		race_passing(timeline);
		add_ticks(timeline, 1180, 760, 773, 1);
		break;
	case FIXTURE_ONE:
		one_story(&w, timeline);
		add_ticks(timeline, 60, 20, 20, 0);
		break;
	case FIXTURE_EIGHT:
		eight_story(&w, timeline);
		break;
	case FIXTURE_LARGE:
		large_story(&w, timeline);
		add_ticks(timeline, 9000, 4000, 4004, 1);
		break;
	case FIXTURE_EMPTY:
	case FIXTURE_COUNT:
	default:
		timeline->console = strdup(fixture_hostile);
		break;
	}
}
