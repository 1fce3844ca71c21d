/*
 * The calls on FreeBSD's hwt.  Sessions have numbers; their records determine
 * what is drained.  No report of the driver ends the program: an invalid one is
 * an error.
 */
#include <sys/hwt.h>

#include "emu/guest_abi.h"
#include "harness/guest/user/actor.h"
#include "harness/kpi/freebsd/user/record.h"

#define SESSIONS_MAX 4
#define BUFFERS_MAX  16
#define RECORDS_MAX  16
#define FETCHES_MAX  4

struct buffer {
	bool mapped;
	int64_t fd, ident;
	uint64_t id, stream, base, bytes;
	uint64_t position; /* all before it has been drained */
};

struct session {
	uint64_t bytes; /* of the last requested context */
	int64_t fd;     /* a node's, for records */
	uint64_t stream;
	int64_t ident;
	unsigned buffer_count;
	struct buffer buffer[BUFFERS_MAX];
};

/* The last position that was read.  .buffer is NULL when it has been drained to. */
static struct {
	struct buffer *buffer;
	uint64_t position;
} asked;

static struct session sessions[SESSIONS_MAX];
static struct hwt_record_user_entry records[RECORDS_MAX];

/*
 * Actors are threads of one program.  One at a time takes records and positions, or what
 * is older would be drained after what is newer.
 */
static uint32_t takers;

static void
take_begin(void)
{
	if (__atomic_fetch_add(&takers, 1, __ATOMIC_ACQ_REL) != 0)
		sys1(SYS_SEM_WAIT, SEM_TAKE);
}

static void
take_end(void)
{
	if (__atomic_fetch_sub(&takers, 1, __ATOMIC_ACQ_REL) != 1)
		sys1(SYS_SEM_POST, SEM_TAKE);
}

static int64_t
ioctl(int64_t fd, unsigned long command, const volatile void *argument)
{
	return sys3(SYS_IOCTL, (uint64_t)fd, command, address(argument));
}

static struct buffer *
buffer_find(struct session *session, uint64_t id)
{
	for (unsigned i = 0; i < session->buffer_count; i++) {
		if (session->buffer[i].id == id)
			return &session->buffer[i];
	}
	return NULL;
}

/* The slot for the description of buffer ID; NULL: there are too many. */
static struct buffer *
buffer_slot(struct session *session, uint64_t id)
{
	struct buffer *buffer = buffer_find(session, id);

	if (buffer == NULL && session->buffer_count < BUFFERS_MAX)
		buffer = &session->buffer[session->buffer_count++];
	return buffer;
}

static int64_t
session_alloc(struct session *session, uint64_t fd, uint64_t alloc_at)
{
	struct hwt_alloc alloc;
	volatile int ident = -1;
	int64_t result;

	memcpy(&alloc, (const void *)(uintptr_t)alloc_at, sizeof(alloc));
	alloc.ident = (int *)(uintptr_t)address(&ident);
	result = ioctl((int64_t)fd, HWT_IOC_ALLOC, &alloc);
	if (result < 0)
		return result;
	session->bytes = alloc.bufsize;
	return ident;
}

static int64_t
buffer_map(struct session *session, struct buffer *buffer, uint64_t bytes)
{
	int64_t result;

	if (bytes == 0)
		bytes = session->bytes;
	if (bytes == 0)
		return 0;
	result = sys5(
	    SYS_MMAP, (uint64_t)buffer->fd, 0, bytes, SYS_PROT_READ, 0);
	if (result < 0)
		return result;
	buffer->base = (uint64_t)result;
	buffer->bytes = bytes;
	buffer->mapped = true;
	return sys3(SYS_BUFFER, buffer->stream, buffer->base, bytes);
}

