/*
 * Goal: FreeBSD's interfaces keep what the guest kernel promises to whoever explores
 * it. Method: as kernel_test.c, with a driver on these interfaces.
 */
#include "tests/unit/guest/fixture.h"
#include "tests/unit/guest/freebsd_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct guest_run run;

static void
probe(const char *failing, enum freebsd_probe command)
{
	char words[32];

	snprintf(words, sizeof(words), "probe=%d", (int)command);
	run.failing = failing;
	guest_run(&run, 1, words);
	run.failing = NULL;
}

static void
what_can_fail_asks_by_its_own_name_once(void **state)
{
	static const struct {
		enum freebsd_probe command;
		const char *name;
	} rows[] = {
		{ FREEBSD_MALLOC, "malloc" },
		{ FREEBSD_MALLOCARRAY, "mallocarray" },
		{ FREEBSD_MALLOC_ALIGNED, "malloc_aligned" },
		{ FREEBSD_UMA, "uma_zalloc" },
		{ FREEBSD_COPYIN, "copyin" },
		{ FREEBSD_SWI, "swi_add" },
		{ FREEBSD_PCINT, "lapic_enable_pcint" },
		{ FREEBSD_PAGE, "vm_page_alloc_noobj_contig" },
		{ FREEBSD_KVA, "kva_alloc" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		probe("nothing", rows[i].command);
		guest_assert_clean(&run);
		assert_int_equal(run.notes[1], 0);
		/* One point is that of the node when the driver loads. */
		assert_int_equal(guest_count(&run, EVENT_POINT), 2);
		probe(rows[i].name, rows[i].command);
		guest_assert_clean(&run);
		assert_true(run.notes[1] < 0);
		assert_int_equal(guest_count(&run, EVENT_POINT), 2);
	}
}

static void
a_driver_without_its_node_is_told_to_unload(void **state)
{
	(void)state;
	probe("make_dev_s", FREEBSD_MAKE_DEV);
	guest_assert_clean(&run);
	assert_true(run.notes[1] < 0);
	probe(NULL, FREEBSD_MAKE_DEV);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
}

static void
a_module_left_out_loads_afresh_each_time(void **state)
{
	(void)state;
	guest_assert_fresh_module(&run, "probe");
}

static void
wrong_locking_ends_the_run_by_name(void **state)
{
	static const struct {
		enum freebsd_probe command;
		const char *text;
	} rows[] = {
		{ FREEBSD_ORDER, "lock order: \"a\"" },
		{ FREEBSD_LOCKED_MALLOC,
		    "sleep: memory allocation with mutex \"a\"" },
		{ FREEBSD_CRITICAL_MALLOC, "sleep: malloc" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		probe(NULL, rows[i].command);
		guest_assert_panic(&run, rows[i].text);
	}
}

static void
a_cpu_offline_is_a_halted_one(void **state)
{
	(void)state;
	guest_run(&run, 2, "what=offline probe=15");
	guest_assert_clean(&run);
	assert_int_equal(run.notes[2], 0);
	assert_true(run.notes[6] < 0);
}

static void
pages_are_told_before_they_can_be_someone_elses(void **state)
{
	(void)state;
	probe(NULL, FREEBSD_PAGE);
	guest_assert_clean(&run);
	assert_int_equal(run.page_allocs, 1);
	assert_int_equal(run.page_frees, 1);
}

static void
other_versions_interfaces_do_as_freebsd_says(void **state)
{
	static const enum freebsd_probe rows[] = { FREEBSD_CONTIG,
		FREEBSD_TASKQUEUE, FREEBSD_SYSINIT, FREEBSD_CRITNEST,
		FREEBSD_KQUEUE };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		probe(NULL, rows[i]);
		guest_assert_clean(&run);
		assert_int_equal(run.notes[1], 0);
	}
	/* M_WAITOK or not. */
	probe("contigmalloc", FREEBSD_CONTIG);
	guest_assert_clean(&run);
	assert_true(run.notes[1] < 0);
}

static void
contiguous_memory_is_guarded(void **state)
{
	static const struct {
		enum freebsd_probe command;
		const char *text;
	} rows[] = {
		{ FREEBSD_CONTIG_FREED, "page fault in the kernel: write to" },
		{ FREEBSD_CONTIG_BEYOND, "page fault in the kernel: write to" },
		{ FREEBSD_CONTIG_FOREIGN, "contigfree: " },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		probe(NULL, rows[i].command);
		guest_assert_panic(&run, rows[i].text);
	}
}

/* FreeBSD's numbers: IPI_SWI 0xfb is taken before IPI_RENDEZVOUS 0xf3. */
static void
of_two_pending_interrupts_the_higher_vector_is_first(void **state)
{
	const struct event *before = NULL;
	uint64_t last = 0;
	char words[32];

	(void)state;
	snprintf(words, sizeof(words), "probe=%d", FREEBSD_VECTORS);
	guest_run(&run, 2, words);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	for (size_t i = 0; i < run.event_count; i++) {
		const struct event *event = &run.events[i];

		if (event->kind != EVENT_INTERRUPT)
			continue;
		if (event->a == 0xf3 && before != NULL &&
		    before->cpu == event->cpu)
			last = before->a;
		before = event;
	}
	assert_int_equal(last, 0xfb);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_fail_asks_by_its_own_name_once),
		cmocka_unit_test(a_driver_without_its_node_is_told_to_unload),
		cmocka_unit_test(a_module_left_out_loads_afresh_each_time),
		cmocka_unit_test(wrong_locking_ends_the_run_by_name),
		cmocka_unit_test(a_cpu_offline_is_a_halted_one),
		cmocka_unit_test(
		    pages_are_told_before_they_can_be_someone_elses),
		cmocka_unit_test(other_versions_interfaces_do_as_freebsd_says),
		cmocka_unit_test(contiguous_memory_is_guarded),
		cmocka_unit_test(
		    of_two_pending_interrupts_the_higher_vector_is_first),
	};

	if (argc < 4)
		return 2;
	guest_init(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
