#include "harness/explore/linux/linux_perf.h"

#include <string.h>

#define ROW(id) CHECK_BIT(CHECK_##id)

/* include/uapi/linux/perf_event.h */
#define AUX_FLAG_TRUNCATED 1

#define STREAM(buffer)     (EVENT_STREAM_THREAD | ((buffer) + UINT64_C(1)))
#define NO_ACTOR           UINT64_MAX

/* Of the driver's struct pt_buffer, no less than all of it. */
#define DRIVER_BUFFER_BYTES 192

enum meaning {
	SETUP_AUX,    /* (event, pages, count, overwrite) */
	FREE_AUX,     /* (buffer) */
	OUTPUT_BEGIN, /* (handle, event) */
	OUTPUT_END,   /* (handle, bytes) */
	AUX_RECORD,   /* (event, position, bytes, flags): for perf's reader */
	UNKNOWN_NMI, /* no handler has claimed it; so also the next two, which then
			read the reason from port 61H */
	SERR_NMI,
	IO_CHECK_NMI,
	MEANINGS
};

static const struct {
	const char *name;
	/* No argument counts: what the compiler split off it means the same. */
	bool parts;
} names[MEANINGS] = {
	[SETUP_AUX] = { "pt_buffer_setup_aux", false },
	[FREE_AUX] = { "pt_buffer_free_aux", false },
	[OUTPUT_BEGIN] = { "perf_aux_output_begin", false },
	[OUTPUT_END] = { "perf_aux_output_end", false },
	[AUX_RECORD] = { "perf_event_aux_event", false },
	[UNKNOWN_NMI] = { "unknown_nmi_error", true },
	[SERR_NMI] = { "pci_serr_error", true },
	[IO_CHECK_NMI] = { "io_check_error", true },
};

check_rows
linux_perf_rows(void)
{
	return ROW(OUTPUT_OWNED) | ROW(OUTPUT_FREED) | ROW(FREED_IN_USE) |
	    ROW(TOPA_ORDER) | ROW(STOP_INT) | ROW(TOPA_ERROR) |
	    ROW(ERROR_SILENT) | ROW(STOPPED_SILENT) | ROW(REPORTED_UNWRITTEN) |
	    ROW(REPORTED_TWICE) | ROW(REPORTED_ORDER) | ROW(OVERWRITTEN) |
	    ROW(UNREPORTED_TAIL) | ROW(PMI_LOST) | ROW(NMI_UNCLAIMED) |
	    ROW(NMI_STOLEN) | ROW(FIRST_PSB) | ROW(TRACE_LEFT_ON) |
	    ROW(TRACE_LEFT_OFF) | ROW(EMPTY_TRACE) | ROW(LEAK) |
	    ROW(EXIT_CODE) | ROW(PAGE_FAULT) | ROW(GP_FAULT) |
	    ROW(INVALID_OPCODE) | ROW(EXCEPTION) | ROW(DOUBLE_FAULT) |
	    ROW(USE_AFTER_FREE) | ROW(BAD_FREE) | ROW(LOCK_ORDER) | ROW(SLEEP) |
	    ROW(LOCK) | ROW(PANIC) | ROW(TRIPLE_FAULT) | ROW(DEADLOCK) |
	    ROW(PROGRESS) | ROW(UNMODELLED) | ROW(LIMIT) | ROW(ENGINE);
}

/* The INDEX-th function whose calls mean MEANING; 0: there are not so many. */
static uint64_t
function_of(const struct linux_code *code, enum meaning meaning, unsigned index)
{
	const char *name = names[meaning].name;

	if (names[meaning].parts)
		return linux_code_made_of(code, name, index).begin;
	return index == 0 ? linux_code_function(code, name).begin : 0;
}

/* Calls of VA mean MEANING; the functions stay in ascending order. */
static void
add_function(struct linux_perf_code *perf, enum meaning meaning, uint64_t va)
{
	size_t at = perf->audit.function_count++;

	for (; at > 0 && perf->function[at - 1] > va; at--) {
		perf->function[at] = perf->function[at - 1];
		perf->meaning[at] = perf->meaning[at - 1];
	}
	perf->function[at] = va;
	perf->meaning[at] = (uint8_t)meaning;
}

