#include "driver/insntrace/core/session/state.h"

/* Next states; ABSENT: not allowed. */
enum {
	ABSENT,
	CLOSED = STATE_CLOSED + 1,
	ALLOCATED = STATE_ALLOCATED + 1,
	ACTIVE = STATE_ACTIVE + 1
};

static const unsigned char table[OP_COUNT][STATE_COUNT] = {
	[OP_INITIALIZE] = { [STATE_CLOSED] = ALLOCATED },
	[OP_TERMINATE] = { [STATE_ALLOCATED] = CLOSED },
	[OP_GET_ALLOCATION] = { ABSENT, ALLOCATED, ACTIVE },
	[OP_ALLOCATE_BUFFER] = { [STATE_ALLOCATED] = ALLOCATED },
	[OP_FREE_BUFFER] = { [STATE_ALLOCATED] = ALLOCATED },
	[OP_GET_BUFFER_CONFIG] = { ABSENT, ALLOCATED, ACTIVE },
	/* State and chunks are not available while the buffers are written. */
	[OP_GET_BUFFER_STATE] = { [STATE_ALLOCATED] = ALLOCATED },
	[OP_GET_CHUNK] = { [STATE_ALLOCATED] = ALLOCATED },
	[OP_START] = { [STATE_ALLOCATED] = ACTIVE },
	[OP_STOP] = { [STATE_ACTIVE] = ALLOCATED },
	[OP_ASSIGN_THREAD] = { ABSENT, ALLOCATED, ACTIVE },
	[OP_RELEASE_THREAD] = { ABSENT, ALLOCATED, ACTIVE },
};

bool
state_next(enum state state, enum op op, enum state *next)
{
	unsigned char entry = table[op][state];

	if (entry == ABSENT)
		return false;
	*next = (enum state)(entry - 1);
	return true;
}
