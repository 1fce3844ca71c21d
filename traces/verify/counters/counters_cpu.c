/* One CPU: its counters, their overflows, the NMIs for these, the driver's samples. */
#include "traces/decode/vector.h"
#include "traces/verify/counters/counters_internal.h"

#include <inttypes.h>
#include <string.h>

#define MSR_GLOBAL_CTRL 0x38fu /* IA32_PERF_GLOBAL_CTRL */
#define MSR_OVF_CTRL    0x390u /* IA32_PERF_GLOBAL_OVF_CTRL */

void
counters_raise_pmi(struct counters_cpu *own, uint64_t insns)
{
	/*
	 * HLT or rounds of a REP were the skid; the execution
	 * log is read up to there first.
	 */
	if (own->nmi.unexplained && own->nmi.unexplained_at == insns) {
		own->nmi.unexplained = false;
		own->nmi.explained = true;
		own->nmi.early = own->halted_at != insns;
		return;
	}
	/* Another counter's, with the one that explains it. */
	if (own->nmi.explained && own->nmi.unexplained_at == insns)
		return;
	if (own->nmi.due && insns <= own->nmi.due_at)
		return;
	own->nmi.held = own->nmi.due &&
	    (own->nmi.runs || own->nmi.unblocked == insns);
	own->nmi.due = true;
	own->nmi.in_handler = own->nmi.runs;
	own->nmi.due_at = insns + own->unit.profile->uarch->pmi_skid_insns;
}

/* Counter I of CPU has overflowed, when AT instructions had retired. */
static void
set_pending(struct counters *counters, unsigned cpu, unsigned i, uint64_t at,
    bool interrupts)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	const struct owned *owned = counters_owner(counters, own, i);

	if ((own->unit.pebs >> i & 1) != 0)
		return;
	own->nmi.pending |= UINT32_C(1) << i;
	own->use[i].overflowed_at = at;
	own->use[i].overflowed_nmis = own->nmi.count;
	own->use[i].overflowed_in_nmi = own->nmi.runs;
	if (owned != NULL)
		own->use[i].overflowed_total = owned->total -
		    own->unit.counter[i].value;
	if (interrupts)
		counters_raise_pmi(own, at);
}

static void
add_overflow(struct counters *counters, unsigned cpu, unsigned i, uint64_t at)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	if (!GROW(
		own->overflows, own->overflow_room, own->overflow_count + 1)) {
		counters->no_memory = true;
		return;
	}
	own->overflows[own->overflow_count++] = (struct overflow){ i, at };
	set_pending(counters, cpu, i, at, own->unit.counter[i].interrupts);
}

/* Events of a process in ring 3 on a CPU whose counter is not on. */
static void
miss(struct counters *counters, struct counters_cpu *own,
    const struct insn_piece *piece, struct owned *owned, uint64_t pid)
{
	struct user_thread *thread = own->thread == SIZE_MAX
	    ? NULL
	    : &counters->threads.threads[own->thread];
	bool on = own->unit.counter[owned->number].running &&
	    counters_owner(counters, own, owned->number) == owned;
	uint64_t perhaps = 0, events;

	if (!owned->by_process || owned->samples || !owned->started ||
	    !owned->user || !counters_is_target(owned, pid))
		return;
	if (on) {
		if (thread != NULL)
			thread->counted = true;
		return;
	}
	events = counter_unit_events(
	    &own->unit, piece, owned->counted, &perhaps);
	if (thread == NULL || !thread->counted) {
		counters_result(counters, owned)->first_slices += events;
		return;
	}
	counters_result(counters, owned)->missed += events;
	if (events != 0)
		counters_tell(counters, owned,
		    "pid%" PRIu64 " executed in ring 3 at 0x%" PRIx64
		    " while the counter was not on the CPU",
		    pid, insn_piece_ip(&own->flow, piece, 0));
}

/*
 * Ring 3 of process PID on a CPU, of which counters may stand still since their last
 * sample.
 */
static void
note_still(struct counters *counters, struct counters_cpu *own, uint64_t pid)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		struct counter_use *use = &own->use[i];
		struct due *due = use->still ? &own->dues[use->due] : NULL;
		const struct owned *owned;

		if (due == NULL)
			continue;
		owned = &counters->owned[due->owner];
		if (own->unit.counter[i].running ||
		    owned->starts != due->starts)
			use->still = false;
		else if (owned->started && owned->user &&
		    (!owned->by_process || counters_is_target(owned, pid)))
			due->still = true;
	}
}

