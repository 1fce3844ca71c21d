#include "driver/insntrace/core/session/session.h"

#include "driver/insntrace/core/services.h"
#include "driver/insntrace/core/trace/thread.h"
#include "driver/insntrace/core/trace/trace.h"

struct session {
	enum state state;
	enum insntrace_mode mode;
	uint32_t trace_count;
	struct buffer *buffer[INSNTRACE_TRACES_MAX]; /* of trace I, or NULL */
	struct buffer *removed;
};

static struct session session;
static struct caps caps; /* one configuration is for all CPUs */

static bool
of_threads(void)
{
	return session.mode == INSNTRACE_MODE_THREAD;
}

static struct buffer *
find_buffer(uint32_t descriptor)
{
	return descriptor < session.trace_count ? session.buffer[descriptor]
						: NULL;
}

static enum insntrace_status
op_initialize(void *args)
{
	const struct insntrace_allocation *request = args;

	bool threads = request->mode == INSNTRACE_MODE_THREAD;

	if (!caps.trace || (threads && !caps.xsaves))
		return INSNTRACE_NOT_SUPPORTED;
	if (threads ? request->trace_count == 0 ||
		    request->trace_count > INSNTRACE_TRACES_MAX
		    : request->mode != INSNTRACE_MODE_CPU ||
		    request->trace_count != os_cpu_count())
		return INSNTRACE_INVALID_ARGS;
	session.mode = (enum insntrace_mode)request->mode;
	session.trace_count = request->trace_count;
	if (threads)
		thread_open();
	return INSNTRACE_OK;
}

static void
remove_buffer(uint32_t descriptor)
{
	struct buffer *buffer = session.buffer[descriptor];

	session.buffer[descriptor] = NULL;
	if (buffer == NULL)
		return;
	if (of_threads())
		(void)thread_release(descriptor);
	buffer->next = session.removed;
	session.removed = buffer;
}

static enum insntrace_status
op_terminate(void *args)
{
	(void)args;
	for (uint32_t i = 0; i < session.trace_count; i++)
		remove_buffer(i);
	if (of_threads())
		thread_close();
	session.trace_count = 0;
	return INSNTRACE_OK;
}

static enum insntrace_status
op_get_allocation(void *args)
{
	*(struct insntrace_allocation *)args = (struct insntrace_allocation){
		.mode = session.mode,
		.trace_count = session.trace_count,
	};
	return INSNTRACE_OK;
}

static enum insntrace_status
op_allocate_buffer(void *args)
{
	struct insntrace_buffer *request = args;
	struct caps allowed = caps;
	enum insntrace_status status;
	uint32_t slot = 0;

	if (of_threads())
		caps_of_thread(&allowed);
	status = config_check(&allowed, &request->config);
	if (status != INSNTRACE_OK)
		return status;
	while (slot < session.trace_count && session.buffer[slot] != NULL)
		slot++;
	if (slot == session.trace_count)
		return INSNTRACE_NO_RESOURCES;
	session.buffer[slot] = buffer_create(
	    slot, &request->config, of_threads(), NULL);
	if (session.buffer[slot] == NULL)
		return INSNTRACE_NO_MEMORY;
	request->descriptor = slot;
	return INSNTRACE_OK;
}

static enum insntrace_status
op_free_buffer(void *args)
{
	const struct insntrace_buffer *request = args;

	if (find_buffer(request->descriptor) == NULL)
		return INSNTRACE_INVALID_ARGS;
	remove_buffer(request->descriptor);
	return INSNTRACE_OK;
}

static enum insntrace_status
op_get_buffer_config(void *args)
{
	struct insntrace_buffer *request = args;
	const struct buffer *buffer = find_buffer(request->descriptor);

	if (buffer == NULL)
		return INSNTRACE_INVALID_ARGS;
	request->config = buffer->config;
	return INSNTRACE_OK;
}

static enum insntrace_status
op_get_buffer_state(void *args)
{
	struct insntrace_buffer_state *request = args;
	uint32_t descriptor = request->descriptor;
	const struct buffer *buffer = find_buffer(descriptor);

	if (buffer == NULL)
		return INSNTRACE_INVALID_ARGS;
	*request = buffer->state;
	request->descriptor = descriptor;
	return buffer->state_status;
}

static enum insntrace_status
op_get_chunk(void *args)
{
	struct insntrace_chunk *request = args;
	const struct buffer *buffer = find_buffer(request->descriptor);

	if (buffer == NULL || request->index >= buffer->config.chunk_count)
		return INSNTRACE_INVALID_ARGS;
	request->bytes = topa_chunk_bytes(&buffer->topa);
	request->map_offset = buffer_map_offset(
	    buffer, request->index * request->bytes);
	return INSNTRACE_OK;
}

