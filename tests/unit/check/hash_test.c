/*
 * Goal: the hash of the monitors has everything that decides a later violation; an
 * exploration would else merge two runs of which one is wrong.  Method: change each
 * member of a CPU's and a stream's state by itself, after half a session, and compare.
 */
#include "harness/check/state.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "rig.h"

static const struct rig_step half[] = { START, ON, STARTED, PSB, OUT(0, 64),
	OUT(64, 500), { 0 } };

/* A member, and its bit that is changed: bit 0 of its lowest byte. */
struct member {
	const char *name;
	size_t at;
};

#define CPU(member)                                  \
 {                                                   \
  "cpu." #member, offsetof(struct check_cpu, member) \
 }
#define STREAM(member)                                     \
 {                                                         \
  "stream." #member, offsetof(struct check_stream, member) \
 }

static const struct member of_cpu[] = { CPU(trace.state), CPU(trace.in_handler),
	CPU(trace.first), CPU(trace.first_start), CPU(trace.psb),
	CPU(work.done), CPU(work.on_seen), CPU(work.nonempty), CPU(work.broken),
	CPU(work.refused), CPU(work.bytes), CPU(work.psbs), CPU(loss.stopped),
	CPU(loss.failed), CPU(nmi.pending), CPU(nmi.serving),
	CPU(nmi.serving_bit), CPU(nmi.due), CPU(save_area), CPU(table.pa),
	CPU(table.last_valid), CPU(table.last_end), CPU(table.last_stream),
	CPU(table.uses_int), CPU(table.region_pa), CPU(stream), CPU(named),
	CPU(unnamed), CPU(excused) };

static const struct member of_stream[] = { STREAM(key), STREAM(context),
	STREAM(page_count), STREAM(cursor), STREAM(high), STREAM(unread.count),
	STREAM(unread.overwritten), STREAM(kept.count), STREAM(owed),
	STREAM(before.overwritten), STREAM(before.lost), STREAM(before.written),
	STREAM(current), STREAM(fresh), STREAM(unsure), STREAM(blurred),
	STREAM(missing), STREAM(asked), STREAM(drained), STREAM(to_end),
	STREAM(written), STREAM(any_int), STREAM(part) };

#define CORE(member)                                   \
 {                                                     \
  "core." #member, offsetof(struct check_core, member) \
 }

static const struct member of_core[] = { CORE(extents_full), CORE(freed_full),
	CORE(unnamed_count), CORE(unnamed_more), CORE(session.open),
	CORE(session.accepted), CORE(session.programs), CORE(session.mask),
	CORE(session.stopped), CORE(last_actor), CORE(periods.count),
	CORE(periods.more), CORE(asked[0].known), CORE(asked[0].context),
	CORE(asked[0].checked), CORE(actor[0].active), CORE(actor[0].ages),
	CORE(actor[0].works), CORE(actor[0].step), CORE(actor[0].cpu),
	CORE(actor[0].call) };

static void
change_each(struct check *check, void *state, const struct member *members,
    size_t count)
{
	uint64_t hash = check_hash(check);

	for (size_t i = 0; i < count; i++) {
		uint8_t *byte = (uint8_t *)state + members[i].at;

		*byte ^= 1;
		if (check_hash(check) == hash)
			fail_msg("%s is not in the hash", members[i].name);
		*byte ^= 1;
	}
	assert_int_equal(check_hash(check), hash);
}

static void
each_fact_is_in_the_hash(void **unused)
{
	struct check *check = rig_create(false);

	(void)unused;
	rig_play(check, half);
	change_each(check, &check->core.cpu[0], of_cpu, TZ_ARRAY_LEN(of_cpu));
	change_each(
	    check, &check->core.stream[0], of_stream, TZ_ARRAY_LEN(of_stream));
	change_each(check, &check->core, of_core, TZ_ARRAY_LEN(of_core));
	check->core.cpu[0].trace.state = TRACING_OFF;
	change_each(check, &check->core.cpu[0].trace.state,
	    &(struct member){ "cpu.trace.state off", 0 }, 1);
	check_destroy(check);
}

/* TraceEn cleared in a handler or elsewhere: work that follows is judged differently. */
static void
cleared_in_a_handler_is_another_state(void **unused)
{
	struct check *check = rig_create(false);
	uint64_t hash;

	(void)unused;
	rig_play(check, half);
	check->core.cpu[0].trace.state = TRACING_OFF;
	hash = check_hash(check);
	check->core.cpu[0].trace.state = TRACING_OFF_IN_HANDLER;
	assert_int_not_equal(check_hash(check), hash);
	check_destroy(check);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fact_is_in_the_hash),
		cmocka_unit_test(cleared_in_a_handler_is_another_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
