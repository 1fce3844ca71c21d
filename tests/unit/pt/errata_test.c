/*
 * Goal: each erratum that can be switched on shows in the stream as libipt knows
 * it. Method: the situation that it strikes in; libipt, told the processor, gives
 * the true flow and time, and told nothing an error, another flow or another time.
 */
#include "emu/pt/resume.h"
#include "emu/pt/steer.h"
#include "tests/unit/pt/fake.h"
#include "tests/unit/pt/flow_text.h"
#include "traces/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE UINT64_C(0xffffffff81000000)

/* Parts of what the event decoder reads. */
#define MODE_AT(ip) "exec-mode@ffffffff81" ip " iflag:0@ffffffff81" ip " "
#define ENABLED     "enabled@ffffffff81000102 " MODE_AT("000102")
#define INSIDE      "enabled@ffffffff81000010 " MODE_AT("000010") "async-disabled"
#define AT_FUP \
 "overflow@ffffffff81000010 tip@ffffffff81000020 " MODE_AT("000020")

/* A unit of that profile, of whose errata ERRATUM shows where ON. */
static struct fake *
fake_with(const char *profile, enum profile_erratum erratum, bool on)
{
	struct fake *fake = fake_create();

	fake->profile = *profile_find(profile);
	fake->manner = *fake->profile.manner;
	fake->profile.manner = &fake->manner;
	assert_true(fake->profile.errata >> erratum & 1);
	fake->profile.errata_on = on ? UINT32_C(1) << erratum : 0;
	return fake;
}

/*
 * The stream is TRUE_TEXT for a decoder that knows the processor, and OTHER_TEXT for
 * one that does not.
 */
static void
expect_events(struct fake *fake, const char *true_text, const char *other_text)
{
	fake_expect_events(fake, true, true_text);
	fake_expect_events(fake, false, other_text);
	fake_destroy(fake);
}

static void
apl11_an_overflow_ends_in_a_pgd(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct fake *fake = fake_with(
		    "goldmont-plus", PROFILE_ERRATUM_APL11, on);

		fake_start(fake, CTL_PLAIN);
		assert_true(pt_unit_overflow(fake->unit, 9));
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE);
		fake_stop(fake);
		expect_events(fake,
		    on ? ENABLED "overflow"
		       : ENABLED "overflow@ffffffff81000100 async-disabled",
		    on ? ENABLED "error 6"
		       : ENABLED "overflow@ffffffff81000100 async-disabled");
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
		struct fake *fake = fake_with(
		    "goldmont-plus", PROFILE_ERRATUM_APL11, true);

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
		fake_destroy(fake);
	}
}

static void
apl12_an_overflow_outside_has_a_fup(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct fake *fake = fake_with(
		    "goldmont", PROFILE_ERRATUM_APL12, on);

		fake_wrmsr(fake, 0x580, BASE);
		fake_wrmsr(fake, 0x581, BASE + 0x1ff);
		fake_start(fake, CTL_PLAIN | TZ_BIT(32));
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x1000);
		assert_true(pt_unit_overflow(fake->unit, 1));
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x2000);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x10);
		fake_stop(fake);
		expect_events(fake,
		    ENABLED "disabled@ffffffff81001000 overflow " INSIDE,
		    on ? ENABLED "disabled@ffffffff81001000 "
				 "overflow@ffffffff81002000 " INSIDE
		       : ENABLED "disabled@ffffffff81001000 overflow " INSIDE);
	}
}

static void
skd010_the_fup_of_an_overflow_is_missing(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct fake *fake = fake_with(
		    "skylake", PROFILE_ERRATUM_SKD010, on);

		fake_start(fake, CTL_PLAIN);
		assert_true(pt_unit_overflow(fake->unit, 1));
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x10);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x20);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x30);
		fake_stop(fake);
		expect_events(fake,
		    on ? ENABLED "overflow@ffffffff81000020 "
				 "tip@ffffffff81000030 async-disabled"
		       : ENABLED AT_FUP "tip@ffffffff81000030 async-disabled",
		    on ? ENABLED "overflow error 6"
		       : ENABLED AT_FUP "tip@ffffffff81000030 async-disabled");
	}
}