/* Ring 3 on CPU. */
static void
run_user(
    struct counters *counters, unsigned cpu, const struct insn_piece *piece)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	uint64_t pid = counters_pid_of(counters, piece->cr3);
	struct space *space;
	bool left;

	own->thread = user_threads_run(
	    &counters->threads, own->thread, cpu, &own->flow, piece, &left);
	counters->no_memory |= counters->threads.no_memory;
	note_still(counters, own, pid);
	if (pid == COUNTERS_NO_PID)
		return;
	for (size_t i = 0; i < counters->owned_count; i++)
		miss(counters, own, piece, &counters->owned[i], pid);
	if (left)
		own->thread = SIZE_MAX;
	space = counters_space(counters, pid);
	if (space == NULL || !space->starts)
		return;
	space->starts = false;
	if (!GROW(space->starts_at, space->start_room, space->start_count + 1))
		counters->no_memory = true;
	else
		space->starts_at[space->start_count++] = insn_piece_ip(
		    &own->flow, piece, 0);
}

/* PIECE, one instruction, makes a PEBS record of the counters DUE. */
static void
add_sample(struct counters *counters, struct counters_cpu *own,
    const struct insn_piece *piece, uint32_t due)
{
	if (!GROW(own->samples, own->sample_room, own->sample_count + 1)) {
		counters->no_memory = true;
		return;
	}
	own->samples[own->sample_count++] = (struct pebs_sample){
		.insns = piece->before + piece->count,
		.ip = piece->kind == INSN_FLOW_INSNS
		    ? insn_piece_ip(&own->flow, piece, 0)
		    : own->last_ip,
		.counters = due,
	};
}

static void
count(struct counters *counters, unsigned cpu, const struct insn_piece *piece)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	uint64_t events[COUNTER_COUNT], at[COUNTER_COUNT];
	uint32_t due;
	uint32_t overflows = counter_unit_count(
	    &own->unit, piece, events, at, &due);

	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		struct owned *owned = counters_owner(counters, own, i);

		own->use[i].events += events[i];
		if (owned != NULL && !owned->by_process)
			owned->total += events[i];
	}
	/* The CPU's order: by instruction, then by number. */
	while (overflows != 0) {
		unsigned first = COUNTER_COUNT;

		for (unsigned i = 0; i < COUNTER_COUNT; i++)
			if ((overflows >> i & 1) != 0 &&
			    (first == COUNTER_COUNT || at[i] < at[first]))
				first = i;
		overflows &= ~(UINT32_C(1) << first);
		if (counters_is_compared(own, first))
			add_overflow(counters, cpu, first, at[first]);
	}
	if (due != 0)
		add_sample(counters, own, piece, due);
}

/* All events up to the instruction RETIRED are known. */
static void
judge_unexplained(struct counters *counters, unsigned cpu, uint64_t retired)
{
	struct counters_nmi *nmi = &counters->cpu[cpu].nmi;

	if (!nmi->unexplained || retired <= nmi->unexplained_at)
		return;
	nmi->unexplained = false;
	counters_differ(counters, cpu,
	    "an NMI at instruction %" PRIu64 " without an overflow",
	    nmi->unexplained_at);
}

/* Each NMI must be a PMI, after the skid of its overflow. */
static void
judge_nmi(
    struct counters *counters, unsigned cpu, const struct insn_piece *piece)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	uint64_t due = own->nmi.due_at;
	uint64_t skid = own->unit.profile->uarch->pmi_skid_insns;
	bool rep = due <= skid || own->rep_at > due - skid;

	/* HLT ends the skid; NMIs wait for the IRET of the one before. */
	if (own->halted_at != 0 && own->halted_at < due &&
	    own->halted_at >= due - skid)
		due = own->halted_at;
	if (own->nmi.unblocked > due)
		due = own->nmi.unblocked;
	/*
	 * Of a PMI in a handler, the LVT entry may have been masked: it is another one's.
	 */
	if (!own->nmi.due || (own->nmi.in_handler && piece->before > due)) {
		own->nmi.due = false;
		own->nmi.unexplained = true;
		own->nmi.explained = false;
		own->nmi.unexplained_at = piece->before;
		return;
	}
	own->nmi.due = false;
	/* Rounds of a REP are instructions of the skid: of one in it, or of the next. */
	own->nmi.early = piece->before < due && !rep &&
	    !(own->nmi.held && piece->before == own->nmi.unblocked);
	if (piece->before > due)
		counters_differ(counters, cpu,
		    "the NMI of an overflow came after %" PRIu64
		    " instructions, not after %" PRIu64,
		    piece->before, due);
}

