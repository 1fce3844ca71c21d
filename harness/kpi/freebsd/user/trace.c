/*
 * The session with the tracing framework: context, configuration, start.  The
 * configuration comes from the host (script.h): this program does not depend on
 * a backend.
 */
#include "harness/kpi/freebsd/user/trace.h"

#include <dev/hwt/hwt_event.h>

#include "emu/guest_abi.h"
#include "harness/guest/user/script.h"
#include "harness/kpi/freebsd/user/record.h"

#define SCRIPT_PAGES ((sizeof(struct script) + 4095) / 4096 * 4096)

static int64_t
ioctl(int64_t fd, unsigned long command, const void *argument)
{
	return sys3(SYS_IOCTL, (uint64_t)fd, command, address(argument));
}

static uint64_t
buffer_stream(
    const struct trace_session *session, const struct trace_buffer *buffer)
{
	uint64_t stream = (uint64_t)buffer->id;

	return session->thread_mode ? stream | UINT64_C(1) << 32 : stream;
}

/* Reports the frames at once: the buffer may never be read. */
static void
buffer_map(const struct trace_session *session, struct trace_buffer *buffer)
{
	int64_t result = sys5(SYS_MMAP, (uint64_t)buffer->fd, 0, session->bytes,
	    SYS_PROT_READ, 0);

	if (result < 0)
		user_fail("mapping a buffer", result);
	buffer->base = (uint64_t)result;
	result = sys3(SYS_BUFFER, buffer_stream(session, buffer), buffer->base,
	    session->bytes);
	if (result < 0)
		user_fail("naming a buffer", result);
}

static void
buffer_open(struct trace_session *session, int id)
{
	struct trace_buffer *buffer;
	char path[64];

	if (session->buffer_count == BUFFERS_MAX)
		user_fail("too many buffers", BUFFERS_MAX);
	buffer = &session->buffer[session->buffer_count++];
	user_format(path, sizeof(path), "/dev/hwt_%d_%d",
	    (int64_t)session->ident, (int64_t)id);
	buffer->id = id;
	buffer->fd = sys2(SYS_OPEN, address(path), 0);
	if (buffer->fd < 0)
		user_fail(path, buffer->fd);
	buffer->open = true;
	if (session->bytes != 0)
		buffer_map(session, buffer);
}

/* Queues the event by which older versions report a position; -1: no queue. */
static int64_t
open_queue(struct trace_session *session)
{
	struct kevent event = { .ident = HWT_KQ_BUFRDY_EV,
		.filter = EVFILT_USER,
		.flags = EV_ADD | EV_CLEAR };

	session->queue = sys2(SYS_OPEN, address("/dev/kqueue"), 0);
	if (session->queue < 0 ||
	    ioctl(session->queue, KPI_KQUEUE_ADD, &event) < 0)
		session->queue = -1;
	return session->queue;
}

/* Traces CPUs [0, cpus), or those of the mask map=. */
void
trace_open(struct trace_session *session, const char *args)
{
	cpuset_t map = { 0 };
	struct hwt_alloc alloc = {
		.bufsize = session->bytes,
		.mode = session->thread_mode ? HWT_MODE_THREAD : HWT_MODE_CPU,
		.pid = (pid_t)arg_number(args, "target", 0),
		.cpu_map = &map,
		.cpusetsize = sizeof(map),
		.backend_name = "pt",
		.ident = &session->ident,
		.kqueue_fd = (int)open_queue(session),
	};
	uint64_t mask = arg_number(
	    args, "map", (UINT64_C(1) << session->cpus) - 1);
	int64_t fd, result;

	fd = sys2(SYS_OPEN, address("/dev/hwt"), 0);
	if (fd < 0)
		user_fail("/dev/hwt", fd);
	if (!session->thread_mode)
		map.__bits[0] = (long)mask;
	result = ioctl(fd, HWT_IOC_ALLOC, &alloc);
	if (result < 0)
		user_fail("HWT_IOC_ALLOC", result);
	if (session->thread_mode) {
		/* Further threads' buffers are opened with their records. */
		buffer_open(session, 0);
		return;
	}
	for (int cpu = 0; cpu < 64; cpu++)
		if ((mask >> cpu & 1) != 0)
			buffer_open(session, cpu);
}

