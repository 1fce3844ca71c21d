/*
 * Goal: each erratum that can be switched on shows in the stream as libipt knows
 * it. Method: the situation that it strikes in; libipt, told the processor, gives
 * the true flow and time, and told nothing or another processor an error, another
 * flow or another time.  Those of time alone are in errata_time_test.c.
 */
#include "emu/pt/inject.h"
#include "tests/unit/pt/errata/errata_tell.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BASE UINT64_C(0xffffffff81000000)

/* Parts of what the event decoder reads. */
#define MODE_AT(ip) "exec-mode@ffffffff81" ip " iflag:0@ffffffff81" ip " "
#define ENABLED     "enabled@ffffffff81000102 " MODE_AT("000102")
#define INSIDE      "enabled@ffffffff81000010 " MODE_AT("000010") "async-disabled "
#define AT_FUP \
 "overflow@ffffffff81000010 tip@ffffffff81000020 " MODE_AT("000020")
#define LAST "tip@ffffffff81000030 async-disabled "
/* What tell_again() adds, where libipt still knows the mode and where not. */
#define AGAIN "enabled@ffffffff81000102 tip@ffffffff81000040 async-disabled"
#define ANEW  ENABLED "tip@ffffffff81000040 async-disabled"

/* Processors with SKD010, too, give the true flow: its remedy sees the TIP.PGD. */
static void
apl11_an_overflow_ends_in_a_pgd(void **state)
{
	static const char plain[] = ENABLED
	    "overflow@ffffffff81000100 async-disabled " ANEW;

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct tell tell;

		tell_begin(&tell, "goldmont-plus", "broadwell",
		    PROFILE_ERRATUM_APL11, on);
		fake_start(tell.fake, CTL_TELL);
		tell_step(&tell);
		assert_true(pt_unit_overflow(tell.fake->unit, 9));
		fake_transfer(tell.fake, PT_TRANSFER_JMP_INDIRECT, BASE);
		fake_stop(tell.fake);
		tell_again(&tell, CTL_TELL);
		tell_expect_events(&tell, on ? ENABLED "overflow " ANEW : plain,
		    on ? ENABLED "error 6" : plain);
		tell_end(&tell);
	}
}

static void
apl11_of_an_overflow_by_itself(void **state)
{
	const struct pt_cycles cycles = {
		.buffer_bytes = 256, .drain_bytes = 1, .drain_cycles = 4096
	};

	(void)state;
	/* It begins in a TIP or in a TNT, which leaves an outcome behind. */
	for (unsigned every = 1; every < 50; every++) {
		struct tell tell;
		struct fake *fake;

		tell_begin(&tell, "goldmont-plus", "broadwell",
		    PROFILE_ERRATUM_APL11, true);
		fake = tell.fake;
		assert_int_equal(pt_unit_set_cycles(fake->unit, &cycles), 0);
		fake_start(fake, CTL_PLAIN);
		for (unsigned n = 0; !pt_unit_overflows(fake->unit); n++) {
			if (n % every == 0)
				fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT,
				    BASE + 0x10000 * (n % 7));
			else
				fake_cond(fake, n & 1, BASE);
		}
		fake_stop(fake);
		assert_int_equal(fake_count(fake, PT_EVENT_OVERFLOW), 2);
		assert_int_equal(
		    fake_event(fake, PT_EVENT_OVERFLOW, 1)->value, 0);
		tell_end(&tell);
	}
}

static void
apl12_an_overflow_outside_has_a_fup(void **state)
{
	static const char plain[] = ENABLED
	    "disabled@ffffffff81001000 overflow " INSIDE AGAIN;

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct tell tell;
		struct fake *fake;

		tell_begin(&tell, "goldmont", "goldmont-plus",
		    PROFILE_ERRATUM_APL12, on);
		fake = tell.fake;
		fake_wrmsr(fake, 0x580, BASE);
		fake_wrmsr(fake, 0x581, BASE + 0x1ff);
		fake_start(fake, CTL_TELL | TZ_BIT(32));
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x1000);
		assert_true(pt_unit_overflow(fake->unit, 1));
		tell_step(&tell);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x2000);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x10);
		fake_stop(fake);
		tell_again(&tell, CTL_TELL);
		tell_expect_events(&tell, plain,
		    on ? ENABLED "disabled@ffffffff81001000 "
				 "overflow@ffffffff81002000 " INSIDE AGAIN
		       : plain);
		tell_end(&tell);
	}
}

