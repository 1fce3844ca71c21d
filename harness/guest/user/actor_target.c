/*
 * Programs that an actor traces.  A kill posts the answer that an actor waits
 * for, unless the actor clears .waiting first and does not wait.
 */
#include "harness/guest/user/actor.h"

struct target {
	int64_t pid;
	uint64_t threads; /* with one it makes no further thread */
	uint32_t alive;
	uint32_t waiting[2]; /* for a round, for a thread */
};

static struct target targets[TARGETS_MAX];
static uint32_t target_count;

static int64_t
target_spawn(const uint64_t *args)
{
	uint32_t index = __atomic_fetch_add(&target_count, 1, __ATOMIC_ACQ_REL);
	char line[96];
	int64_t pid;

	if (index >= TARGETS_MAX)
		return ACTOR_INVAL;
	user_format(line, sizeof(line), "index=%u cpu=%d rounds=%u threads=%u",
	    (uint64_t)index, (int64_t)args[0], args[1], args[2]);
	pid = sys3(SYS_SPAWN, address("target"), address(line), 0);
	if (pid < 0)
		return pid;
	targets[index].pid = pid;
	targets[index].threads = args[2];
	__atomic_store_n(&targets[index].alive, 1, __ATOMIC_SEQ_CST);
	return pid;
}

static struct target *
target_find(uint64_t pid)
{
	for (unsigned i = 0; i < TARGETS_MAX; i++) {
		if (targets[i].pid == (int64_t)pid &&
		    __atomic_load_n(&targets[i].alive, __ATOMIC_SEQ_CST) != 0)
			return &targets[i];
	}
	return NULL;
}

/* Posts ORDER and waits for ANSWER, or for the kill of the target. */
static int64_t
target_ask(
    struct target *target, unsigned what, uint64_t order, uint64_t answer)
{
	__atomic_store_n(&target->waiting[what], 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&target->alive, __ATOMIC_SEQ_CST) == 0 &&
	    __atomic_exchange_n(&target->waiting[what], 0, __ATOMIC_SEQ_CST) !=
		0)
		return ACTOR_INVAL;
	sys1(SYS_SEM_POST, order);
	sys1(SYS_SEM_WAIT, answer);
	__atomic_store_n(&target->waiting[what], 0, __ATOMIC_SEQ_CST);
	return 0;
}

static int64_t
target_kill(struct target *target, uint64_t index)
{
	int64_t result;

	__atomic_store_n(&target->alive, 0, __ATOMIC_SEQ_CST);
	result = sys1(SYS_KILL, (uint64_t)target->pid);
	for (unsigned what = 0; what < 2; what++) {
		if (__atomic_exchange_n(
			&target->waiting[what], 0, __ATOMIC_SEQ_CST) != 0)
			sys1(SYS_SEM_POST,
			    what == 0 ? TARGET_DONE(index)
				      : TARGET_CREATED(index));
	}
	return result;
}

int64_t
actor_target(uint32_t call, const uint64_t *args)
{
	struct target *target;
	uint64_t index;

	if (call == SCRIPT_TARGET_SPAWN)
		return target_spawn(args);
	target = target_find(args[0]);
	if (target == NULL)
		return ACTOR_INVAL;
	index = (uint64_t)(target - targets);
	switch (call) {
	case SCRIPT_TARGET_WORK:
		return target_ask(
		    target, 0, TARGET_WORK(index), TARGET_DONE(index));
	case SCRIPT_TARGET_GO:
		return sys1(SYS_SEM_POST, TARGET_WORK(index));
	case SCRIPT_TARGET_THREAD:
		return target->threads < 2
		    ? ACTOR_INVAL
		    : target_ask(target, 1, TARGET_THREAD(index),
			  TARGET_CREATED(index));
	default:
		return target_kill(target, index);
	}
}