/*
 * With BYTES of CODE at FAKE_CLIP, the flow is TRUE_TEXT where libipt knows the
 * processor, and begins with OTHER_TEXT where it does not.
 */
static void
expect_flow(struct fake *fake, const uint8_t *code, size_t bytes, bool filter,
    const char *true_text, const char *other_text)
{
	pt_unit_sync_output(fake->unit);
	for (unsigned told = 0; told < 2; told++) {
		struct flow_text in = {
			.stream = fake->stream,
			.stream_bytes = fake->stream_bytes,
			.code = code,
			.code_bytes = bytes,
			.code_ip = FAKE_CLIP,
			.signature = told ? fake->profile.signature : 0,
			.filter = { filter ? FAKE_CLIP : 0,
			    filter ? FAKE_CLIP + 0xf : 0 },
		};
		char *text = flow_text_read(&in);

		assert_true(
		    strlen(text) >= strlen(told ? true_text : other_text));
		assert_memory_equal(text, told ? true_text : other_text,
		    strlen(told ? true_text : other_text));
		assert_int_equal(
		    told ? strlen(text) : strlen(true_text), strlen(true_text));
		free(text);
	}
	fake_destroy(fake);
}

static void
bdm70_psb_before_pge_holds_a_fup(void **state)
{
	static const uint8_t code[] = { 0x90, 0x90, 0x90, 0xff, 0xe0 };

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct fake *fake = fake_with(
		    "broadwell", PROFILE_ERRATUM_BDM70, on);

		fake_start(fake, CTL_PLAIN);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, FAKE_CLIP);
		fake_stop(fake);
		expect_flow(fake, code, sizeof(code), false, "2 3",
		    on ? "error 6" : "2 3");
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
		struct fake *fake = fake_with(
		    "broadwell", PROFILE_ERRATUM_BDM64, on);
		struct pt_transfer abort = { .kind = PT_TRANSFER_TSX_ABORT,
			.ip_from = FAKE_CLIP + 8 };

		fake_start(fake, CTL_PLAIN);
		fake_cond(fake, false, FAKE_CLIP + 8);
		fake->at.ip = FAKE_CLIP + 0x20;
		abort.after = fake->at;
		pt_unit_transfer(fake->unit, &abort);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, FAKE_CLIP);
		fake_stop(fake);
		expect_flow(fake, code, sizeof(code), false, "2 20",
		    on ? "2 c c c" : "2 20");
	}
}

static void
skd022_a_vm_entry_sends_a_fup(void **state)
{
	static const uint8_t code[] = { 0x90, 0x90, 0x90, 0x0f, 0x01, 0xc2,
		0x90, 0x90 }; /* 03: vmlaunch */

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct fake *fake = fake_with(
		    "skylake", PROFILE_ERRATUM_SKD022, on);
		struct pt_transfer entry = { .kind = PT_TRANSFER_VM_ENTRY,
			.ip_from = FAKE_CLIP + 3,
			.trace_off = true };

		fake_start(fake, CTL_PLAIN);
		entry.after = fake->at;
		pt_unit_transfer(fake->unit, &entry);
		expect_flow(
		    fake, code, sizeof(code), false, "2 3", on ? "2" : "2 3");
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
		struct fake *fake = fake_with(
		    "skylake", PROFILE_ERRATUM_SKL014, on);

		fake_wrmsr(fake, 0x580, FAKE_CLIP);
		fake_wrmsr(fake, 0x581, FAKE_CLIP + 0xf);
		fake_start(fake, CTL_PLAIN | TZ_BIT(32));
		fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, FAKE_CLIP + 0x20);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, FAKE_CLIP);
		fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, FAKE_CLIP + 0x20);
		fake_stop(fake);
		expect_flow(fake, code, sizeof(code), true, "2 3 4 0 1 2 3 4",
		    on ? "2 3 4 20 error 8" : "2 3 4 0 1 2 3 4");
	}
}