/* A Skylake's overflow, and jumps behind it; in between a branch where COND. */
static void
play_skd010(struct tell *tell, bool on, bool cond)
{
	tell_begin(tell, "skylake", "skylake-sp", PROFILE_ERRATUM_SKD010, on);
	fake_start(tell->fake, CTL_TELL);
	assert_true(pt_unit_overflow(tell->fake->unit, 1));
	tell_step(tell);
	fake_transfer(tell->fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x10);
	if (cond)
		fake_cond(tell->fake, true, BASE);
	tell_jump(tell, BASE + 0x20);
	tell_jump(tell, BASE + 0x30);
	fake_stop(tell->fake);
	tell_again(tell, CTL_TELL);
}

static void
skd010_the_fup_of_an_overflow_is_missing(void **state)
{
	static const char plain[] = ENABLED AT_FUP LAST AGAIN;
	struct tell tell;

	(void)state;
	play_skd010(&tell, false, false);
	tell_expect_events(&tell, plain, plain);
	tell_end(&tell);
	play_skd010(&tell, true, false);
	tell_expect_events(&tell,
	    ENABLED "overflow@ffffffff81000020 " LAST ANEW,
	    ENABLED "overflow error 6");
	tell_end(&tell);
}

/*
 * Where branches come before the next TIP libipt cannot tell which they are: it finds
 * an error, told or not.
 */
static void
skd010_with_branches_cannot_be_read(void **state)
{
	struct tell tell;

	(void)state;
	play_skd010(&tell, true, true);
	fake_expect_events(tell.fake, true, ENABLED "error 6");
	fake_expect_events(tell.fake, false, ENABLED "error 6");
	tell_end(&tell);
}

/* What remains of the CYC reads, without the remedy, as two. */
static void
skd007_an_overflow_cuts_a_cyc(void **state)
{
	static const char plain[] = ENABLED AT_FUP "async-disabled " AGAIN;

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct tell tell;
		struct fake *fake;

		tell_begin(
		    &tell, "skylake", "skylake-sp", PROFILE_ERRATUM_SKD007, on);
		fake = tell.fake;
		fake_start(fake, CTL_TELL);
		assert_true(pt_unit_overflow(fake->unit, 1));
		tell_step(&tell);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x10);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x20);
		fake_stop(fake);
		tell_again(&tell, CTL_TELL);
		tell_expect_events(&tell, plain,
		    on ? ENABLED
			"async-branch@ffffffff81000020 async-disabled " AGAIN
		       : plain);
		tell_end(&tell);
	}
}

/* The other errata need the code to show. */
static void
bdm70_psb_before_pge_holds_a_fup(void **state)
{
	static const uint8_t code[] = { 0x90, 0x90, 0x90, 0xff, 0xe0 };

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct tell tell;

		tell_begin(
		    &tell, "broadwell", "goldmont", PROFILE_ERRATUM_BDM70, on);
		tell.code = code;
		tell.code_bytes = sizeof(code);
		fake_start(tell.fake, CTL_PLAIN | CTL_TSC_EN);
		fake_transfer(tell.fake, PT_TRANSFER_JMP_INDIRECT, FAKE_CLIP);
		fake_stop(tell.fake);
		tell_expect_flow(
		    &tell, "2 3", TELL_START, on ? "error 6" : "2 3");
		tell_end(&tell);
	}
}