static void
take_nmi(
    struct counters *counters, unsigned cpu, const struct insn_piece *piece)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	judge_nmi(counters, cpu, piece);
	own->nmi.runs = true;
	own->nmi.count++;
	own->nmi.piece = *piece;
	own->nmi.sampled = 0;
	own->nmi.ran = 0;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		if (own->unit.counter[i].running)
			own->nmi.ran |= UINT32_C(1) << i;
}

/* The handler has ended: if a sample is missing, its counter does not go on. */
static void
leave_nmi(struct counters *counters, unsigned cpu, uint64_t retired)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	own->nmi.runs = false;
	own->nmi.unblocked = retired;
	own->nmi.after_early = own->nmi.early;
	own->nmi.early = false;
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		struct owned *owned = counters_owner(counters, own, i);
		uint32_t bit = UINT32_C(1) << i;

		if ((own->nmi.sampled & bit) != 0) {
			own->use[i].still = !own->unit.counter[i].running;
			own->dues[own->use[i].due].no_room = own->use[i].still;
		}
		if ((own->nmi.taken & bit) != 0)
			counters_result(counters, owned)->off++;
		/* One that ran and has overflowed must have been sampled. */
		if (((own->nmi.pending | own->nmi.taken) & own->nmi.ran &
			bit) != 0 &&
		    owned != NULL && owned->samples && owned->started &&
		    own->use[i].overflowed_at < own->nmi.piece.before)
			counters_tell(counters, owned,
			    "no sample was taken of its overflow at "
			    "instruction %" PRIu64 " of cpu%u",
			    own->use[i].overflowed_at, cpu);
	}
	own->nmi.taken = 0;
}

static void
take_event(
    struct counters *counters, unsigned cpu, const struct insn_piece *piece)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	judge_unexplained(counters, cpu, piece->before);
	/* What the NMI interrupted has faulted: it may be a string instruction. */
	if (piece->rip == own->nmi.piece.rip)
		own->nmi.after_early = false;
	count(counters, cpu, piece);
	if (piece->vector == 2)
		take_nmi(counters, cpu, piece);
	else
		own->halted_at = 0; /* it has ended the HLT */
	if (piece->cpl != 3 || counters->work->perf != NULL)
		return;
	if (piece->vector == 2)
		own->nmi.piece.next = own->thread; /* see sample() */
	user_threads_leave(&counters->threads, own->thread, piece->rip);
	if (piece->vector != 2)
		own->thread = SIZE_MAX;
}

static void
take_insns(
    struct counters *counters, unsigned cpu, const struct insn_piece *piece)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	if (own->nmi.after_early && piece->last != CODE_REP)
		counters_differ(counters, cpu,
		    "an NMI came before the skid of its overflow was over, at "
		    "instruction %" PRIu64,
		    piece->before);
	own->nmi.after_early = false;
	judge_unexplained(counters, cpu, piece->before);
	count(counters, cpu, piece);
	own->last_ip = insn_piece_ip(&own->flow, piece, piece->count - 1);
	if (piece->cpl != 3)
		own->thread = SIZE_MAX;
	else if (counters->work->perf == NULL)
		run_user(counters, cpu, piece);
	if (piece->last == CODE_REP)
		own->rep_at = own->flow.retired;
	if (piece->last == CODE_HLT)
		own->halted_at = own->flow.retired;
	if (piece->last == CODE_IRET && own->nmi.runs)
		leave_nmi(counters, cpu, own->flow.retired);
}

void
counters_advance(struct counters *counters, unsigned cpu, uint64_t limit)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	for (;;) {
		uint64_t next = own->flow.retired + 1;
		struct insn_piece piece = insn_flow_next(&own->flow,
		    own->unit.pebs != 0 && next < limit ? next : limit);

		counters_take_clock(counters, cpu);
		if (piece.kind == INSN_FLOW_LIMIT || counters->no_memory)
			return;
		own->last_cr3 = piece.cr3;
		if (piece.kind == INSN_FLOW_EVENT)
			take_event(counters, cpu, &piece);
		else
			take_insns(counters, cpu, &piece);
	}
}

/*
 * The NMI handler has written counter I, which has overflowed and has an
 * owner: it has taken its sample.
 */
