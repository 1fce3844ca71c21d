/*
 * Goal: an audit reports each load, store and call of a stretch of code once, in
 * order, with the place and the address that it has, however the code is run; and it
 * changes nothing.  Method: a guest whose accesses are written down here; others, which
 * fault, are interrupted, change their code or run on several CPUs, as blocks, one
 * instruction at a time, broken off and from a snapshot: the same reports.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT  (GUEST_KERN + 0x200000)
#define CODE  (TEXT + 0x1000)
#define DATA  (GUEST_KERN + 0x408000)
#define FRAME (GUEST_KERN + 0x610000 - 24)
#define UDATA UINT64_C(0x600000)
#define XAREA (GUEST_KERN + 0x40c000)

#define LOAD(va, bytes) \
 {                      \
  (va), (bytes), false  \
 }
#define STORE(va, bytes) \
 {                       \
  (va), (bytes), true    \
 }

struct row {
	uint64_t va;
	uint32_t bytes;
	bool write;
};

static const struct row forms[] = {
	STORE(FRAME - 8, 8),
	LOAD(DATA, 8),
	LOAD(DATA + 0x100, 8),
	LOAD(DATA + 0x208, 8),
	STORE(DATA + 0x310, 4),
	STORE(DATA + 0x320, 16),
	LOAD(DATA + 0x108, 8),
	STORE(DATA + 0x118, 1),
	STORE(DATA + 0x124, 2),
	STORE(DATA + 0x139, 1),
	STORE(DATA + 0x110, 4),
	/* rep stosb, movsw, stosd of nothing, stosw downwards */
	STORE(DATA + 0x800, 1),
	STORE(DATA + 0x801, 1),
	STORE(DATA + 0x802, 1),
	STORE(DATA + 0x803, 2),
	LOAD(DATA, 2),
	STORE(DATA + 0x805, 2),
	LOAD(DATA + 2, 2),
	STORE(DATA + 0x808, 2),
	STORE(DATA + 0x806, 2),
	/* repe cmpsb up to a difference, lodsb, scasb, movsb */
	LOAD(DATA + 0x910, 1),
	LOAD(DATA + 0x900, 1),
	LOAD(DATA + 0x911, 1),
	LOAD(DATA + 0x901, 1),
	LOAD(DATA + 0x912, 1),
	LOAD(DATA + 0x902, 1),
	LOAD(DATA + 0x913, 1),
	LOAD(DATA + 0x903, 1),
	LOAD(DATA + 0x914, 1),
	LOAD(DATA + 0x904, 1),
	STORE(DATA + 0x905, 1),
	LOAD(DATA + 0x915, 1),
	/* bts, bt */
	STORE(DATA + 0xa00 - 8, 8),
	LOAD(DATA + 0xa00 + 16, 4),
	/* xchg, xadd, cmpxchg, cmp, test, cmovz, push, pop, pop by RSP */
	STORE(DATA + 0xa00, 8),
	STORE(DATA + 0xa08, 8),
	STORE(DATA + 0xa00, 8),
	LOAD(DATA + 0xa00, 8),
	LOAD(DATA + 0xa00, 4),
	LOAD(DATA + 0xa20, 8),
	LOAD(DATA + 0xa10, 8),
	STORE(DATA + 0xa18, 8),
	STORE(FRAME - 0x38, 8),
	/* by GS, with a 32-bit address, 16 bytes, by a constant */
	LOAD(GUEST_KERN + 0x600008, 8),
	STORE(GUEST_KERN + 0x600408, 2),
	STORE(UDATA + 4, 1),
	STORE(DATA + 0xa05, 16),
	STORE(DATA + 0xa40, 1),
	/* call, and in the function that it calls */
	LOAD(DATA + 8, 8),
	STORE(DATA + 0xa28, 4),
};

static const struct row faults[] = {
	STORE(DATA + 0xa00, 4),
	STORE(DATA + 0xa10, 4),
	LOAD(DATA + 0xa18, 8),
	STORE(UDATA + 0x1ffffe, 1),
	STORE(UDATA + 0x1fffff, 1),
	STORE(DATA + 0xa20, 4),
};

