#include "harness/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/guest_abi.h"
#include "emu/profile/cpu_set.h"
#include "harness/load/elf/image.h"
#include "traces/bundle/bundle_write.h"

#define BTS_WORDS  3
#define PEBS_WORDS 18 /* format 0 */
#define PEBS_RIP   1

/* Output in memory that no later output of the same interval has overwritten. */
struct span {
	uint64_t pa, bytes, offset;
};

struct record_cpu {
	struct span *spans; /* [first, end) are in use, in order of offset */
	size_t first, end, room;
	uint64_t wraps, pt_errors;
	bool on; /* TraceEn */
	/* A record of the Debug Store, as far as its page has it. */
	uint64_t part[PEBS_WORDS];
	size_t part_bytes;
};

struct record {
	struct bundle_writer *writer;
	const uint8_t *ram;
	uint64_t ram_bytes;
	uint64_t buffer_bytes;
	bool verbose;
	int error; /* the first one */
	struct record_cpu cpu[MACHINE_CPUS_MAX];
	size_t console_bytes;
	char *console;
};

static void
record_fail(struct record *record, int error)
{
	if (record->error == 0)
		record->error = error;
}

/* Makes room for one more span: moves the used spans down, or grows the array. */
static bool
span_room(struct record_cpu *cpu)
{
	size_t used = cpu->end - cpu->first;
	size_t room = cpu->room == 0 ? 64 : 2 * cpu->room;
	struct span *spans;
	size_t i;

	if (cpu->end < cpu->room)
		return true;
	if (used <= cpu->room / 2 && cpu->room != 0) {
		for (i = 0; i < used; i++)
			cpu->spans[i] = cpu->spans[cpu->first + i];
	} else {
		spans = calloc(room, sizeof(*spans));
		if (spans == NULL)
			return false;
		for (i = 0; i < used; i++)
			spans[i] = cpu->spans[cpu->first + i];
		free(cpu->spans);
		cpu->spans = spans;
		cpu->room = room;
	}
	cpu->first = 0;
	cpu->end = used;
	return true;
}

/* Removes the overwritten bytes.  A wrap overwrites the oldest ones, which come first. */
static void
span_overwrite(struct record_cpu *cpu, uint64_t pa, uint64_t bytes)
{
	while (cpu->first < cpu->end) {
		struct span *old = &cpu->spans[cpu->first];
		uint64_t cut;

		if (old->pa >= pa + bytes || pa >= old->pa + old->bytes)
			return;
		cut = pa + bytes - old->pa;
		if (cut < old->bytes) {
			old->pa += cut;
			old->offset += cut;
			old->bytes -= cut;
			return;
		}
		cpu->first++;
	}
}

static void
note_output(struct record *record, const struct event *event)
{
	struct record_cpu *cpu = &record->cpu[event->cpu];
	struct span *last;

	if (event->a > record->ram_bytes ||
	    event->b > record->ram_bytes - event->a)
		return;
	span_overwrite(cpu, event->a, event->b);
	if (cpu->end > cpu->first) {
		last = &cpu->spans[cpu->end - 1];
		if (last->pa + last->bytes == event->a &&
		    last->offset + last->bytes == event->c) {
			last->bytes += event->b;
			return;
		}
	}
	if (!span_room(cpu)) {
		record_fail(record, -TZ_EIO);
		return;
	}
	cpu->spans[cpu->end++] = (struct span){ event->a, event->b, event->c };
}

static void
keep_frames(struct record *record, unsigned index)
{
	struct record_cpu *cpu = &record->cpu[index];

	for (; cpu->first < cpu->end; cpu->first++) {
		const struct span *span = &cpu->spans[cpu->first];
		const struct trace_off_header header = { .offset = span->offset,
			.pa = span->pa,
			.bytes = span->bytes };

		record_fail(record,
		    bundle_add_trace_off(record->writer, index, &header,
			record->ram + span->pa));
	}
	cpu->on = false;
}

static void
note_drain(struct record *record, const struct event *event)
{
	if (event->b > record->ram_bytes ||
	    event->c > record->ram_bytes - event->b)
		return;
	record_fail(record,
	    bundle_add_stream(
		record->writer, event->a, record->ram + event->b, event->c));
}

static void
note_record(struct record *record, const struct event *reading, bool pebs)
{
	const uint64_t *part = record->cpu[reading->cpu].part;
	struct event read = *reading;

	read.kind = EVENT_RECORD_READ;
	read.a = pebs ? part[PEBS_RIP] : part[0];
	read.b = pebs ? 0 : part[1];
	read.c = pebs ? 0 : part[2];
	record_fail(record, bundle_add_event(record->writer, &read));
}

