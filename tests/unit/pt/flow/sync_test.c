/*
 * Goal: what a trace captured elsewhere needs of the unit: VMCS packets, PIP.NR,
 * IPs of 8 bytes, and a start in the middle of a trace.  Method: packets as text;
 * a resumed unit must send its next PSB where one that ran all along does.
 */
#include "tests/unit/pt/fake.h"

#include "emu/pt/sync.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BASE UINT64_C(0xffffffff81000000)
#define VMCS UINT64_C(0x352e99000)

static void
vmptrld_sends_vmcs_and_psb_repeats_it(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	pt_unit_vmptrld(fake->unit, VMCS);
	fake->at.non_root = true;
	fake_start(fake, CTL_PLAIN);
	fake_expect_packets(fake,
	    "PSB TSX(00) PIP(12345000.NR) VMCS(352e99000) CBR(37) "
	    "PSBEND EXEC(64) PGE(3:ffffffff81000102)");
	fake_forget(fake);
	fake_cond(fake, true, BASE);
	pt_unit_vmptrld(fake->unit, PT_VMCS_NONE);
	fake_expect_packets(fake,
	    "TNT(T) VMCS(fffffffff"
	    "f000)");
	fake_destroy(fake);
}

static void
an_enclave_is_out_of_context(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_start(fake, CTL_PLAIN);
	fake_forget(fake);
	fake->at.enclave = true;
	fake_transfer(fake, PT_TRANSFER_FAR, BASE);
	fake_expect_packets(fake, "PGD()");
	fake_destroy(fake);
}

static void
a_profile_may_send_ips_of_8_bytes(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake->uarch.ip_full = 6;
	fake_start(fake, CTL_PLAIN);
	fake_forget(fake);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, UINT64_C(0x7fff12345678));
	fake_expect_packets(fake, "TIP(6:7fff12345678)");
	fake_destroy(fake);
}

static void
an_overflow_resumes_with_fup_or_psb(void **state)
{
	for (unsigned psb = 0; psb < 2; psb++) {
		struct fake *fake = fake_create();
		struct pt_resume resume = { .overflow = true, .psb = psb == 1 };

		(void)state;
		fake_start(fake, CTL_PLAIN);
		pt_unit_reset(fake->unit, true);
		fake_forget(fake);
		resume.at = fake->at;
		resume.at.ip = BASE;
		resume.since_look = (uint32_t)(fake_rdmsr(fake, 0x561) >> 32) %
		    64;
		assert_int_equal(pt_unit_resume(fake->unit,
				     CTL_PLAIN | CTL_TRACE_EN, &resume),
		    FAULT_NONE);
		fake_expect_packets(fake,
		    psb == 0 ? "OVF FUP(3:ffffffff81000000)"
			     : "OVF PSB TSX(00) EXEC(64) FUP(3:ffffffff"
			       "81000000) PIP(12345000) CBR(37) PSBEND");
		fake_destroy(fake);
	}
}

/* Indirect jumps to and fro, until the next PSB; returns its stream offset. */
static uint64_t
next_psb(struct fake *fake)
{
	size_t before = fake_count(fake, PT_EVENT_PSB);

	for (unsigned n = 0; fake_count(fake, PT_EVENT_PSB) == before; n++) {
		assert_true(n < 10000);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT,
		    BASE + (n % 2 == 0 ? 0 : UINT64_C(0x1000000)));
	}
	return fake_event(fake, PT_EVENT_PSB, before)->offset_bytes;
}

static void
a_resumed_unit_keeps_the_cadence(void **state)
{
	struct fake *fake = fake_create(), *other = fake_create();
	struct pt_resume resume = { .psb = true };
	uint64_t first, psb;

	(void)state;
	fake_start(fake, CTL_PLAIN);
	psb = next_psb(fake);
	/* The counter was looked at where the PSB's line begins. */
	resume.since_look = psb % 64;
	resume.count = (uint32_t)psb - 2048;
	fake_wrmsr(other, 0x560, FAKE_TABLE);
	fake_poke(other, FAKE_TABLE, FAKE_BUFFER | ENTRY_SIZE(12));
	fake_poke(other, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
	fake_wrmsr(other, 0x561, (psb % 64) << 32);
	resume.at = fake->at;
	resume.at.ip = BASE;
	assert_int_equal(
	    pt_unit_resume(other->unit, CTL_PLAIN | CTL_TRACE_EN, &resume),
	    FAULT_NONE);
	for (unsigned n = 0; n < 10; n++) {
		first = next_psb(fake);
		assert_int_equal(first - psb, next_psb(other));
	}
	fake_destroy(other);
	fake_destroy(fake);
}

static void
a_refused_ctl_changes_nothing(void **state)
{
	struct fake *fake = fake_create();
	struct pt_resume resume = { .psb = true };

	(void)state;
	assert_int_equal(pt_unit_resume(fake->unit,
			     CTL_PLAIN | CTL_TRACE_EN | TZ_BIT(63), &resume),
	    FAULT_GP);
	assert_int_equal(fake_rdmsr(fake, 0x570), 0);
	fake_destroy(fake);
}

static void
a_psb_that_is_asked_for_waits_for_room(void **state)
{
	/* No byte leaves it for as long as this goes on. */
	const struct pt_cycles full = {
		.buffer_bytes = 256, .drain_bytes = 1, .drain_cycles = 4096
	};
	struct fake *fake = fake_create();
	unsigned psbs;

	(void)state;
	assert_int_equal(pt_unit_set_cycles(fake->unit, &full), 0);
	fake_start(fake, CTL_PLAIN);
	psbs = (unsigned)fake_count(fake, PT_EVENT_PSB);
	while (pt_unit_occupancy(fake->unit) + 128 <= 256)
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE);
	pt_unit_psb(fake->unit, BASE);
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), psbs);
	assert_true(pt_unit_psb_due(fake->unit));
	/* While it overflows, neither. */
	while (!pt_unit_overflows(fake->unit))
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE);
	pt_unit_psb(fake->unit, BASE);
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), psbs);
	fake_time(fake, 4096 * 1000);
	pt_unit_resolve(fake->unit, BASE);
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), psbs + 1);
	assert_false(pt_unit_psb_due(fake->unit));
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vmptrld_sends_vmcs_and_psb_repeats_it),
		cmocka_unit_test(an_enclave_is_out_of_context),
		cmocka_unit_test(a_profile_may_send_ips_of_8_bytes),
		cmocka_unit_test(an_overflow_resumes_with_fup_or_psb),
		cmocka_unit_test(a_resumed_unit_keeps_the_cadence),
		cmocka_unit_test(a_refused_ctl_changes_nothing),
		cmocka_unit_test(a_psb_that_is_asked_for_waits_for_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