int
linux_perf_find(const struct linux_code *code, struct linux_perf_code *perf,
    struct tz_error *err)
{
	struct linux_range pt = linux_code_part(code, LINUX_PT);
	struct linux_range aux = linux_code_part(code, LINUX_AUX);
	struct linux_range nmi = linux_code_function(code, "default_do_nmi");
	struct linux_range exc = linux_code_function(code, "exc_nmi");

	*perf = (struct linux_perf_code){ .audit = { .begin = pt.begin,
					      .end = pt.end } };
	for (unsigned i = 0; i < MEANINGS; i++) {
		uint64_t va = function_of(code, (enum meaning)i, 0);

		if (va == 0)
			return tz_error(err, TZ_EFORMAT,
			    "the kernel has no function %s", names[i].name);
		for (unsigned n = 1; va != 0 &&
		     perf->audit.function_count < LINUX_PERF_FUNCTIONS;
		     n++) {
			add_function(perf, (enum meaning)i, va);
			va = function_of(code, (enum meaning)i, n);
		}
		if (va != 0)
			return tz_error(err, TZ_EFORMAT,
			    "the kernel has %s in more than %d parts",
			    names[i].name, LINUX_PERF_FUNCTIONS - MEANINGS);
	}
	perf->audit.function = perf->function;
	perf->audit.also[0] = (struct audit_range){ aux.begin, aux.end };
	perf->audit.also[1] = (struct audit_range){ nmi.begin, nmi.end };
	perf->audit.also[2] = (struct audit_range){ exc.begin, exc.end };
	return 0;
}

static enum meaning
meaning_of(const struct linux_perf_code *code, uint64_t function)
{
	unsigned i = 0;

	while (i < code->audit.function_count && code->function[i] != function)
		i++;
	return i < code->audit.function_count ? (enum meaning)code->meaning[i]
					      : MEANINGS;
}

bool
linux_perf_is_setup(
    const struct linux_perf_code *code, const struct audit_call *call)
{
	return meaning_of(code, call->function) == SETUP_AUX;
}

bool
linux_perf_is_begin(
    const struct linux_perf_code *code, const struct audit_call *call)
{
	return meaning_of(code, call->function) == OUTPUT_BEGIN;
}

/* Gives CHECK an event that the guest's own host channel would have made. */
static void
tell(const struct linux_perf *perf, struct check *check, unsigned cpu,
    uint64_t insns, const struct event *what)
{
	struct event event = *what;

	event.cpu = (uint16_t)cpu;
	event.insns = insns;
	event.cycles = perf->cycles;
	check_event(check, &event);
}

/* The kernel's array of COUNT pages at PAGES becomes a buffer. */
static void
set_up(struct linux_perf *perf, struct machine *machine, struct check *check,
    const struct audit_call *call)
{
	struct linux_perf_buffer *buffer = &perf->buffer[perf->buffers];
	uint64_t pages = call->arg[1], count = call->arg[2] & UINT32_MAX;
	uint64_t stream = STREAM(perf->buffers);

	if (perf->buffers == LINUX_PERF_BUFFERS || count > LINUX_PERF_PAGES) {
		perf->full = true;
		return;
	}
	*buffer = (struct linux_perf_buffer){ .pages_va = pages,
		.pages = (uint32_t)count,
		.live = true,
		.overwrite = (call->arg[3] & 1) != 0 };
	perf->full |= !machine_read(machine, call->cpu, (struct gva){ pages },
	    buffer->va, (size_t)count * sizeof(buffer->va[0]));
	perf->buffers++;
	for (uint32_t i = 0; i < count; i++) {
		perf->full |= !machine_translate(machine, call->cpu,
		    (struct gva){ buffer->va[i] }, &buffer->pa[i]);
		tell(perf, check, call->cpu, call->insns,
		    &(struct event){ .kind = EVENT_ALLOC,
			.a = buffer->va[i],
			.b = TZ_PAGE_BYTES,
			.c = call->rip });
	}
	for (uint32_t i = 0; i < count; i++)
		tell(perf, check, call->cpu, call->insns,
		    &(struct event){ .kind = EVENT_BUFFER,
			.a = stream,
			.b = buffer->pa[i] });
}

/*
 * The buffer of the driver's struct at VA, or NULL.  The struct keeps the array of pages
 * that pt_buffer_setup_aux() was given; where, depends on the kernel.
 */