static void
sample(struct counters *counters, struct counters_cpu *own, unsigned i)
{
	const struct insn_piece *at = &own->nmi.piece;
	struct due *due;

	if (!GROW(own->dues, own->due_room, own->due_count + 1)) {
		counters->no_memory = true;
		return;
	}
	own->nmi.sampled |= UINT32_C(1) << i;
	own->nmi.taken &= ~(UINT32_C(1) << i);
	own->use[i].due = own->due_count;
	due = &own->dues[own->due_count++];
	*due = (struct due){ .owner = own->use[i].owner,
		.starts = counters->owned[own->use[i].owner].starts,
		.overflow = own->use[i].overflowed_at,
		.total = own->use[i].overflowed_total,
		.rip = at->rip,
		.pid = counters_pid_of(counters, at->cr3),
		.user = at->cpl != 0 };
	if (due->user && counters->work->perf == NULL)
		due->chain = user_threads_chain(
		    &counters->threads, (size_t)at->next, at->rip);
}

/* No sample was taken of the last overflow of counter I. */
static void
pass_overflow(struct counters *counters, struct counters_cpu *own, unsigned i)
{
	const struct owned *owned = counters_owner(counters, own, i);

	counters_result(counters, owned)->off++;
	if (own->use[i].overflowed_nmis != own->nmi.count ||
	    own->flow.retired <= own->use[i].overflowed_at +
		    own->unit.profile->uarch->pmi_skid_insns)
		return;
	counters_tell(counters, owned,
	    "no NMI came for its overflow at instruction %" PRIu64,
	    own->use[i].overflowed_at);
}

/* P6 has no status: an overflow is seen in the counter, until that is written. */
static bool
has_status(const struct counters_cpu *own)
{
	return own->unit.profile->uarch->events != PROFILE_EVENTS_P6;
}

/* The last overflow of counter I is seen by the NMI handler, or by nobody. */
static void
take_overflow(struct counters *counters, struct counters_cpu *own, unsigned i)
{
	const struct owned *owned = counters_owner(counters, own, i);
	uint32_t bit = UINT32_C(1) << i;

	if ((own->nmi.pending & bit) == 0)
		return;
	own->nmi.pending &= ~bit;
	if (owned == NULL || !owned->samples)
		return;
	counters_result(counters, owned)->overflows++;
	if (own->nmi.runs)
		own->nmi.taken |= bit;
	else
		pass_overflow(counters, own, i);
}

/* WRMSR of IA32_PERF_GLOBAL_OVF_CTRL. */
static void
clear_status(
    struct counters *counters, struct counters_cpu *own, uint64_t value)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		unsigned bit = i < COUNTER_GENERAL ? i
						   : 32 + i - COUNTER_GENERAL;

		if ((value >> bit & 1) != 0)
			take_overflow(counters, own, i);
	}
}

/*
 * perf begins another period where a task comes back: it has no sample of an overflow
 * that no NMI came for until then.  The status has it still.  In an NMI's handler the
 * LVT entry may have been masked.
 */
static void
forget_overflow(struct counters *counters, struct counters_cpu *own, unsigned i)
{
	const struct owned *owned = counters_owner(counters, own, i);

	if ((own->nmi.pending >> i & 1) == 0)
		return;
	own->nmi.pending &= ~(UINT32_C(1) << i);
	if (owned == NULL || !owned->samples)
		return;
	counters_result(counters, owned)->overflows++;
	if (own->use[i].overflowed_in_nmi &&
	    own->use[i].overflowed_nmis == own->nmi.count)
		counters_result(counters, owned)->masked++;
	else
		pass_overflow(counters, own, i);
}

/* Counter I starts from another value; in the NMI handler: its sample is taken. */
static void
restart(struct counters *counters, struct counters_cpu *own, unsigned i)
{
	own->use[i].events = 0;
	own->use[i].ended = false;
	own->use[i].pid = counters_pid_of(counters, own->flow.cr3);
	if (!has_status(own))
		take_overflow(counters, own, i);
	else if (counters->work->perf != NULL && !own->nmi.runs)
		forget_overflow(counters, own, i);
	if (own->nmi.runs && (own->nmi.taken >> i & 1) != 0)
		sample(counters, own, i);
}

void
counters_note_write(
    struct counters *counters, unsigned cpu, uint32_t msr, uint64_t value)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	int i = counter_unit_value_msr(msr);

	counters_judge_clock(counters, cpu);
	counter_unit_write(&own->unit, msr, value);
	if (counters->work->perf != NULL && own->begun)
		perf_counters_choose(counters, cpu);
	/* The last of those that the recording begins with. */
	if (counters->work->perf != NULL && msr == MSR_GLOBAL_CTRL &&
	    !own->begun)
		perf_counters_begin(counters, cpu);
	if (msr == MSR_OVF_CTRL && has_status(own))
		clear_status(counters, own, value);
	if (i >= 0 && i < COUNTER_COUNT)
		restart(counters, own, (unsigned)i);
}

/*
 * A process's counter is read: if it has been stopped, the slice ends, else it is read
 * for user space.
 */