/* FD: the node, which is the value of every slot of the script here. */
static uint64_t
script_value(
    const struct script *script, const struct script_arg *arg, int64_t fd)
{
	switch (arg->kind) {
	case SCRIPT_SLOT:
		return (uint64_t)fd;
	case SCRIPT_DATA:
		return address(script->data) + arg->value;
	default:
		return arg->value;
	}
}

void
trace_configure(struct trace_session *session)
{
	int64_t fd = session->buffer[0].fd;
	int64_t result = sys2(SYS_SCRIPT, 0, SCRIPT_PAGES);
	struct script *script;
	uint64_t args[SCRIPT_ARGS];

	if (result < 0)
		user_fail("script", result);
	script = (struct script *)(uintptr_t)result;
	if (script->step_count == 0)
		return;
	for (uint32_t i = 0; i < script->fix_count; i++) {
		uint64_t value = script_value(script, &script->fix[i].arg, fd);

		memcpy(script->data + script->fix[i].at, &value, sizeof(value));
	}
	for (unsigned i = 0; i < SCRIPT_ARGS; i++)
		args[i] = script_value(script, &script->step[0].arg[i], fd);
	result = sys5((enum sys_number)script->step[0].call, args[0], args[1],
	    args[2], args[3], args[4]);
	if (result < 0)
		user_fail("the configuration is refused", result);
}

void
trace_start(struct trace_session *session)
{
	struct hwt_start start = { 0 };
	int64_t result;

	result = ioctl(session->buffer[0].fd, HWT_IOC_START, &start);
	if (result < 0)
		user_fail("HWT_IOC_START", result);
}

int64_t
trace_stop(struct trace_session *session)
{
	struct hwt_stop stop = { 0 };

	return ioctl(session->buffer[0].fd, HWT_IOC_STOP, &stop);
}

static int64_t
read_position(const struct trace_buffer *buffer, uint64_t *position)
{
	vm_offset_t offset = 0;
	int page = 0;
	struct hwt_bufptr_get get = { .ident = &page, .offset = &offset };
	int64_t result = ioctl(buffer->fd, HWT_IOC_BUFPTR_GET, &get);

	*position = (uint64_t)page * PAGE_SIZE + offset;
	return result;
}

int64_t
trace_read_position(struct trace_session *session)
{
	uint64_t position;

	return read_position(&session->buffer[0], &position);
}

static void
drain_range(const struct trace_session *session, struct trace_buffer *buffer,
    uint64_t from, uint64_t to)
{
	int64_t result;

	if (from == to)
		return;
	result = sys3(SYS_DRAIN, buffer_stream(session, buffer),
	    buffer->base + from, to - from);
	if (result < 0)
		user_fail("drain", result);
	buffer->drained_bytes += to - from;
}

/* The driver reports only positions: one below the last means a wrap. */
static void
drain_to(struct trace_session *session, struct trace_buffer *buffer,
    uint64_t position)
{
	if (position > session->bytes)
		user_fail("position beyond the buffer", (int64_t)position);
	if (position < buffer->position) {
		drain_range(session, buffer, buffer->position, session->bytes);
		buffer->position = 0;
		session->wraps++;
	}
	drain_range(session, buffer, buffer->position, position);
	buffer->position = position;
}

/* Bytes are missing, of unknown number: what is whole begins at POSITION. */
static void
skip_to(struct trace_session *session, struct trace_buffer *buffer,
    uint64_t position)
{
	if (position > session->bytes)
		user_fail("position beyond the buffer", (int64_t)position);
	buffer->position = position;
	(void)sys2(SYS_LOST, buffer_stream(session, buffer), ABI_LOST_SKIPPED);
}