static struct linux_perf_buffer *
buffer_of(
    struct linux_perf *perf, struct machine *machine, unsigned cpu, uint64_t va)
{
	for (unsigned at = 0; at < DRIVER_BUFFER_BYTES; at += 8) {
		uint64_t word;

		if (!machine_read(machine, cpu, (struct gva){ va + at }, &word,
			sizeof(word)))
			return NULL;
		for (unsigned i = 0; i < perf->buffers; i++)
			if (perf->buffer[i].live &&
			    perf->buffer[i].pages_va == word)
				return &perf->buffer[i];
	}
	return NULL;
}

static void
free_buffer(struct linux_perf *perf, struct machine *machine,
    struct check *check, const struct audit_call *call)
{
	struct linux_perf_buffer *buffer = buffer_of(
	    perf, machine, call->cpu, call->arg[0]);

	if (buffer == NULL)
		return;
	/* perf gets nothing more of it; in overwrite mode it was to get nothing. */
	if (!buffer->overwrite)
		check_collected(
		    check, STREAM((uint64_t)(buffer - perf->buffer)));
	for (uint32_t i = 0; i < buffer->pages; i++)
		tell(perf, check, call->cpu, call->insns,
		    &(struct event){ .kind = EVENT_FREE,
			.a = buffer->va[i],
			.c = call->rip });
	buffer->live = false;
}

/* perf is given the next BYTES of a buffer. */
static void
give(struct linux_perf *perf, struct check *check,
    const struct audit_call *call, uint64_t bytes)
{
	unsigned index = perf->cpu[call->cpu].buffer;
	struct linux_perf_buffer *buffer = &perf->buffer[index];
	uint64_t size = buffer->pages * (uint64_t)TZ_PAGE_BYTES;

	if (index >= perf->buffers || buffer->overwrite || !buffer->live)
		return;
	/* More than a buffer: the rest would be told a second time. */
	if (bytes > 2 * size)
		bytes = 2 * size;
	while (bytes > 0) {
		uint64_t at = buffer->position % size;
		uint64_t part = TZ_PAGE_BYTES - at % TZ_PAGE_BYTES;

		if (part > bytes)
			part = bytes;
		tell(perf, check, call->cpu, call->insns,
		    &(struct event){ .kind = EVENT_DRAIN,
			.a = STREAM(index),
			.b = buffer->pa[at / TZ_PAGE_BYTES] +
			    at % TZ_PAGE_BYTES,
			.c = part });
		buffer->position += part;
		bytes -= part;
	}
}

/* Where the handle is: on the way to ring 3 its page may not be mapped. */
static void
note_begin(struct linux_perf *perf, struct machine *machine,
    const struct audit_call *call)
{
	uint64_t *pa = &perf->cpu[call->cpu].handle_pa;

	perf->begun = true;
	perf->cpu[call->cpu].began = true;
	if (!machine_translate(
		machine, call->cpu, (struct gva){ call->arg[0] }, pa))
		*pa = 0;
}

/*
 * True if CPU has a buffer open.  perf_aux_output_begin() has set the handle's first
 * member, .event, if it succeeded, and perf_aux_output_end() clears it (perf_get_aux()
 * relies on that).
 */
static bool
is_open(const struct linux_perf *perf, struct machine *machine, unsigned cpu)
{
	struct check_reads reads = check_reads_machine(machine);
	uint64_t event = 0;

	return perf->cpu[cpu].handle_pa != 0 &&
	    reads.word(reads.arg, perf->cpu[cpu].handle_pa, &event) &&
	    event != 0;
}

static void
note_nmi(struct linux_perf *perf, struct machine *machine, unsigned cpu)
{
	struct machine_pt pt;

	machine_pt(machine, cpu, &pt);
	perf->cpu[cpu].in_nmi = true;
	perf->cpu[cpu].pmi = (pt.global_status & TZ_BIT(55)) != 0 &&
	    is_open(perf, machine, cpu);
	perf->cpu[cpu].began = false;
	perf->cpu[cpu].ended = false;
	perf->cpu[cpu].unclaimed = false;
	perf->cpu[cpu].depth = 0;
}

