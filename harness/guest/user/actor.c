/*
 * Runs a script: one thread for each actor that has a step; all exist before
 * the first step.  Arguments: cpus=N; actor I is pinned to CPU I % N.
 */
#include "harness/guest/user/actor.h"

#define STACK_BYTES  4096
#define SCRIPT_PAGES ((sizeof(struct script) + 4095) / 4096 * 4096)

static struct script *script;
static uint64_t cpus;
static int64_t slots[SCRIPT_SLOTS];
static uint32_t begun[SCRIPT_STEPS_MAX], ended[SCRIPT_STEPS_MAX];
static uint32_t ready[SCRIPT_ACTORS], done[SCRIPT_ACTORS], go;
static bool slot_fixes; /* some fixes are applied before every step */
static _Alignas(16) unsigned char stacks[SCRIPT_ACTORS][STACK_BYTES];

static void
user_word_wait(uint32_t *word)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0)
		sys2(SYS_WAIT_WORD, address(word), 0);
}

static void
word_set(uint32_t *word)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	sys1(SYS_WAKE_WORD, address(word));
}

static uint64_t
value_of(const struct script_arg *arg)
{
	switch (arg->kind) {
	case SCRIPT_SLOT:
		if (arg->value >= SCRIPT_SLOTS)
			user_fail("script: no such slot", (int64_t)arg->value);
		return (uint64_t)slots[arg->value];
	case SCRIPT_DATA:
		return address(script->data) + arg->value;
	default:
		return arg->value;
	}
}

/* Applies the fixes of kind SCRIPT_SLOT, or all others. */
static void
do_fixes(bool of_slots)
{
	for (uint32_t i = 0; i < script->fix_count; i++) {
		const struct script_fix *fix = &script->fix[i];
		uint64_t value = value_of(&fix->arg);

		if (fix->at > SCRIPT_DATA_MAX - sizeof(value))
			user_fail("script: no such data", (int64_t)fix->at);
		if ((fix->arg.kind == SCRIPT_SLOT) == of_slots)
			memcpy(script->data + fix->at, &value, sizeof(value));
		slot_fixes = slot_fixes || fix->arg.kind == SCRIPT_SLOT;
	}
}

static int64_t
call(uint32_t number, const uint64_t *args)
{
	int64_t result;

	if (actor_call(number, args, &result))
		return result;
	if (number < SCRIPT_LOCAL)
		return sys5((enum sys_number)number, args[0], args[1], args[2],
		    args[3], args[4]);
	switch (number) {
	case SCRIPT_WORK:
		actor_branch(args[0]);
		return 0;
	case SCRIPT_READ_WORD:
		return *(const volatile uint32_t *)(uintptr_t)args[0];
	case SCRIPT_TARGET_SPAWN:
	case SCRIPT_TARGET_WORK:
	case SCRIPT_TARGET_GO:
	case SCRIPT_TARGET_THREAD:
	case SCRIPT_TARGET_KILL:
		return actor_target(number, args);
	default:
		return ACTOR_NOSYS;
	}
}

/* True if another actor has the step after INDEX and must be woken. */
static bool
hands_over(uint32_t index)
{
	return index + 1 < script->step_count &&
	    script->step[index + 1].actor != script->step[index].actor;
}

/*
 * Waits until the previous step has ended or, if it is asynchronous, has begun.
 * A previous step of the same actor has ended anyway.
 */
static void
wait_for_turn(uint32_t index)
{
	const struct script_step *before;

	if (index == 0 || !hands_over(index - 1))
		return;
	before = &script->step[index - 1];
	user_word_wait((before->flags & SCRIPT_ASYNC) != 0 ? &begun[index - 1]
							   : &ended[index - 1]);
}

static uint64_t
data_number(uint32_t at, uint8_t bytes)
{
	uint64_t number = 0;

	if (bytes > sizeof(number) || at > SCRIPT_DATA_MAX - sizeof(number))
		user_fail("script: no such data", at);
	memcpy(&number, script->data + at, bytes);
	return number;
}