/* A buffer of the same context, mapped again, continues at its position. */
static int64_t
session_map(struct session *session, int64_t ident, uint64_t id, uint64_t bytes,
    uint64_t stream)
{
	struct buffer *buffer;
	char path[64];
	int64_t fd, result;

	user_format(path, sizeof(path), "/dev/hwt_%d_%d", ident, (int64_t)id);
	fd = sys2(SYS_OPEN, address(path), 0);
	if (fd < 0)
		return fd;
	buffer = buffer_slot(session, id);
	if (buffer == NULL) {
		sys1(SYS_CLOSE, (uint64_t)fd);
		return ACTOR_INVAL;
	}
	*buffer = (struct buffer){
		.fd = fd,
		.ident = ident,
		.id = id,
		.stream = stream + id,
		.position = buffer->ident == ident && buffer->mapped
		    ? buffer->position
		    : 0,
	};
	session->fd = fd;
	session->ident = ident;
	session->stream = stream;
	result = buffer_map(session, buffer, bytes);
	return result < 0 ? result : fd;
}

static int64_t
session_unmap(struct session *session, uint64_t id)
{
	struct buffer *buffer = buffer_find(session, id);

	if (buffer == NULL || !buffer->mapped)
		return ACTOR_INVAL;
	buffer->mapped = false;
	return sys2(SYS_MUNMAP, buffer->base, buffer->bytes);
}

static int64_t
drain(const struct buffer *buffer, uint64_t from, uint64_t to)
{
	if (from == to)
		return 0;
	return sys3(SYS_DRAIN, buffer->stream, buffer->base + from, to - from);
}

/* The driver reports only positions: one below the last means a wrap. */
static int64_t
drain_to(struct buffer *buffer, uint64_t position)
{
	int64_t result = 0;

	if (position > buffer->bytes)
		return ACTOR_INVAL;
	if (position < buffer->position) {
		result = drain(buffer, buffer->position, buffer->bytes);
		buffer->position = 0;
	}
	if (result >= 0)
		result = drain(buffer, buffer->position, position);
	buffer->position = position;
	return result;
}

static int64_t
drain_to_asked(void)
{
	struct buffer *buffer = asked.buffer;
	int64_t result = drain_to(buffer, asked.position);

	asked.buffer = NULL;
	return result < 0 ? result
			  : sys2(SYS_POSITION, buffer->stream, asked.position);
}

/* How far POSITION is ahead of what was drained. */
static uint64_t
ahead(const struct buffer *buffer, uint64_t position)
{
	return position >= buffer->position
	    ? position - buffer->position
	    : position + buffer->bytes - buffer->position;
}

/*
 * Drains to the position of a record.  Records may have been sent before and after a
 * position that was read: which comes first is seen from how far each is ahead.
 */
static int64_t
drain_record(struct buffer *buffer, uint64_t position)
{
	int64_t result = 0;

	if (asked.buffer == buffer &&
	    ahead(buffer, asked.position) < ahead(buffer, position))
		result = drain_to_asked();
	return result < 0 ? result : drain_to(buffer, position);
}

/*
 * Bytes are missing, of unknown number: what is whole begins at POSITION.  A position
 * that was read before is not after it.
 */
static int64_t
skip_to(struct buffer *buffer, uint64_t position)
{
	if (position > buffer->bytes)
		return ACTOR_INVAL;
	if (asked.buffer == buffer &&
	    ahead(buffer, asked.position) < ahead(buffer, position))
		asked.buffer = NULL;
	buffer->position = position;
	return sys2(SYS_LOST, buffer->stream, ABI_LOST_SKIPPED);
}

static int64_t
handle(struct session *session, const struct hwt_record_user_entry *entry)
{
	uint64_t position;

	struct buffer *buffer;

	if (entry->record_type == HWT_RECORD_THREAD_CREATE) {
		uint64_t id = (uint32_t)entry->thread_id;
		int64_t fd = session->fd;

		if (buffer_find(session, id) != NULL)
			return 0;
		fd = session_map(
		    session, session->ident, id, 0, session->stream);
		return fd < 0 ? fd : 0;
	}
	if (entry->record_type != HWT_RECORD_BUFFER &&
	    entry->record_type != HWT_RECORD_OVERFLOW)
		return 0;
	buffer = buffer_find(session, (uint32_t)entry->buf_id);
	if (buffer == NULL || !buffer->mapped || entry->curpage < 0)
		return ACTOR_INVAL;
	position = (uint64_t)entry->curpage * PAGE_SIZE + entry->offset;
	return entry->record_type == HWT_RECORD_OVERFLOW
	    ? skip_to(buffer, position)
	    : drain_record(buffer, position);
}

