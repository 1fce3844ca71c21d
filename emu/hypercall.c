#include "emu/channel.h"

#include "emu/base/event.h"
#include "emu/cpu/cpu.h"
#include "emu/guest_abi.h"
#include "emu/machine.h"

#include <string.h>

#define FRAME_BYTES 4096

static void
emit(const struct channel *channel, enum event_kind kind, uint64_t a,
    uint64_t b, uint64_t c)
{
	struct event event = {
		.kind = (uint16_t)kind,
		.cpu = (uint16_t)channel->cpu_id,
		.insns = cpu_insns(channel->cpu),
		.cycles = cpu_cycles(channel->cpu),
		.a = a,
		.b = b,
		.c = c,
	};

	if (channel->observer->event != NULL)
		channel->observer->event(channel->observer->arg, &event);
}

/* Output that the units wrote before the event is reported before it. */
static void
emit_after_output(
    const struct channel *channel, enum event_kind kind, const uint64_t *arg)
{
	channel->sync_output(channel->arg);
	emit(channel, kind, arg[0], arg[1], arg[2]);
}

static void
do_panic(const struct channel *channel, const struct abi_call *call,
    struct channel_end *end)
{
	size_t count = call->arg[1];

	end->ended = end->panic = true;
	end->rip = call->arg[2];
	end->rbp = call->arg[3];
	if (count > sizeof(end->text) - 1)
		count = sizeof(end->text) - 1;
	if (!cpu_read(
		channel->cpu, (struct gva){ call->arg[0] }, end->text, count))
		strcpy(end->text, "(message not readable)");
	emit(channel, EVENT_PANIC, 0, end->rip, end->rbp);
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
do_clear(const struct channel *channel, const uint64_t *arg)
{
	uint64_t pa;

	if (arg[1] > ABI_CLEAR_MAX)
		return -1;
	for (uint64_t i = 0; i < arg[1]; i++) {
		struct gva at = { arg[0] + i * sizeof(pa) };

		if (!cpu_read(channel->cpu, at, &pa, sizeof(pa)) ||
		    pa % FRAME_BYTES != 0 || pa >= channel->ram_bytes)
			return -1;
		if (pa != 0)
			memset(channel->ram + pa, 0, FRAME_BYTES);
	}
	return 0;
}

static int
do_point(const struct channel *channel, const uint64_t *arg)
{
	const struct machine_observer *observer = channel->observer;
	bool fail = cpu_take_fail(channel->cpu);

	if (!fail && observer->point != NULL)
		fail = observer->point(
		    observer->arg, channel->cpu_id, arg[0], arg[1]);
	emit(channel, EVENT_POINT, arg[0], arg[1], fail);
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
	default:
		return EVENT_KIND_COUNT;
	}
}

static int
do_call(const struct channel *channel, const struct abi_call *call,
    struct channel_end *end)
{
	const uint64_t *arg = call->arg;

	switch (call->op) {
	case ABI_EXIT:
		end->ended = true;
		end->code = (int)arg[0];
		emit(channel, EVENT_EXIT, arg[0], 0, 0);
		return 0;
	case ABI_PANIC:
		do_panic(channel, call, end);
		return 0;
	case ABI_ALLOC:
		emit(channel, EVENT_ALLOC, arg[0], arg[1], arg[2]);
		return 0;
	case ABI_FREE:
		emit(channel, EVENT_FREE, arg[0], 0, arg[1]);
		return 0;
	case ABI_DRAIN:
		emit_after_output(channel, EVENT_DRAIN, arg);
		return 0;
	case ABI_LOST:
		emit(channel, EVENT_LOST, arg[0], 0, arg[1]);
		return 0;
	case ABI_NOTE:
		emit(channel, EVENT_NOTE, arg[0], arg[1], 0);
		return 0;
	case ABI_BUFFER:
		emit_after_output(channel, EVENT_BUFFER, arg);
		return 0;
	case ABI_POSITION:
		emit_after_output(channel, EVENT_POSITION, arg);
		return 0;
	case ABI_POINT:
		return do_point(channel, arg);
	case ABI_CLEAR:
		return do_clear(channel, arg);
	case ABI_STACK:
		add_stack(channel->stacks, arg);
		emit(channel, EVENT_STACK, arg[0], arg[1], arg[2]);
		return 0;
	default:
		if (event_of(call->op) == EVENT_KIND_COUNT)
			return -1;
		emit(channel, event_of(call->op), arg[0], arg[1], arg[2]);
		return 0;
	}
}

bool
channel_out(const struct channel *channel, int port, unsigned bytes,
    uint32_t value, struct channel_end *end)
{
	struct abi_call call;

	*end = (struct channel_end){ 0 };
	if (port == ABI_PORT_CONSOLE && bytes == 1) {
		if (channel->observer->console != NULL)
			channel->observer->console(
			    channel->observer->arg, (char)value);
		return true;
	}
	if (port != ABI_PORT_CALL || bytes != 4 ||
	    value > channel->ram_bytes - sizeof(call) || value % 8 != 0)
		return false;
	memcpy(&call, channel->ram + value, sizeof(call));
	call.result = do_call(channel, &call, end);
	memcpy(channel->ram + value, &call, sizeof(call));
	return true;
}