static const struct row trapped[] = {
	STORE(XAREA + 512, 192),
	LOAD(XAREA + 512, 192),
	LOAD(DATA + 0xa08, 8),
	STORE(DATA + 0xa10, 8),
	LOAD(DATA + 0xa18, 4),
	STORE(DATA + 0xa20, 8),
	LOAD(DATA + 0xa0c, 4),
	STORE(DATA + 0xa00, 4),
};

#define REPORTS_MAX 100000

struct reports {
	struct audit_access *access;
	uint64_t *frame; /* RBP before each */
	struct machine *machine;
	size_t count, calls;
	struct audit_call call[8];
};

static void
on_access(void *arg, const struct audit_access *access)
{
	struct reports *reports = arg;

	assert_true(reports->count < REPORTS_MAX);
	reports->frame[reports->count] = machine_audit_frame(
	    reports->machine, access->cpu);
	reports->access[reports->count++] = *access;
}

static void
on_call(void *arg, const struct audit_call *call)
{
	struct reports *reports = arg;

	assert_true(reports->calls < TZ_ARRAY_LEN(reports->call));
	reports->call[reports->calls++] = *call;
}

static struct reports
make_reports(void)
{
	struct reports reports = {
		.access = calloc(REPORTS_MAX, sizeof(*reports.access)),
		.frame = calloc(REPORTS_MAX, sizeof(*reports.frame)),
	};

	assert_non_null(reports.access);
	assert_non_null(reports.frame);
	return reports;
}

static void
drop_reports(struct reports *reports)
{
	free(reports->access);
	free(reports->frame);
}

static void
assert_same_reports(const struct reports *a, const struct reports *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		const struct audit_access *p = &a->access[i];
		const struct audit_access *q = &b->access[i];

		if (p->cpu != q->cpu || p->insns != q->insns ||
		    p->rip != q->rip || a->frame[i] != b->frame[i] ||
		    p->va != q->va || p->bytes != q->bytes ||
		    p->write != q->write)
			fail_msg("report %zu: CPU %u, %llu: 0x%llx accesses "
				 "0x%llx and CPU %u, %llu: 0x%llx accesses "
				 "0x%llx",
			    i, p->cpu, (unsigned long long)p->insns,
			    (unsigned long long)p->rip,
			    (unsigned long long)p->va, q->cpu,
			    (unsigned long long)q->insns,
			    (unsigned long long)q->rip,
			    (unsigned long long)q->va);
	}
	assert_int_equal(a->count, b->count);
}

/* A way of running. */
struct way {
	bool single_step;
	enum machine_stepping stepping;
	uint64_t stop_every; /* instructions; 0: never */
};

static void
go(struct guest *guest, uint64_t stop_every)
{
	struct machine_counters counters;

	if (stop_every == 0) {
		guest_go(guest, guest->options.insns_max);
		return;
	}
	do {
		machine_counters(guest->machine, 0, &counters);
		machine_set_stop(
		    guest->machine, 0, counters.insns + stop_every);
		machine_run(guest->machine, 3000000, &guest->result);
	} while (guest->result.end == MACHINE_STOP);
}

static void
run_way(const char *name, struct guest_options options, const struct way *way,
    uint64_t begin, uint64_t end, struct guest *guest, struct reports *reports)
{
	options.single_step = way->single_step;
	options.access = on_access;
	options.arg = reports;
	guest_load(name, &options, guest);
	reports->machine = guest->machine;
	machine_set_watched(guest->machine, begin, begin + (end - begin) / 2);
	machine_set_stepping(guest->machine, way->stepping);
	machine_set_audit(
	    guest->machine, &(struct audit){ .begin = begin, .end = end });
	reports->count = 0;
	go(guest, way->stop_every);
}

static const struct way ways[] = {
	{ .single_step = false },
	{ .single_step = true },
	{ .stepping = STEPPING_ALL },
	{ .stepping = STEPPING_WATCHED },
	{ .stop_every = 1 },
	{ .stop_every = 7 },
};