/* Takes the bytes before the position that STEP's call has returned. */
static int64_t
take(const struct script_step *step, const uint64_t *args)
{
	const struct script_position *position = &step->position;

	if (position->kind == SCRIPT_POSITION_MAPPED)
		return actor_position(args, position->offset_at, true);
	return actor_position(args,
	    data_number(position->page_at, position->page_bytes) * 4096 +
		data_number(position->offset_at, position->offset_bytes),
	    false);
}

static int64_t
call_and_take(const struct script_step *step, const uint64_t *args)
{
	int64_t result, taken = 0;

	if (step->position.kind == SCRIPT_NO_POSITION)
		return call(step->call, args);
	actor_position_begin(args);
	result = call(step->call, args);
	if (result >= 0)
		taken = take(step, args);
	actor_position_end();
	return taken < 0 ? taken : result;
}

static void
run_step(uint32_t index)
{
	const struct script_step *step = &script->step[index];
	bool async = (step->flags & SCRIPT_ASYNC) != 0;
	uint64_t args[SCRIPT_ARGS];
	int64_t result;

	wait_for_turn(index);
	if (slot_fixes)
		do_fixes(true);
	for (unsigned i = 0; i < SCRIPT_ARGS; i++)
		args[i] = value_of(&step->arg[i]);
	if (async && hands_over(index))
		word_set(&begun[index]);
	sys3(SYS_CALL_BEGIN, index, step->actor, step->call);
	result = call_and_take(step, args);
	sys3(SYS_CALL_END, index, step->actor, (uint64_t)result);
	if (step->slot < SCRIPT_SLOTS)
		slots[step->slot] = result;
	if (!async && hands_over(index))
		word_set(&ended[index]);
}

static void
run_actor(uint64_t actor)
{
	for (uint32_t i = 0; i < script->step_count; i++) {
		if (script->step[i].actor == actor)
			run_step(i);
	}
}

static void
pin(uint64_t actor)
{
	int64_t result = sys1(
	    SYS_SET_AFFINITY, UINT64_C(1) << (actor % cpus & 63));

	if (result < 0)
		user_fail("cpus=: no such CPU", result);
}

static void
actor_thread(uint64_t actor)
{
	pin(actor);
	word_set(&ready[actor]);
	user_word_wait(&go);
	run_actor(actor);
	sys1(SYS_THREAD_EXIT, address(&done[actor]));
	__builtin_trap();
}

static bool
has_steps(uint64_t actor)
{
	for (uint32_t i = 0; i < script->step_count; i++) {
		if (script->step[i].actor == actor)
			return true;
	}
	return false;
}

static void
create_threads(void)
{
	for (uint64_t actor = 1; actor < SCRIPT_ACTORS; actor++) {
		int64_t result;

		if (!has_steps(actor))
			continue;
		result = sys3(SYS_THREAD_CREATE,
		    (uint64_t)(uintptr_t)actor_thread,
		    address(stacks[actor] + STACK_BYTES), actor);
		if (result < 0)
			user_fail("thread", result);
		user_word_wait(&ready[actor]);
	}
}

int
user_main(const char *args)
{
	int64_t result;

	cpus = arg_number(args, "cpus", 1);
	if (cpus == 0)
		user_fail("cpus=0", 0);
	pin(0);
	result = sys2(SYS_SCRIPT, 0, SCRIPT_PAGES);
	if (result < 0)
		user_fail("script", result);
	script = (struct script *)(uintptr_t)result;
	if (script->step_count > SCRIPT_STEPS_MAX ||
	    script->fix_count > SCRIPT_FIXES_MAX)
		user_fail("script: too long", script->step_count);
	do_fixes(false);
	create_threads();
	for (unsigned i = 1; i < SCRIPT_ACTORS; i++)
		if (ready[i] != 0) {
			word_set(&go);
			break;
		}
	run_actor(0);
	for (unsigned i = 1; i < SCRIPT_ACTORS; i++)
		if (ready[i] != 0)
			user_word_wait(&done[i]);
	return 0;
}