static enum insntrace_status
op_start(void *args)
{
	bool started;

	(void)args;
	for (uint32_t i = 0; i < session.trace_count; i++) {
		if (session.buffer[i] == NULL)
			return INSNTRACE_BAD_STATE;
	}
	started = of_threads()
	    ? thread_start(&caps, session.buffer, session.trace_count)
	    : trace_start(&caps, session.buffer);
	return started ? INSNTRACE_OK : INSNTRACE_NO_RESOURCES;
}

static enum insntrace_status
op_stop(void *args)
{
	(void)args;
	if (of_threads())
		thread_stop();
	else
		trace_stop();
	return INSNTRACE_OK;
}

static enum insntrace_status
op_assign_thread(void *args)
{
	const struct insntrace_thread *request = args;

	if (!of_threads())
		return INSNTRACE_NOT_SUPPORTED;
	if (find_buffer(request->descriptor) == NULL)
		return INSNTRACE_INVALID_ARGS;
	return thread_assign(request->descriptor, request->thread);
}

static enum insntrace_status
op_release_thread(void *args)
{
	const struct insntrace_thread *request = args;

	if (!of_threads())
		return INSNTRACE_NOT_SUPPORTED;
	if (find_buffer(request->descriptor) == NULL)
		return INSNTRACE_INVALID_ARGS;
	return thread_release(request->descriptor);
}

static enum insntrace_status (*const handlers[OP_COUNT])(void *args) = {
	[OP_INITIALIZE] = op_initialize,
	[OP_TERMINATE] = op_terminate,
	[OP_GET_ALLOCATION] = op_get_allocation,
	[OP_ALLOCATE_BUFFER] = op_allocate_buffer,
	[OP_FREE_BUFFER] = op_free_buffer,
	[OP_GET_BUFFER_CONFIG] = op_get_buffer_config,
	[OP_GET_BUFFER_STATE] = op_get_buffer_state,
	[OP_GET_CHUNK] = op_get_chunk,
	[OP_START] = op_start,
	[OP_STOP] = op_stop,
	[OP_ASSIGN_THREAD] = op_assign_thread,
	[OP_RELEASE_THREAD] = op_release_thread,
};

void
session_init(void)
{
	hw_read_caps(&caps);
}

enum insntrace_status
session_run(enum op op, void *args)
{
	enum insntrace_status status;
	enum state next;

	if (!state_next(session.state, op, &next))
		return INSNTRACE_BAD_STATE;
	status = handlers[op](args);
	if (status == INSNTRACE_OK)
		session.state = next;
	return status;
}

/* The buffer that contains all of [OFFSET, +BYTES). */
static enum insntrace_status
find_mapped(uint64_t offset, uint64_t bytes, struct buffer **buffer)
{
	uint64_t descriptor = offset >> INSNTRACE_MAP_SHIFT;
	uint64_t begin = offset - (descriptor << INSNTRACE_MAP_SHIFT);
	enum state next;

	if (!state_next(session.state, OP_GET_CHUNK, &next))
		return INSNTRACE_BAD_STATE;
	*buffer = find_buffer((uint32_t)descriptor);
	if (*buffer == NULL || begin >= (*buffer)->state.size_bytes ||
	    bytes > (*buffer)->state.size_bytes - begin)
		return INSNTRACE_INVALID_ARGS;
	return INSNTRACE_OK;
}

enum insntrace_status
session_check_map(uint64_t offset, uint64_t bytes)
{
	struct buffer *buffer;

	return find_mapped(offset, bytes, &buffer);
}

enum insntrace_status
session_map_page(uint64_t offset, uint64_t *pa)
{
	struct buffer *buffer;
	enum insntrace_status status = find_mapped(
	    offset, OS_PAGE_BYTES, &buffer);

	if (status != INSNTRACE_OK)
		return status;
	buffer->mapped = true;
	*pa = buffer_frame(
	    buffer, offset & ((UINT64_C(1) << INSNTRACE_MAP_SHIFT) - 1));
	return INSNTRACE_OK;
}

struct buffer *
session_take_removed(void)
{
	struct buffer *removed = session.removed;

	session.removed = NULL;
	return removed;
}

void
session_abandon(void)
{
	(void)session_run(OP_STOP, NULL);
	(void)session_run(OP_TERMINATE, NULL);
}
