/*
 * Goal: what a Linux kernel says of itself is understood: mistakes on its console with row
 * and place, and its list of functions.  Method: lines as Linux 6.1 prints them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/explore/linux/linux_code.h"
#include "harness/explore/linux/linux_console.h"

static struct linux_message
only_message(const char *text)
{
	struct linux_message message, other;
	size_t at = 0;

	assert_true(linux_console_next(text, strlen(text), &at, &message));
	assert_false(linux_console_next(text, strlen(text), &at, &other));
	return message;
}

static void
a_warning_has_its_line_and_its_function(void **state)
{
	struct linux_message message = only_message(
	    "[    2.1] perf: all is well\n"
	    "[    2.2] ------------[ cut here ]------------\n"
	    "[    2.2] WARNING: CPU: 0 PID: 77 at "
	    "arch/x86/events/intel/pt.c:1605 pt_event_stop+0x12c/0x160\n"
	    "[    2.2] RIP: 0010:pt_event_stop+0x12c/0x160\n"
	    "[    2.2] ---[ end trace 0000000000000000 ]---\n");

	(void)state;
	assert_int_equal(message.id, CHECK_PANIC);
	assert_false(message.deadly);
	assert_string_equal(message.function, "pt_event_stop");
	assert_int_equal(message.offset, 0x12c);
	assert_string_equal(message.file, "arch/x86/events/intel/pt.c");
	assert_int_equal(message.line, 1605);
}

static void
an_oops_is_deadly_and_has_the_rip(void **state)
{
	size_t at = 0;
	struct linux_message message;
	const char *text =
	    "[    2.2] BUG: kernel NULL pointer dereference, address: 0008\n"
	    "[    2.2] #PF: supervisor read access in kernel mode\n"
	    "[    2.2] Oops: 0000 [#1] PREEMPT SMP NOPTI\n"
	    "[    2.2] RIP: 0010:intel_pt_interrupt+0x5d/0x2a0\n";

	(void)state;
	assert_true(linux_console_next(text, strlen(text), &at, &message));
	assert_int_equal(message.id, CHECK_PAGE_FAULT);
	assert_true(message.deadly);
	assert_string_equal(message.function, "intel_pt_interrupt");
	assert_int_equal(message.offset, 0x5d);
	assert_string_equal(message.text,
	    "BUG: kernel NULL pointer dereference, address: 0008");
}

static void
other_rows_are_told_apart(void **state)
{
	static const struct {
		const char *line;
		enum check_id id;
	} lines[] = {
		{ "unchecked MSR access error: WRMSR to 0x570 (tried to write "
		  "0x0000000000002501) at rIP: 0xffffffff81012345 "
		  "(native_write_msr+0x4/0x30)\n",
		    CHECK_GP_FAULT },
		{ "WARNING: possible circular locking dependency detected\n",
		    CHECK_LOCK_ORDER },
		{ "BUG: sleeping function called from invalid context\n",
		    CHECK_SLEEP },
		{ "INFO: task perf:77 blocked for more than 120 seconds.\n",
		    CHECK_PROGRESS },
		{ "Kernel panic - not syncing: Fatal exception\n",
		    CHECK_PANIC },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(lines); i++)
		assert_int_equal(only_message(lines[i].line).id, lines[i].id);
	assert_true(linux_console_is_deadly("---[ end trace 00 ]---"));
	assert_false(linux_console_is_deadly("all is well"));
}

/* With the names that newer kernels give to what stands before a function. */
static const char symbols[] = "ffffffff81000000 T startup_64\n"
			      "ffffffff81000400 t event_show\n"
			      "ffffffff81000500 t p6_pmu_enable_all\n"
			      "ffffffff81000600 t inv_show\n"
			      "ffffffff81000700 t pt_update_head\n"
			      "ffffffff81000800 t psb_period_show\n"
			      "ffffffff81000900 t cyc_show\n"
			      "ffffffff81001000 t pt_event_stop\n"
			      "ffffffff810010f0 t __pfx_pt_buffer_setup_aux\n"
			      "ffffffff81001100 t pt_buffer_setup_aux\n"
			      "ffffffff810011f0 T __cfi_intel_pt_interrupt\n"
			      "ffffffff81001200 T intel_pt_interrupt\n"
			      "ffffffff81001300 t uncore_device\n"
			      "ffffffff81001e00 T perf_event_exit_cpu\n"
			      "ffffffff81001f00 T __rb_free_aux\n"
			      "ffffffff81001f80 T perf_output_begin\n"
			      "ffffffff81002000 T perf_aux_output_begin\n"
			      "ffffffff81002100 T get_callchain_entry\n"
			      "ffffffff81003000 t pci_serr_error.part.0\n"
			      "ffffffff81003100 t pci_serr_error.cold\n"
			      "ffffffff81003200 t pci_serr_errors\n"
			      "ffffffff81003300 t pci_serr_error\n"
			      "ffffffff81002000 d a_variable\n"
			      "ffffffffc0001000 t module_function\t[module]\n";

static void
functions_have_ranges_and_parts(void **state)
{
	struct linux_code *code;
	struct linux_range range;
	struct tz_error err;
	uint64_t offset;

	(void)state;
	assert_int_equal(
	    linux_code_read(symbols, sizeof(symbols) - 1, &code, &err), 0);
	range = linux_code_function(code, "pt_event_stop");
	assert_int_equal(range.begin, 0xffffffff81001000);
	assert_int_equal(range.end, 0xffffffff81001100);
	assert_int_equal(linux_code_function(code, "absent").begin, 0);
	assert_int_equal(linux_code_made_of(code, "pci_serr_error", 0).begin,
	    0xffffffff81003000);
	assert_int_equal(linux_code_made_of(code, "pci_serr_error", 1).begin,
	    0xffffffff81003300);
	assert_int_equal(
	    linux_code_made_of(code, "pci_serr_error", 2).begin, 0);
	range = linux_code_part(code, LINUX_PT);
	/* Of the attributes, those between functions of the driver. */
	assert_int_equal(range.begin, 0xffffffff81000700);
	assert_int_equal(range.end, 0xffffffff81001300);
	range = linux_code_part(code, LINUX_AUX);
	assert_int_equal(range.begin, 0xffffffff81001f00);
	assert_int_equal(range.end, 0xffffffff81002100);
	assert_true(linux_code_is_driver(code, 0xffffffff810012ff));
	assert_false(linux_code_is_driver(code, 0xffffffff81001300));
	assert_string_equal(linux_code_name(code, 0xffffffff81001210, &offset),
	    "intel_pt_interrupt");
	assert_int_equal(offset, 0x10);
	linux_code_free(code);
}

static void
a_list_without_addresses_is_refused(void **state)
{
	struct linux_code *code;
	struct tz_error err;
	const char *text = "0000000000000000 T pt_event_stop\n";

	(void)state;
	assert_int_equal(
	    linux_code_read(text, strlen(text), &code, &err), -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "no addresses"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_warning_has_its_line_and_its_function),
		cmocka_unit_test(an_oops_is_deadly_and_has_the_rip),
		cmocka_unit_test(other_rows_are_told_apart),
		cmocka_unit_test(functions_have_ranges_and_parts),
		cmocka_unit_test(a_list_without_addresses_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