static void
skd007_an_overflow_cuts_a_cyc(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct fake *fake = fake_with(
		    "skylake", PROFILE_ERRATUM_SKD007, on);

		fake_start(fake, CTL_PLAIN | CTL_CYC_EN);
		fake_time(fake, 10);
		assert_true(pt_unit_overflow(fake->unit, 1));
		fake_time(fake, 500);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x10);
		fake_time(fake, 510);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x20);
		fake_stop(fake);
		expect_events(fake, ENABLED AT_FUP "async-disabled",
		    on ? ENABLED "async-branch@ffffffff81000020 async-disabled"
		       : ENABLED AT_FUP "async-disabled");
	}
}

/*
 * How far libipt's time of the last instruction is from NOW; INT64_MIN where it
 * finds an error.  The program: 02: jnz 02; 04: jmp *rax.
 */
static int64_t
time_error(struct fake *fake, bool told, uint64_t now)
{
	static const uint8_t code[] = { 0x90, 0x90, 0x75, 0xfe, 0xff, 0xe0 };
	struct flow_text in = {
		.stream = fake->stream,
		.stream_bytes = fake->stream_bytes,
		.code = code,
		.code_bytes = sizeof(code),
		.code_ip = FAKE_CLIP,
		.signature = told ? fake->profile.signature : 0,
		.tsc_num = fake->profile.tsc_num,
		.tsc_den = fake->profile.tsc_den,
		.mtc_freq = 3,
		.cbr = fake->profile.cbr,
	};
	bool failed;
	char *text;

	pt_unit_sync_output(fake->unit);
	text = flow_text_read(&in);
	failed = strstr(text, "error") != NULL;
	free(text);
	return failed ? INT64_MIN : (int64_t)(in.tsc - now);
}

#define CTL_TIME     (CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_MTC_FREQ(3))
#define MTC_CYCLES   1232 /* 8 ticks of the crystal, each 154 cycles */
#define START_CYCLES (1000 * MTC_CYCLES)

/*
 * SKZ84: reserved bits of TMA are set and a byte follows it; the decoder that knows
 * goes by TSC and MTC then.
 */
static void
skz84_tma_is_corrupt_in_a_guest(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 3; on++) {
		struct fake *fake = fake_with(
		    "skylake-sp", PROFILE_ERRATUM_SKZ84, on != 0);
		uint64_t now = START_CYCLES;
		int64_t error;

		fake->at.non_root = on != 2;
		fake_time(fake, now);
		fake_start(fake, CTL_TIME);
		fake_cond(fake, false, FAKE_NLIP + 2);
		for (unsigned i = 0; i < 50; i++) {
			now += 333;
			fake_time(fake, now);
			fake_transfer(
			    fake, PT_TRANSFER_JMP_INDIRECT, FAKE_NLIP + 2);
		}
		fake_stop(fake);
		/* True to less than a tick of MTC, or of TSC alone. */
		error = time_error(fake, true, now);
		assert_true(error <= 0);
		assert_true(-error < (on == 1 ? 50 * 333 + 1 : MTC_CYCLES));
		assert_true(
		    (time_error(fake, false, now) == INT64_MIN) == (on == 1));
		fake_destroy(fake);
	}
}

#define JUMPS    11
#define CTL_CYCS (CTL_TIME | CTL_CYC_EN)

/*
 * Starts FAKE and turns round TURNS times, the last of which leaves the loop; or, if
 * 0, until a PSB waits for the event that follows.  The turns; *NOW is the time.
 */
static unsigned
turn(struct fake *fake, unsigned turns, uint64_t *now)
{
	unsigned count = 0;

	*now = START_CYCLES;
	fake_time(fake, *now);
	fake_start(fake, CTL_CYCS);
	while (turns == 0 ? !pt_unit_psb_due(fake->unit) : count < turns) {
		*now += 50;
		fake_time(fake, *now);
		count++;
		fake_cond(fake, count != turns,
		    count != turns ? FAKE_NLIP : FAKE_NLIP + 2);
	}
	assert_true(pt_unit_psb_due(fake->unit));
	return count;
}