static void
bdm64_the_branch_before_an_abort_is_wrong(void **state)
{
	static const uint8_t code[64] = {
		0x90, 0x90,             /* 00 */
		0x0f, 0x84, 4, 0, 0, 0, /* 02: jz 0c */
		0xf4, 0xf4, 0x90, 0x90, /* 08: hlt; hlt */
		0xeb, 0xfe,             /* 0c: jmp 0c */
		[0x20] = 0xff, 0xe0,    /* 20: jmp *rax */
	};

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct pt_transfer abort = { .kind = PT_TRANSFER_TSX_ABORT,
			.ip_from = FAKE_CLIP + 8 };
		struct tell tell;

		tell_begin(
		    &tell, "broadwell", "skylake", PROFILE_ERRATUM_BDM64, on);
		tell.code = code;
		tell.code_bytes = sizeof(code);
		fake_start(tell.fake, CTL_PLAIN | CTL_TSC_EN);
		fake_cond(tell.fake, false, FAKE_CLIP + 8);
		tell.fake->at.ip = FAKE_CLIP + 0x20;
		abort.after = tell.fake->at;
		pt_unit_transfer(tell.fake->unit, &abort);
		fake_transfer(tell.fake, PT_TRANSFER_JMP_INDIRECT, FAKE_CLIP);
		fake_stop(tell.fake);
		tell_expect_flow(
		    &tell, "2 20", TELL_START, on ? "2 c c c" : "2 20");
		tell_end(&tell);
	}
}

static void
skd022_a_vm_entry_sends_a_fup(void **state)
{
	static const uint8_t code[] = { 0x90, 0x90, 0x90, 0x0f, 0x01, 0xc2,
		0x90, 0x90 }; /* 03: vmlaunch */

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct pt_transfer entry = { .kind = PT_TRANSFER_VM_ENTRY,
			.ip_from = FAKE_CLIP + 3,
			.trace_off = true };
		struct tell tell;

		tell_begin(
		    &tell, "skylake", "goldmont", PROFILE_ERRATUM_SKD022, on);
		tell.code = code;
		tell.code_bytes = sizeof(code);
		fake_start(tell.fake, CTL_TELL);
		tell_step(&tell);
		entry.after = tell.fake->at;
		pt_unit_transfer(tell.fake->unit, &entry);
		tell_expect_flow(&tell, "2 3", tell.now, on ? "2" : "2 3");
		tell_end(&tell);
	}
}

static void
skl014_a_pgd_of_a_direct_branch_is_bare(void **state)
{
	static const uint8_t code[64] = { 0x90, 0x90, 0x90, 0x90, 0xe9, 0x17, 0,
		0, 0, /* 04: jmp 20 */
		[0x20] = 0x90, 0xff, 0xe0 /* 21: jmp *rax */ };

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct tell tell;
		struct fake *fake;

		tell_begin(
		    &tell, "skylake", "goldmont", PROFILE_ERRATUM_SKL014, on);
		tell.code = code;
		tell.code_bytes = sizeof(code);
		tell.filter = true;
		fake = tell.fake;
		fake_wrmsr(fake, 0x580, FAKE_CLIP);
		fake_wrmsr(fake, 0x581, FAKE_CLIP + 0xf);
		fake_start(fake, CTL_TELL | TZ_BIT(32));
		tell_step(&tell);
		fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, FAKE_CLIP + 0x20);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, FAKE_CLIP);
		tell_step(&tell);
		fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, FAKE_CLIP + 0x20);
		fake_stop(fake);
		tell_expect_flow(&tell, "2 3 4 0 1 2 3 4", tell.now,
		    on ? "2 3 4 20 error 8" : "2 3 4 0 1 2 3 4");
		tell_end(&tell);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bdm70_psb_before_pge_holds_a_fup),
		cmocka_unit_test(apl11_an_overflow_ends_in_a_pgd),
		cmocka_unit_test(apl11_of_an_overflow_by_itself),
		cmocka_unit_test(apl12_an_overflow_outside_has_a_fup),
		cmocka_unit_test(skd010_the_fup_of_an_overflow_is_missing),
		cmocka_unit_test(skd010_with_branches_cannot_be_read),
		cmocka_unit_test(bdm64_the_branch_before_an_abort_is_wrong),
		cmocka_unit_test(skd022_a_vm_entry_sends_a_fup),
		cmocka_unit_test(skl014_a_pgd_of_a_direct_branch_is_bare),
		cmocka_unit_test(skd007_an_overflow_cuts_a_cyc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
