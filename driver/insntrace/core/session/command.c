#include "driver/insntrace/core/session/command.h"

static const struct command commands[] = {
	{ INSNTRACE_INITIALIZE, OP_INITIALIZE,
	    sizeof(struct insntrace_allocation), false },
	{ INSNTRACE_TERMINATE, OP_TERMINATE, 0, false },
	{ INSNTRACE_GET_ALLOCATION, OP_GET_ALLOCATION,
	    sizeof(struct insntrace_allocation), true },
	{ INSNTRACE_ALLOCATE_BUFFER, OP_ALLOCATE_BUFFER,
	    sizeof(struct insntrace_buffer), true },
	{ INSNTRACE_FREE_BUFFER, OP_FREE_BUFFER,
	    sizeof(struct insntrace_buffer), false },
	{ INSNTRACE_GET_BUFFER_CONFIG, OP_GET_BUFFER_CONFIG,
	    sizeof(struct insntrace_buffer), true },
	{ INSNTRACE_GET_BUFFER_STATE, OP_GET_BUFFER_STATE,
	    sizeof(struct insntrace_buffer_state), true },
	{ INSNTRACE_GET_CHUNK, OP_GET_CHUNK, sizeof(struct insntrace_chunk),
	    true },
	{ INSNTRACE_START, OP_START, 0, false },
	{ INSNTRACE_STOP, OP_STOP, 0, false },
	{ INSNTRACE_ASSIGN_THREAD_BUFFER, OP_ASSIGN_THREAD,
	    sizeof(struct insntrace_thread), false },
	{ INSNTRACE_RELEASE_THREAD_BUFFER, OP_RELEASE_THREAD,
	    sizeof(struct insntrace_thread), false },
};

const struct command *
command_find(uint64_t number)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].number == number)
			return &commands[i];
	}
	return NULL;
}