/*
 * How far the time of the INDEX-th jump lies outside of what the exact decoder says
 * of its TIP: it knows no processor, and takes what packets say.
 */
static void
exact_errors(
    struct fake *fake, const uint64_t times[JUMPS], int64_t errors[JUMPS])
{
	struct clock_config config = { .bytes = fake->stream,
		.count = fake->stream_bytes,
		.ctl = CTL_CYCS,
		.tsc_num = fake->profile.tsc_num,
		.tsc_den = fake->profile.tsc_den,
		.cbr = fake->profile.cbr };
	struct clock *clock = clock_create(&config);
	struct clock_time time;
	size_t count = 0;

	assert_non_null(clock);
	assert_true(clock_sync(clock, 0));
	while (clock_next(clock, &time)) {
		if (time.packet != CLOCK_TIP)
			continue;
		assert_true(time.known && count < JUMPS);
		errors[count] = times[count] < time.first
		    ? -(int64_t)(time.first - times[count])
		    : times[count] > time.last
		    ? (int64_t)(times[count] - time.last)
		    : 0;
		count++;
	}
	assert_int_equal(count, JUMPS);
	clock_destroy(clock);
}

/*
 * SKL168: an MTC that comes while PSB waits is dropped with its CYC.  Until TSC in
 * PSB+ the time is behind by what they would have told.  At the next MTC libipt
 * takes the cycles of one period for those of two: its calibration, and with it the
 * time, is wrong from there on.  2.1.2 has a remedy (pt_tcal_update_mtc() skips that
 * MTC), but what switches it on, pt_tcal_update_psb(), is called by no decoder: told
 * or not, the time is the same.  Only this, or the true time, is demanded.
 */
static void
skl168_a_cyc_before_psb_is_dropped(void **state)
{
	struct fake *dry = fake_with("skylake", PROFILE_ERRATUM_SKL168, false);
	uint64_t now;
	unsigned turns = turn(dry, 0, &now);

	(void)state;
	fake_destroy(dry);
	for (unsigned on = 0; on < 2; on++) {
		struct fake *fake = fake_with(
		    "skylake", PROFILE_ERRATUM_SKL168, on);
		uint64_t times[JUMPS];
		int64_t errors[JUMPS], told, other;

		(void)turn(fake, turns, &now);
		/* An MTC's edge lies before the first, one more among the rest. */
		for (unsigned i = 0; i < JUMPS; i++) {
			now += i == 0 ? MTC_CYCLES : 100;
			fake_time(fake, now);
			fake_transfer(
			    fake, PT_TRANSFER_JMP_INDIRECT, FAKE_NLIP + 2);
			times[i] = now;
		}
		fake_stop(fake);
		told = time_error(fake, true, now);
		other = time_error(fake, false, now);
		exact_errors(fake, times, errors);
		assert_int_equal(other == 0, on == 0);
		assert_true(told == other || told == 0);
		print_message("libipt off by %lld, told by %lld; the jump "
			      "before PSB+ by %lld\n",
		    (long long)other, (long long)told, (long long)errors[0]);
		/* Less than a period is dropped: what had passed at the edge. */
		assert_in_range(errors[0], on ? 1 : 0, on ? MTC_CYCLES : 0);
		for (unsigned i = 1; i < JUMPS; i++)
			assert_int_equal(errors[i], 0);
		fake_destroy(fake);
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
		cmocka_unit_test(bdm64_the_branch_before_an_abort_is_wrong),
		cmocka_unit_test(skd022_a_vm_entry_sends_a_fup),
		cmocka_unit_test(skl014_a_pgd_of_a_direct_branch_is_bare),
		cmocka_unit_test(skd007_an_overflow_cuts_a_cyc),
		cmocka_unit_test(skz84_tma_is_corrupt_in_a_guest),
		cmocka_unit_test(skl168_a_cyc_before_psb_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
