/*
 * The ioctls of insntrace.h: the operation of each, and its argument.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_SESSION_COMMAND_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_SESSION_COMMAND_H

#include "driver/insntrace/core/session/state.h"
#include "driver/insntrace/insntrace.h"

#include <stdbool.h>
#include <stddef.h>

union command_args {
	struct insntrace_allocation allocation;
	struct insntrace_buffer buffer;
	struct insntrace_buffer_state state;
	struct insntrace_chunk chunk;
	struct insntrace_thread thread;
};

struct command {
	enum insntrace_command number;
	enum op op;
	size_t bytes; /* of the argument */
	bool answers; /* the argument is written back */
};

/* NULL: there is no command NUMBER. */
const struct command *command_find(uint64_t number);

#endif