/* Adds an event for each record of the Debug Store that user space has read. */
static void
note_records(struct record *record, const struct event *event)
{
	struct record_cpu *cpu = &record->cpu[event->cpu];
	bool pebs = (event->a & ABI_RECORDS_PEBS) != 0;
	size_t size = (pebs ? PEBS_WORDS : BTS_WORDS) * sizeof(cpu->part[0]);
	uint64_t done = 0;

	if (event->b > record->ram_bytes ||
	    event->c > record->ram_bytes - event->b)
		return;
	while (done < event->c) {
		size_t part = size - cpu->part_bytes;

		if (part > event->c - done)
			part = (size_t)(event->c - done);
		memcpy((uint8_t *)cpu->part + cpu->part_bytes,
		    record->ram + event->b + done, part);
		done += part;
		cpu->part_bytes += part;
		if (cpu->part_bytes != size)
			return;
		cpu->part_bytes = 0;
		note_record(record, event, pebs);
	}
}

static void
note_log(struct record *record, const struct event *event)
{
	if (event->b > record->ram_bytes ||
	    event->c > record->ram_bytes - event->b)
		return;
	record_fail(record,
	    bundle_add_log(
		record->writer, event->a, record->ram + event->b, event->c));
}

static void
record_event(void *arg, const struct event *event)
{
	struct record *record = arg;
	struct record_cpu *cpu = &record->cpu[event->cpu];

	record_fail(record, bundle_add_event(record->writer, event));
	if (event->kind == EVENT_TRACE_ON) {
		cpu->first = cpu->end = 0;
		cpu->on = true;
	} else if (event->kind == EVENT_OUTPUT) {
		note_output(record, event);
	} else if (event->kind == EVENT_TRACE_OFF) {
		keep_frames(record, event->cpu);
	} else if (event->kind == EVENT_REGION_FULL) {
		cpu->wraps += (event->c + 1) * event->b == record->buffer_bytes;
	} else if (event->kind == EVENT_PT_ERROR) {
		cpu->pt_errors++;
	} else if (event->kind == EVENT_DRAIN) {
		note_drain(record, event);
	} else if (event->kind == EVENT_RECORDS_READ) {
		note_records(record, event);
	} else if (event->kind == EVENT_LOG_READ) {
		note_log(record, event);
	}
}

static void
record_char(void *arg, char c)
{
	struct record *record = arg;

	if (record->console_bytes < RECORD_CONSOLE_BYTES)
		record->console[record->console_bytes++] = c;
	if (record->verbose)
		fputc(c, stderr);
}

int
record_code(
    struct bundle_writer *writer, const struct image *image, const uint8_t *ram)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < image->segment_count; i++) {
		const struct image_segment *segment = &image->segment[i];

		if ((segment->flags & ABI_SEG_EXEC) && segment->bytes != 0)
			error = bundle_add_image(writer, image->name,
			    segment->va, ram + segment->pa.u, segment->bytes);
	}
	return error;
}

struct record *
record_create(struct bundle_writer *writer, uint64_t buffer_bytes, bool verbose)
{
	struct record *record = calloc(1, sizeof(*record));

	if (record == NULL)
		return NULL;
	record->writer = writer;
	record->buffer_bytes = buffer_bytes;
	record->verbose = verbose;
	record->console = calloc(1, RECORD_CONSOLE_BYTES);
	if (record->console == NULL) {
		free(record);
		return NULL;
	}
	return record;
}

void
record_destroy(struct record *record)
{
	unsigned i;

	if (record == NULL)
		return;
	for (i = 0; i < MACHINE_CPUS_MAX; i++)
		free(record->cpu[i].spans);
	free(record->console);
	free(record);
}

struct machine_observer
record_observer(struct record *record)
{
	return (struct machine_observer){
		.arg = record, .event = record_event, .console = record_char
	};
}

void
record_set_ram(struct record *record, const uint8_t *ram, uint64_t bytes)
{
	record->ram = ram;
	record->ram_bytes = bytes;
}

int
record_end(struct record *record)
{
	unsigned i;

	for (i = 0; i < MACHINE_CPUS_MAX; i++)
		if (record->cpu[i].on)
			keep_frames(record, i);
	return record->error;
}

void
record_models(struct bundle_info *info, const struct cpu_set *cpu_set)
{
	info->cost = cpu_set_has_cost(cpu_set);
	for (unsigned i = 0; i < BUNDLE_CPUS_MAX; i++) {
		const struct profile *profile = cpu_set_of(cpu_set, i);
		struct bundle_model *model = &info->model[i];

		snprintf(model->profile, sizeof(model->profile), "%s",
		    profile->name);
		model->signature = profile->signature;
		model->errata = profile->errata_on;
	}
}

uint64_t
record_wraps(const struct record *record, unsigned cpu)
{
	return record->cpu[cpu].wraps;
}

uint64_t
record_pt_errors(const struct record *record, unsigned cpu)
{
	return record->cpu[cpu].pt_errors;
}

const char *
record_console(const struct record *record, size_t *bytes)
{
	*bytes = record->console_bytes;
	return record->console;
}
