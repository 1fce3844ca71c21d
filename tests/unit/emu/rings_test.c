#include "guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
every_fault_is_reported_as_the_hardware_does(void **state)
{
	struct guest_options options = {0};
	struct guest guest;

	(void)state;
	guest_run("rings", &options, &guest);
	print_message("end %d %s rip %lx ev %zu n %zu\n",(int)guest.result.end,guest.result.text,guest.result.rip,guest.event_count,guest_record_count(&guest,0)); for(size_t i=0;i<guest.event_count;i++) print_message("%s %lx %lx %lx\n",event_info(guest.event[i].kind)->name,guest.event[i].a,guest.event[i].b,guest.event[i].c);
	for (size_t i = 0; i < guest_record_count(&guest, 0) && i < 80; i++) {
		struct guest_record r = guest_record(&guest, 0, i);
		print_message("%zu: v %lu err %lx rip %lx cs %lx cr2 %lx\n", i,
		    r.vector, r.error, r.rip, r.cs, r.cr2);
	}
	print_message("end %d %s\n", (int)guest.result.end, guest.result.text);
	guest_free(&guest);
	guest_run_all_ways("rings", &options, &guest);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_fault_is_reported_as_the_hardware_does),
	};

	assert_int_equal(argc, 2);
	guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
