/*
 * Goal: the stores that an audit reports are those that happen; the channel's calls
 * are reported and answered. Method: a guest with every form of store, whose memory is
 * compared after each instruction; one that calls.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BUFFER_PA    0x408000u
#define BUFFER       (GUEST_KERN + BUFFER_PA)
#define BUFFER_BYTES 256

static struct event
find(const struct guest *guest, enum event_kind kind, size_t index)
{
	for (size_t i = 0; i < guest->event_count; i++) {
		if (guest->event[i].kind == kind && index-- == 0)
			return guest->event[i];
	}
	fail_msg("no %s", event_info(kind)->name);
	return (struct event){ 0 };
}

struct stores {
	struct guest *guest;
	uint8_t before[BUFFER_BYTES];
	uint64_t rip;
	uint64_t begin, end; /* reported since then, in the buffer */
	unsigned checked, partly, any;
};

/* What the last instruction changed in the buffer is what was reported. */
static void
check_stores(struct stores *stores)
{
	uint8_t *buffer = stores->guest->ram + BUFFER_PA;
	int first = -1, last = -1;

	for (int i = 0; i < BUFFER_BYTES; i++) {
		if (buffer[i] == stores->before[i])
			continue;
		first = first < 0 ? i : first;
		last = i;
	}
	if (stores->begin >= stores->end) {
		if (first >= 0)
			fail_msg("unreported store at 0x%llx",
			    (unsigned long long)stores->rip);
	} else if (first < (int)stores->begin || last >= (int)stores->end) {
		fail_msg("0x%llx: bytes %d to %d, reported %d to %d",
		    (unsigned long long)stores->rip, first, last,
		    (int)stores->begin, (int)stores->end);
	} else {
		stores->any++;
		stores->partly += first != (int)stores->begin ||
		    last != (int)stores->end - 1;
	}
	memset(buffer, 0x11, BUFFER_BYTES);
	memcpy(stores->before, buffer, BUFFER_BYTES);
}

static void
on_store(void *arg, const struct audit_access *access)
{
	struct stores *stores = arg;
	uint64_t begin = access->va - BUFFER;

	assert_int_equal(access->rip, stores->rip);
	if (!access->write || begin >= BUFFER_BYTES)
		return;
	if (begin < stores->begin)
		stores->begin = begin;
	if (begin + access->bytes > stores->end)
		stores->end = begin + access->bytes;
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct stores *stores = arg;

	if (stores->checked++ > 0)
		check_stores(stores);
	memset(stores->guest->ram + BUFFER_PA, 0x11, BUFFER_BYTES);
	memset(stores->before, 0x11, BUFFER_BYTES);
	stores->begin = BUFFER_BYTES;
	stores->end = 0;
	stores->rip = step->rip;
}

static void
stores_are_reported(void **state)
{
	struct guest guest;
	struct stores stores = { .guest = &guest };
	struct guest_options options = { .step = on_step,
		.access = on_store,
		.arg = &stores,
		.no_exec_log = true };

	(void)state;
	guest_load("control", &options, &guest);
	machine_set_audit(guest.machine,
	    &(struct audit){
		.begin = GUEST_KERN + 0x200000, .end = GUEST_KERN + 0x300000 });
	machine_set_stepping(guest.machine, STEPPING_ALL);
	machine_run(guest.machine, 0, &guest.result);
	guest_assert_exit(&guest);
	assert_int_equal(stores.any, 26);
	assert_int_equal(stores.partly, 2);
	guest_free(&guest);
}

static bool
on_point(void *arg, unsigned cpu, uint64_t id, uint64_t caller)
{
	unsigned *count = arg;

	assert_int_equal(cpu, 0);
	assert_int_equal(id, 0x1234);
	assert_int_equal(caller, 0x5678);
	return ++*count == 2;
}

static void
the_host_answers(void **state)
{
	unsigned count = 0;
	struct guest_options options = {
		.param = 1, .point = on_point, .arg = &count
	};
	struct guest guest;

	(void)state;
	guest_run("control", &options, &guest);
	assert_int_equal(guest_note(&guest, 9, 0), 0);
	assert_int_equal(guest_note(&guest, 9, 1), 1);
	assert_int_equal(guest_note(&guest, 10, 0), 0);
	assert_int_equal(guest_note(&guest, 77, 0), UINT64_MAX);
	assert_int_equal(find(&guest, EVENT_POINT, 0).c, 0);
	assert_int_equal(find(&guest, EVENT_POINT, 1).c, 1);
	assert_int_equal(find(&guest, EVENT_NMI_DONE, 0).a, 2);
	assert_int_equal(find(&guest, EVENT_SCRIPT, 0).b, 64);
	assert_int_equal(find(&guest, EVENT_CALL_BEGIN, 0).c, 3);
	assert_int_equal(find(&guest, EVENT_CALL_END, 0).c, 4);
	assert_int_equal(find(&guest, EVENT_STACK, 0).a, 0x610000);
	guest_free(&guest);
}

/* Frames are cleared up to the first address that is none. */
static void
the_host_clears_frames(void **state)
{
	struct guest_options options = { .param = 1, .no_exec_log = true };
	static const uint64_t other[] = { 0, 0x2000000, 0x2002000, 0x2004000,
		0x2005000 };
	struct guest guest;

	(void)state;
	guest_load("control", &options, &guest);
	memset(guest.ram + 0x2000000, 0x5a, 0x6000);
	memset(guest.ram, 0x5a, 4096);
	guest_go(&guest, 100000);
	guest_assert_exit(&guest);
	assert_int_equal(guest_note(&guest, 15, 0), 0);
	for (unsigned i = 1; i < 5; i++)
		assert_int_equal(guest_note(&guest, 15, i), UINT64_MAX);
	for (uint64_t i = 0; i < 4096; i += 8) {
		assert_int_equal(guest_u64(&guest, 0x2001000 + i), 0);
		assert_int_equal(guest_u64(&guest, 0x2003000 + i), 0);
		for (unsigned j = 0; j < TZ_ARRAY_LEN(other); j++)
			assert_int_equal(guest_u64(&guest, other[j] + i),
			    UINT64_C(0x5a5a5a5a5a5a5a5a));
	}
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_are_reported),
		cmocka_unit_test(the_host_answers),
		cmocka_unit_test(the_host_clears_frames),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
