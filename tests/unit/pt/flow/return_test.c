/*
 * Goal: RET compression as the SDM and both public decoders understand it.
 * Method: calls and returns by hand, the stream read with libipt; then the fast
 * inline functions over the same cases.
 */
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define BASE UINT64_C(0xffffffff81000000)

static struct fake *
start(uint64_t ctl)
{
	struct fake *fake = fake_create();

	fake_start(fake, ctl);
	fake_forget(fake);
	return fake;
}

static void
call(struct fake *fake, enum pt_transfer_kind kind, uint64_t target,
    uint64_t nlip)
{
	struct pt_transfer transfer = { .kind = kind, .nlip = nlip };

	fake->at.ip = target;
	transfer.after = fake->at;
	pt_unit_transfer(fake->unit, &transfer);
}

static void
ret(struct fake *fake, uint64_t target)
{
	fake_transfer(fake, PT_TRANSFER_RET, target);
}

static void
flush(struct fake *fake)
{
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE);
}

static void
a_ret_to_the_calls_next_instruction_is_a_tnt_bit(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 5);
	call(fake, PT_TRANSFER_CALL_INDIRECT, BASE, BASE + 7);
	fake_cond(fake, false, BASE);
	ret(fake, BASE + 7);
	ret(fake, BASE + 5);
	flush(fake);
	fake_expect_packets(fake, "TIP(1:0) TNT(NTT) TIP(1:0)");
	fake_destroy(fake);
}

static void
dis_retc_makes_every_ret_a_tip(void **state)
{
	struct fake *fake = start(CTL_PLAIN | CTL_DIS_RETC);

	(void)state;
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 5);
	ret(fake, BASE + 5);
	fake_expect_packets(fake, "TIP(1:5)");
	fake_destroy(fake);
}

static void
a_call_to_the_next_instruction_is_no_call(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE + 5, BASE + 5);
	ret(fake, BASE + 5);
	fake_expect_packets(fake, "TIP(1:5)");
	call(fake, PT_TRANSFER_CALL_INDIRECT, BASE + 5, BASE + 5);
	ret(fake, BASE + 5);
	flush(fake);
	fake_expect_packets(fake, "TIP(1:5) TNT(T) TIP(1:0)");
	fake_destroy(fake);
}

static void
a_ret_elsewhere_is_a_tip_and_empties_the_stack(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 5);
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 7);
	ret(fake, BASE + 9);
	ret(fake, BASE + 7);
	ret(fake, BASE + 5);
	fake_expect_packets(fake, "TIP(1:9) TIP(1:7) TIP(1:5)");
	fake_destroy(fake);
}

static void
the_stack_keeps_the_youngest_64_calls(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	for (unsigned i = 0; i < 70; i++)
		call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 16 * i);
	for (unsigned i = 0; i < 64; i++)
		ret(fake, BASE + 16 * (69 - i));
	ret(fake, BASE + 16 * 5);
	fake_expect_packets(fake,
	    "TNT(TTTTTT) TNT(TTTTTT) TNT(TTTTTT) TNT(TTTTTT) TNT(TTTTTT) "
	    "TNT(TTTTTT) TNT(TTTTTT) TNT(TTTTTT) TNT(TTTTTT) TNT(TTTTTT) "
	    "TNT(TTTT) TIP(1:50)");
	fake_destroy(fake);
}

static void
the_stack_is_empty_after_a_psb(void **state)
{
	struct fake *fake = start(CTL_PLAIN);
	uint64_t ip = BASE;

	(void)state;
	while (fake_count(fake, PT_EVENT_PSB) == 0) {
		call(fake, PT_TRANSFER_CALL_INDIRECT, ip, BASE + 5);
		ip ^= 0x40;
	}
	fake_forget(fake);
	ret(fake, BASE + 5);
	fake_expect_packets(fake, "TIP(3:ffffffff81000005)");
	fake_destroy(fake);
}

static void
the_stack_is_empty_after_tracing_was_off(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake->at.cpl = 3;
	fake_start(fake, CTL_PLAIN & ~CTL_OS);
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 5);
	fake->at.cpl = 0;
	fake_transfer(fake, PT_TRANSFER_FAR, BASE);
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 7);
	fake->at.cpl = 3;
	fake_transfer(fake, PT_TRANSFER_FAR, BASE);
	fake_forget(fake);
	ret(fake, BASE + 7);
	ret(fake, BASE + 5);
	fake_expect_packets(fake, "TIP(1:7) TIP(1:5)");
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 5);
	fake_stop(fake);
	fake_wrmsr(fake, 0x570, (CTL_PLAIN & ~CTL_OS) | CTL_TRACE_EN);
	fake_forget(fake);
	ret(fake, BASE + 5);
	fake_expect_packets(fake, "TIP(1:5)");
	fake_destroy(fake);
}

static void
far_transfers_leave_the_stack_alone(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE, BASE + 5);
	fake_transfer(fake, PT_TRANSFER_INTERRUPT, BASE);
	fake_transfer(fake, PT_TRANSFER_FAR, BASE);
	fake_forget(fake);
	ret(fake, BASE + 5);
	flush(fake);
	fake_expect_packets(fake, "TNT(T) TIP(1:0)");
	fake_destroy(fake);
}

static void
a_ret_leaving_the_filter_is_not_compressed(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_wrmsr(fake, 0x580, BASE);
	fake_wrmsr(fake, 0x581, BASE + 0xffff);
	fake_start(fake, CTL_PLAIN | TZ_BIT(32));
	call(fake, PT_TRANSFER_CALL_DIRECT, BASE + 8, BASE + 0x10000);
	fake_forget(fake);
	ret(fake, BASE + 0x10000);
	fake_expect_packets(fake, "PGD(2:81010000)");
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_ret_to_the_calls_next_instruction_is_a_tnt_bit),
		cmocka_unit_test(dis_retc_makes_every_ret_a_tip),
		cmocka_unit_test(a_call_to_the_next_instruction_is_no_call),
		cmocka_unit_test(
		    a_ret_elsewhere_is_a_tip_and_empties_the_stack),
		cmocka_unit_test(the_stack_keeps_the_youngest_64_calls),
		cmocka_unit_test(the_stack_is_empty_after_a_psb),
		cmocka_unit_test(the_stack_is_empty_after_tracing_was_off),
		cmocka_unit_test(far_transfers_leave_the_stack_alone),
		cmocka_unit_test(a_ret_leaving_the_filter_is_not_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
