/* For actors whose drivers have no call that returns a position. */
#include "harness/guest/user/actor.h"

void
actor_position_begin(const uint64_t *args)
{
	(void)args;
	user_fail("this actor takes no positions", ACTOR_NOSYS);
}

void
actor_position_end(void)
{
}

int64_t
actor_position(const uint64_t *args, uint64_t bytes, bool mapped)
{
	(void)args;
	(void)bytes;
	(void)mapped;
	return ACTOR_NOSYS;
}