void
trace_take_positions(struct trace_session *session)
{
	uint64_t position;

	for (unsigned i = 0; i < session->buffer_count; i++) {
		struct trace_buffer *buffer = &session->buffer[i];

		if (read_position(buffer, &position) < 0)
			continue;
		drain_to(session, buffer, position);
		(void)sys2(
		    SYS_POSITION, buffer_stream(session, buffer), position);
	}
}

static struct trace_buffer *
buffer_find(struct trace_session *session, int id)
{
	for (unsigned i = 0; i < session->buffer_count; i++)
		if (session->buffer[i].id == id)
			return &session->buffer[i];
	return NULL;
}

static void
record_handle(
    struct trace_session *session, const struct hwt_record_user_entry *entry)
{
	struct trace_buffer *buffer;

	session->records++;
	switch (entry->record_type) {
	case HWT_RECORD_BUFFER:
		session->buffer_records++;
		buffer = buffer_find(session, entry->buf_id);
		if (buffer == NULL)
			user_fail("record of no buffer", entry->buf_id);
		drain_to(session, buffer,
		    (uint64_t)entry->curpage * PAGE_SIZE + entry->offset);
		break;
	case HWT_RECORD_OVERFLOW:
		buffer = buffer_find(session, entry->buf_id);
		if (buffer == NULL)
			user_fail("record of no buffer", entry->buf_id);
		skip_to(session, buffer,
		    (uint64_t)entry->curpage * PAGE_SIZE + entry->offset);
		break;
	case HWT_RECORD_THREAD_CREATE:
		if (buffer_find(session, entry->thread_id) == NULL)
			buffer_open(session, entry->thread_id);
		break;
	case HWT_RECORD_MMAP:
	case HWT_RECORD_MUNMAP:
	case HWT_RECORD_EXECUTABLE:
	case HWT_RECORD_KERNEL:
	case HWT_RECORD_THREAD_SET_NAME:
		break;
	}
}

void
trace_fetch(
    const struct trace_session *session, struct trace_batch *batch, bool wait)
{
	struct hwt_record_get get = {
		.records = batch->entry,
		.nentries = &batch->count,
		.wait = wait,
	};
	int64_t result;

	batch->count = RECORDS_MAX;
	result = ioctl(session->buffer[0].fd, HWT_IOC_RECORD_GET, &get);
	if (result < 0)
		user_fail("HWT_IOC_RECORD_GET", result);
	batch->has_event = session->queue >= 0 &&
	    ioctl(session->queue, KPI_KQUEUE_TAKE, &batch->event) >= 0;
}

static void
event_handle(struct trace_session *session, const struct kevent *event)
{
	int id = (int)(event->fflags & HWT_KQ_BUFRDY_ID_MASK);
	struct trace_buffer *buffer = buffer_find(session, id);

	if (buffer == NULL)
		user_fail("event of no buffer", id);
	session->buffer_records++;
	drain_to(session, buffer, (uint64_t)event->data);
}

void
trace_handle(struct trace_session *session, const struct trace_batch *batch)
{
	const struct hwt_record_user_entry *end = batch->entry + batch->count;

	for (int i = 0; i < batch->count; i++) {
		if (!record_is_overtaken(&batch->entry[i], end))
			record_handle(session, &batch->entry[i]);
	}
	if (batch->has_event)
		event_handle(session, &batch->event);
}

void
trace_print(const struct trace_session *session)
{
	const struct trace_buffer *buffer;

	user_printf("tracer: %u records, %u of buffers, %u wraps\n",
	    session->records, session->buffer_records, session->wraps);
	for (unsigned i = 0; i < session->buffer_count; i++) {
		buffer = &session->buffer[i];
		user_printf("tracer: buffer %d: %u bytes drained until now\n",
		    (int64_t)buffer->id, buffer->drained_bytes);
	}
}