static int64_t
session_fetch(struct session *session)
{
	int count = RECORDS_MAX;
	struct hwt_record_get get = {
		.records = records,
		.nentries = &count,
		.wait = 0,
	};
	int64_t total = 0, result, worst = 0;

	do {
		count = RECORDS_MAX;
		result = ioctl(session->fd, HWT_IOC_RECORD_GET, &get);
		if (result < 0)
			return result;
		if (count > RECORDS_MAX)
			count = RECORDS_MAX;
		for (int i = 0; i < count; i++) {
			if (record_is_overtaken(&records[i], &records[count]))
				continue;
			result = handle(session, &records[i]);
			if (result < 0)
				worst = result;
		}
		total += count;
	} while (count == RECORDS_MAX);
	return worst < 0 ? worst : total;
}

/* Continues after an error; returns the last error. */
static int64_t
fetch_all(void)
{
	int64_t total = 0, worst = 0;

	for (unsigned i = 0; i < SESSIONS_MAX; i++) {
		int64_t result = 0;

		if (sessions[i].buffer_count != 0)
			result = session_fetch(&sessions[i]);
		if (result < 0)
			worst = result;
		else
			total += result;
	}
	return worst < 0 ? worst : total;
}

bool
actor_call(uint32_t call, const uint64_t *args, int64_t *result)
{
	struct session *session = &sessions[args[0] % SESSIONS_MAX];

	switch (call) {
	case SCRIPT_HWT_ALLOC:
		*result = session_alloc(session, args[1], args[2]);
		return true;
	case SCRIPT_HWT_MAP:
		*result = session_map(
		    session, (int64_t)args[1], args[2], args[3], args[4]);
		return true;
	case SCRIPT_HWT_UNMAP:
		*result = session_unmap(session, args[1]);
		return true;
	case SCRIPT_HWT_FETCH:
		take_begin();
		*result = fetch_all();
		take_end();
		return true;
	default:
		return false;
	}
}

/* The session and the buffer of node FD; NULL: the node is not mapped. */
static struct buffer *
find_node(uint64_t fd, struct session **session)
{
	for (unsigned i = 0; i < SESSIONS_MAX; i++) {
		*session = &sessions[i];
		for (unsigned j = 0; j < sessions[i].buffer_count; j++) {
			struct buffer *buffer = &sessions[i].buffer[j];

			if (buffer->mapped && buffer->fd == (int64_t)fd)
				return buffer;
		}
	}
	return NULL;
}

/* A position that is read later is after those of all earlier records. */
void
actor_position_begin(const uint64_t *args)
{
	struct session *session;

	take_begin();
	if (find_node(args[0], &session) == NULL)
		return;
	/* Records that a failure left behind would look like a wrap later. */
	for (unsigned i = 0; i < FETCHES_MAX; i++) {
		if (session_fetch(session) >= 0)
			return;
	}
}

void
actor_position_end(void)
{
	take_end();
}

int64_t
actor_position(const uint64_t *args, uint64_t bytes, bool mapped)
{
	struct session *session;
	struct buffer *buffer = find_node(args[0], &session);
	int64_t result;

	if (buffer == NULL)
		return 0;
	if (mapped && (bytes > buffer->bytes - 8 || buffer->bytes < 8))
		return ACTOR_INVAL;
	if (mapped)
		bytes = *(
		    const volatile uint64_t *)(uintptr_t)(buffer->base + bytes);
	asked.buffer = buffer;
	asked.position = bytes;
	result = session_fetch(session);
	if (asked.buffer == NULL)
		return result < 0 ? result : 0;
	return drain_to_asked();
}