static void
end_slice(struct counters *counters, struct counters_cpu *own, unsigned i)
{
	struct owned *owned = counters_owner(counters, own, i);

	if (own->unit.counter[i].running) {
		owned->read = true;
		owned->read_total = owned->total + own->use[i].events;
	}
	if (own->unit.counter[i].running || own->use[i].ended)
		return;
	own->use[i].ended = true;
	if (!GROW(owned->slices, owned->slice_room, owned->slice_count + 1)) {
		counters->no_memory = true;
		return;
	}
	owned->slices[owned->slice_count++] = (struct slice){ own->use[i].pid,
		own->use[i].events, false };
	owned->total += own->use[i].events;
}

void
counters_note_read(
    struct counters *counters, unsigned cpu, uint32_t msr, uint64_t value)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	int number = counter_unit_value_msr(msr);
	const struct counter_state *counter;
	struct owned *owned;

	if (number < 0)
		return;
	counter = &own->unit.counter[number];
	owned = counters_owner(counters, own, (unsigned)number);
	if (owned != NULL && owned->by_process)
		end_slice(counters, own, (unsigned)number);
	else if (owned != NULL) {
		own->use[number].read = true;
		own->use[number].read_total = owned->total;
	}
	if (!counters_is_compared(own, (unsigned)number))
		return;
	counters->work->result->counter_registers++;
	if (value != counter->value)
		counters_differ(counters, cpu,
		    "counter %d was read as 0x%" PRIx64 " after %" PRIu64
		    " instructions, executed was 0x%" PRIx64,
		    number, value, own->flow.retired, counter->value);
}

/* Within which instruction, the log does not tell: the report is right if the cycle is. */
static void
overflow_by_clock(
    struct counters *counters, const struct event *event, unsigned number)
{
	struct counters_cpu *own = &counters->cpu[event->cpu];

	counters_pass(counters, event->cpu, event->cycles);
	if (own->unit.counter[number].wraps == 0) {
		counters_differ(counters, event->cpu,
		    "counter %u overflowed in cycle %" PRIu64
		    ", which it must not",
		    number, event->cycles);
		return;
	}
	own->unit.counter[number].wraps--;
	counters->work->result->counter_overflows++;
	set_pending(counters, event->cpu, number, event->insns, event->b != 0);
}

void
counters_note_overflow(struct counters *counters, const struct event *event)
{
	struct counters_cpu *own = &counters->cpu[event->cpu];
	unsigned number = counters_number(event);
	const struct overflow *first = own->overflows;

	if (own->differs || number >= COUNTER_COUNT)
		return;
	/* When one overflows whose value the log does not tell, only the CPU can say. */
	if (!counters_is_compared(own, number)) {
		set_pending(
		    counters, event->cpu, number, event->insns, event->b != 0);
		return;
	}
	if (counter_unit_clocks(&own->unit, number)) {
		overflow_by_clock(counters, event, number);
		return;
	}
	if (own->overflow_count == 0 || first->counter != number ||
	    first->insns != event->insns) {
		counters_differ(counters, event->cpu,
		    "counter %u overflowed after %" PRIu64
		    " instructions, which it must not",
		    number, event->insns);
		return;
	}
	counters->work->result->counter_overflows++;
	memmove(own->overflows, own->overflows + 1,
	    --own->overflow_count * sizeof(*own->overflows));
}

void
counters_note_pmi(struct counters *counters, const struct event *event)
{
	bool dropped = event->kind == EVENT_TOPA_PMI ? event->b != 0
						     : event->a != 0;

	if (!dropped)
		counters_raise_pmi(&counters->cpu[event->cpu], event->insns);
}

void
counters_finish_cpu(struct counters *counters, unsigned cpu)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	counters_advance(counters, cpu, UINT64_MAX);
	counters_judge_clock(counters, cpu);
	judge_unexplained(counters, cpu, UINT64_MAX);
	if (own->sample_count != 0)
		counters_differ(counters, cpu,
		    "a PEBS record must have been made after %" PRIu64
		    " instructions",
		    own->samples[0].insns);
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		const struct owned *owned = counters_owner(counters, own, i);

		if ((own->nmi.pending >> i & 1) == 0 || owned == NULL ||
		    !owned->samples)
			continue;
		counters_result(counters, owned)->overflows++;
		pass_overflow(counters, own, i);
	}
	if (own->overflow_count != 0)
		counters_differ(counters, cpu,
		    "counter %u must have overflowed after %" PRIu64
		    " instructions",
		    own->overflows[0].counter, own->overflows[0].insns);
}