/* Every way makes the same reports; the run is that without an audit. */
static void
check_ways(const char *name, const struct guest_options *options)
{
	struct reports first = make_reports(), other = make_reports();
	struct guest plain, guest;

	guest_run(name, options, &plain);
	run_way(name, *options, &ways[0], 0, UINT64_MAX, &guest, &first);
	guest_assert_same(&plain, &guest);
	if (first.count == 0)
		fail_msg("%s: nothing is reported", name);
	guest_free(&guest);
	for (size_t i = 1; i < TZ_ARRAY_LEN(ways); i++) {
		run_way(
		    name, *options, &ways[i], 0, UINT64_MAX, &guest, &other);
		assert_int_equal(guest.result.end, plain.result.end);
		assert_same_reports(&first, &other);
		guest_free(&guest);
	}
	guest_free(&plain);
	drop_reports(&first);
	drop_reports(&other);
}

static void
assert_rows(const struct reports *reports, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count && i < reports->count; i++) {
		const struct audit_access *access = &reports->access[i];

		if (access->va != rows[i].va ||
		    access->bytes != rows[i].bytes ||
		    access->write != rows[i].write)
			fail_msg("row %zu: 0x%llx accesses %u bytes at 0x%llx, "
				 "not %u at 0x%llx",
			    i, (unsigned long long)access->rip, access->bytes,
			    (unsigned long long)access->va, rows[i].bytes,
			    (unsigned long long)rows[i].va);
	}
	assert_int_equal(reports->count, count);
}

static void
check_rows(uint64_t param, const struct row *rows, size_t count)
{
	const struct guest_options options = {
		.param = param, .profile = "alderlake-n", .no_exec_log = true
	};
	struct reports reports = make_reports();
	struct guest guest;

	for (size_t i = 0; i < TZ_ARRAY_LEN(ways); i++) {
		run_way("accesses", options, &ways[i], CODE, CODE + 0x1000,
		    &guest, &reports);
		guest_assert_exit(&guest);
		assert_rows(&reports, rows, count);
		guest_free(&guest);
	}
	drop_reports(&reports);
}

static void
each_form_has_its_address(void **state)
{
	(void)state;
	check_rows(0, forms, TZ_ARRAY_LEN(forms));
}

static void
what_a_fault_keeps_from_running_is_not_reported(void **state)
{
	(void)state;
	check_rows(1, faults, TZ_ARRAY_LEN(faults));
}

static void
what_the_machine_executes_is_reported(void **state)
{
	(void)state;
	check_rows(2, trapped, TZ_ARRAY_LEN(trapped));
}

/* RBP before the instruction: in the function that has just made its frame, too. */
static void
the_frame_is_that_of_the_instruction(void **state)
{
	const struct guest_options options = { .no_exec_log = true };
	struct reports reports = make_reports();
	struct guest guest;

	(void)state;
	run_way("accesses", options, &ways[0], CODE, CODE + 0x1000, &guest,
	    &reports);
	assert_rows(&reports, forms, TZ_ARRAY_LEN(forms));
	for (size_t i = 0; i + 1 < reports.count; i++)
		assert_int_equal(reports.frame[i], FRAME);
	assert_int_equal(reports.frame[reports.count - 1], FRAME - 0x40 - 16);
	guest_free(&guest);
	drop_reports(&reports);
}

static void
calls_are_reported_with_their_arguments(void **state)
{
	static const uint64_t functions[] = { TEXT + 0x2000, TEXT + 0x2100 };
	static const struct {
		unsigned function;
		uint64_t arg;
	} want[] = { { 0, 1 }, { 1, 4 }, { 0, 5 }, { 1, 6 } };

	(void)state;
	for (size_t way = 0; way < TZ_ARRAY_LEN(ways); way++) {
		struct reports reports = make_reports();
		struct guest_options options = { .param = 3,
			.single_step = ways[way].single_step,
			.access = on_access,
			.call = on_call,
			.arg = &reports,
			.no_exec_log = true };
		struct guest guest;

		guest_load("accesses", &options, &guest);
		reports.machine = guest.machine;
		machine_set_stepping(guest.machine, ways[way].stepping);
		machine_set_audit(guest.machine,
		    &(struct audit){ .begin = CODE,
			.end = CODE + 0x1000,
			.function = functions,
			.function_count = 2 });
		go(&guest, ways[way].stop_every);
		guest_assert_exit(&guest);
		assert_int_equal(reports.count, 0);
		assert_int_equal(reports.calls, TZ_ARRAY_LEN(want));
		for (size_t i = 0; i < reports.calls; i++) {
			const struct audit_call *call = &reports.call[i];

			assert_int_equal(
			    call->function, functions[want[i].function]);
			assert_int_equal(call->arg[0], want[i].arg);
			assert_int_equal(call->arg[1], 2);
			assert_int_equal(call->arg[2], 3);
			assert_true(
			    call->rip >= CODE && call->rip < CODE + 0x1000);
		}
		guest_free(&guest);
		drop_reports(&reports);
	}
}

