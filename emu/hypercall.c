#include "emu/hypercall.h"

#include "emu/base/event.h"
#include "emu/cpu/cpu.h"
#include "emu/guest_abi.h"
#include "emu/machine.h"

#include <string.h>

static void
emit(const struct hypercall *hypercall, enum event_kind kind, uint64_t a,
    uint64_t b, uint64_t c)
{
	struct event event = {
		.kind = (uint16_t)kind,
		.cpu = (uint16_t)hypercall->cpu_id,
		.insns = cpu_insns(hypercall->cpu),
		.cycles = cpu_cycles(hypercall->cpu),
		.a = a,
		.b = b,
		.c = c,
	};

	if (hypercall->observer->event != NULL)
		hypercall->observer->event(hypercall->observer->arg, &event);
}

/* Output that the units wrote before the event is reported before it. */
static void
emit_after_output(const struct hypercall *hypercall, enum event_kind kind,
    const uint64_t *arg)
{
	hypercall->sync_output(hypercall->arg);
	emit(hypercall, kind, arg[0], arg[1], arg[2]);
}

static void
do_panic(const struct hypercall *hypercall, const struct abi_call *call,
    struct hypercall_end *end)
{
	size_t count = call->arg[1];

	end->ended = end->panic = true;
	end->rip = call->arg[2];
	end->rbp = call->arg[3];
	if (count > sizeof(end->text) - 1)
		count = sizeof(end->text) - 1;
	if (!cpu_read(
		hypercall->cpu, (struct gva){ call->arg[0] }, end->text, count))
		strcpy(end->text, "(message not readable)");
	emit(hypercall, EVENT_PANIC, 0, end->rip, end->rbp);
}

/* A stack at the address of another one replaces it. */
static void
add_stack(struct stacks *stacks, const uint64_t *arg)
{
	unsigned i = 0;

	while (i < stacks->count && stacks->item[i].pa != arg[0])
		i++;
	if (i == STACKS_MAX)
		return;
	stacks->item[i] = (struct stack){ arg[0], arg[1], (uint32_t)arg[2] };
	if (i == stacks->count)
		stacks->count++;
}

/*
 * Not a CPU's store, so code caches are not notified: a frame is mapped anew before
 * code in it runs.
 */
static int
do_clear(const struct hypercall *hypercall, const uint64_t *arg)
{
	uint64_t pa;

	if (arg[1] > ABI_CLEAR_MAX)
		return -1;
	for (uint64_t i = 0; i < arg[1]; i++) {
		struct gva at = { arg[0] + i * sizeof(pa) };

		if (!cpu_read(hypercall->cpu, at, &pa, sizeof(pa)) ||
		    pa % TZ_PAGE_BYTES != 0 || pa >= hypercall->ram_bytes)
			return -1;
		if (pa != 0)
			memset(hypercall->ram + pa, 0, TZ_PAGE_BYTES);
	}
	return 0;
}

static int
do_point(const struct hypercall *hypercall, const uint64_t *arg)
{
	const struct machine_observer *observer = hypercall->observer;
	bool fail = cpu_take_fail(hypercall->cpu);

	if (!fail && observer->point != NULL)
		fail = observer->point(
		    observer->arg, hypercall->cpu_id, arg[0], arg[1]);
	emit(hypercall, EVENT_POINT, arg[0], arg[1], fail);
	return fail;
}

/* Calls that are only reported to the observer as an event. */
static enum event_kind
event_of(uint32_t op)
{
	switch (op) {
	case ABI_NMI_DONE:
		return EVENT_NMI_DONE;
	case ABI_SCRIPT:
		return EVENT_SCRIPT;
	case ABI_CALL_BEGIN:
		return EVENT_CALL_BEGIN;
	case ABI_CALL_END:
		return EVENT_CALL_END;
	case ABI_DROPPED:
		return EVENT_DROPPED;
	case ABI_OBJECT_PAGE:
		return EVENT_OBJECT_PAGE;
	case ABI_OWNER_GONE:
		return EVENT_OWNER_GONE;
	case ABI_RECORDS:
		return EVENT_RECORDS;
	case ABI_RECORDS_READ:
		return EVENT_RECORDS_READ;
	case ABI_RECORDING:
		return EVENT_RECORDING;
	case ABI_SPACE:
		return EVENT_SPACE;
	case ABI_ATOMIC_SLEEP:
		return EVENT_ATOMIC_SLEEP;
	case ABI_COUNTER:
		return EVENT_COUNTER;
	case ABI_LOG_READ:
		return EVENT_LOG_READ;
	case ABI_THREAD:
		return EVENT_THREAD;
	case ABI_TRACED_THREAD:
		return EVENT_TRACED_THREAD;
	default:
		return EVENT_KIND_COUNT;
	}
}

static int
do_call(const struct hypercall *hypercall, const struct abi_call *call,
    struct hypercall_end *end)
{
	const uint64_t *arg = call->arg;

	switch (call->op) {
	case ABI_EXIT:
		end->ended = true;
		end->code = (int)arg[0];
		emit(hypercall, EVENT_EXIT, arg[0], 0, 0);
		return 0;
	case ABI_PANIC:
		do_panic(hypercall, call, end);
		return 0;
	case ABI_ALLOC:
		emit(hypercall, EVENT_ALLOC, arg[0], arg[1], arg[2]);
		return 0;
	case ABI_FREE:
		emit(hypercall, EVENT_FREE, arg[0], 0, arg[1]);
		return 0;
	case ABI_DRAIN:
		emit_after_output(hypercall, EVENT_DRAIN, arg);
		return 0;
	case ABI_LOST:
		emit(hypercall, EVENT_LOST, arg[0], 0, arg[1]);
		return 0;
	case ABI_NOTE:
		emit(hypercall, EVENT_NOTE, arg[0], arg[1], 0);
		return 0;
	case ABI_BUFFER:
		emit_after_output(hypercall, EVENT_BUFFER, arg);
		return 0;
	case ABI_POSITION:
		emit_after_output(hypercall, EVENT_POSITION, arg);
		return 0;
	case ABI_POINT:
		return do_point(hypercall, arg);
	case ABI_CLEAR:
		return do_clear(hypercall, arg);
	case ABI_STACK:
		add_stack(hypercall->stacks, arg);
		emit(hypercall, EVENT_STACK, arg[0], arg[1], arg[2]);
		return 0;
	default:
		if (event_of(call->op) == EVENT_KIND_COUNT)
			return -1;
		emit(hypercall, event_of(call->op), arg[0], arg[1], arg[2]);
		return 0;
	}
}

bool
hypercall_out(const struct hypercall *hypercall, int port, unsigned bytes,
    uint32_t value, struct hypercall_end *end)
{
	struct abi_call call;

	*end = (struct hypercall_end){ 0 };
	if (port == ABI_PORT_CONSOLE && bytes == 1) {
		if (hypercall->observer->console != NULL)
			hypercall->observer->console(
			    hypercall->observer->arg, (char)value);
		return true;
	}
	if (port != ABI_PORT_CALL || bytes != 4 ||
	    value > hypercall->ram_bytes - sizeof(call) || value % 8 != 0)
		return false;
	memcpy(&call, hypercall->ram + value, sizeof(call));
	call.result = do_call(hypercall, &call, end);
	memcpy(hypercall->ram + value, &call, sizeof(call));
	return true;
}