void
linux_perf_call(struct linux_perf *perf, const struct linux_perf_code *code,
    struct machine *machine, struct check *check, const struct audit_call *call)
{
	switch (meaning_of(code, call->function)) {
	case SETUP_AUX:
		set_up(perf, machine, check, call);
		return;
	case FREE_AUX:
		free_buffer(perf, machine, check, call);
		return;
	case OUTPUT_END:
		perf->cpu[call->cpu].ended |= perf->cpu[call->cpu].in_nmi;
		return;
	case AUX_RECORD:
		if ((call->arg[3] & AUX_FLAG_TRUNCATED) != 0)
			tell(perf, check, call->cpu, call->insns,
			    &(struct event){ .kind = EVENT_LOST,
				.a = STREAM(perf->cpu[call->cpu].buffer) });
		give(perf, check, call, call->arg[2]);
		return;
	case UNKNOWN_NMI:
	case SERR_NMI:
	case IO_CHECK_NMI:
		perf->cpu[call->cpu].unclaimed = true;
		return;
	case OUTPUT_BEGIN:
		note_begin(perf, machine, call);
		return;
	case MEANINGS:
		return;
	}
}

static void
note_output(struct linux_perf *perf, const struct event *event)
{
	perf->filled = true;
	for (unsigned i = 0; i < perf->buffers; i++) {
		const struct linux_perf_buffer *buffer = &perf->buffer[i];

		for (uint32_t j = 0; buffer->live && j < buffer->pages; j++) {
			if (event->a / TZ_PAGE_BYTES ==
			    buffer->pa[j] / TZ_PAGE_BYTES)
				perf->cpu[event->cpu].buffer = i;
		}
	}
}

/* IRET: the end of the NMI's handler unless it returns from an exception in it. */
static void
note_iret(struct linux_perf *perf, struct machine *machine, struct check *check,
    const struct event *event, bool user)
{
	bool in_nmi = perf->cpu[event->cpu].in_nmi;

	if (in_nmi && perf->cpu[event->cpu].depth > 0) {
		perf->cpu[event->cpu].depth--;
		return;
	}
	if (in_nmi) {
		perf->cpu[event->cpu].in_nmi = false;
		tell(perf, check, event->cpu, event->insns,
		    &(struct event){ .kind = EVENT_NMI_DONE,
			.a = !perf->cpu[event->cpu].unclaimed });
		if (perf->cpu[event->cpu].ended && !perf->cpu[event->cpu].began)
			check_filling(check, event->cpu,
			    "a handler of NMIs has ended its buffer and begun no other");
		if (user && perf->cpu[event->cpu].pmi &&
		    !perf->cpu[event->cpu].ended)
			check_unserved(check, event->cpu);
	}
	/* The invariants of the way to ring 3 are judged where an operation ends. */
	if (!user)
		return;
	tell(perf, check, event->cpu, event->insns,
	    &(struct event){ .kind = EVENT_CALL_END, .b = NO_ACTOR });
	if (!is_open(perf, machine, event->cpu))
		return;
	perf->filled = true;
	check_filling(check, event->cpu, "the driver has a buffer open");
}

void
linux_perf_event(struct linux_perf *perf, struct machine *machine,
    struct check *check, const struct event *event)
{
	perf->cycles = event->cycles;
	if (event->kind == EVENT_OUTPUT)
		note_output(perf, event);
	check_event(check, event);
	switch (event->kind) {
	case EVENT_NMI:
		note_nmi(perf, machine, event->cpu);
		return;
	case EVENT_EXCEPTION:
		perf->cpu[event->cpu].depth += perf->cpu[event->cpu].in_nmi;
		return;
	case EVENT_IRET:
		note_iret(perf, machine, check, event, event->b < TZ_BIT(63));
		return;
	default:
		return;
	}
}

void
linux_perf_end(struct linux_perf *perf, struct machine *machine, unsigned cpu,
    struct check *check)
{
	struct machine_counters counters;
	unsigned kept = 0;

	for (unsigned i = 0; i < perf->buffers; i++)
		kept += perf->buffer[i].live;
	machine_counters(machine, cpu, &counters);
	tell(perf, check, cpu, counters.insns,
	    &(struct event){ .kind = EVENT_OWNER_GONE });
	if (perf->begun && !perf->filled)
		check_never_filled(check);
	if (kept != 0)
		check_kept(check, kept);
	check_collected(check, CHECK_ALL_STREAMS);
}