static void
an_audit_is_the_same_whatever_happens(void **state)
{
	(void)state;
	check_ways("interrupts", &(struct guest_options){ 0 });
	check_ways("pmi", &(struct guest_options){ .param = 7 });
	check_ways("rings", &(struct guest_options){ 0 });
	check_ways("changes", &(struct guest_options){ .no_decode = true });
	check_ways("branches", &(struct guest_options){ 0 });
	check_ways("strings", &(struct guest_options){ .no_decode = true });
	check_ways("xstate", &(struct guest_options){ 0 });
}

/* With engines that have run all of it before. */
static void
a_snapshot_keeps_the_audit(void **state)
{
	struct reports first = make_reports(), again = make_reports();
	struct reports reports = make_reports();
	struct guest_options options = {
		.access = on_access, .arg = &reports, .no_exec_log = true
	};
	struct machine_snapshot *snapshot;
	struct guest guest;

	(void)state;
	for (uint64_t insns = 100; insns < 2000; insns += 61) {
		guest_load("interrupts", &options, &guest);
		reports.machine = guest.machine;
		machine_set_audit(guest.machine,
		    &(struct audit){ .begin = TEXT, .end = TEXT + 0x10000 });
		guest_go(&guest, insns);
		snapshot = machine_snapshot_take(guest.machine, NULL);
		assert_non_null(snapshot);
		for (int i = 0; i < 2; i++) {
			struct reports *to = i == 0 ? &first : &again;

			reports.count = 0;
			guest_go(&guest, guest.options.insns_max);
			to->count = reports.count;
			memcpy(to->access, reports.access,
			    reports.count * sizeof(*reports.access));
			memcpy(to->frame, reports.frame,
			    reports.count * sizeof(*reports.frame));
			machine_snapshot_apply(guest.machine, snapshot);
		}
		assert_same_reports(&first, &again);
		machine_snapshot_free(guest.machine, snapshot);
		guest_free(&guest);
	}
	drop_reports(&first);
	drop_reports(&again);
	drop_reports(&reports);
}

/* Where CPUs take turns, each way ends them at the same instructions. */
static void
several_cpus_are_audited(void **state)
{
	struct reports first = make_reports(), other = make_reports();
	const struct guest_options options = {
		.cpus = 4, .param = 4, .no_exec_log = true
	};
	unsigned cpus = 0;
	struct guest guest;

	(void)state;
	run_way("smp", options, &ways[0], TEXT, TEXT + 0x10000, &guest, &first);
	guest_free(&guest);
	for (size_t i = 0; i < first.count; i++)
		cpus |= 1u << first.access[i].cpu;
	assert_int_equal(cpus, 0xf);
	for (size_t i = 1; i < 4; i++) {
		run_way("smp", options, &ways[i], TEXT, TEXT + 0x10000, &guest,
		    &other);
		assert_same_reports(&first, &other);
		guest_free(&guest);
	}
	drop_reports(&first);
	drop_reports(&other);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_has_its_address),
		cmocka_unit_test(
		    what_a_fault_keeps_from_running_is_not_reported),
		cmocka_unit_test(what_the_machine_executes_is_reported),
		cmocka_unit_test(the_frame_is_that_of_the_instruction),
		cmocka_unit_test(calls_are_reported_with_their_arguments),
		cmocka_unit_test(an_audit_is_the_same_whatever_happens),
		cmocka_unit_test(a_snapshot_keeps_the_audit),
		cmocka_unit_test(several_cpus_are_audited),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
