#include "tests/unit/pt/errata/errata_tell.h"

#include "emu/pt/sync.h"
#include "tests/unit/pt/event_text.h"
#include "tests/unit/pt/flow_text.h"
#include "tests/unit/pt/tip_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TELL_TIPS_MAX 16

/* Where CPUID has no leaf 15H the unit knows no crystal. */
static void
tell_time(struct tell *tell)
{
	struct pt_time now = { .cycles = tell->now, .tsc = tell->now };

	if (tell->fake->profile.tsc_den != 0)
		fake_time(tell->fake, tell->now);
	else
		pt_unit_time(tell->fake->unit, &now);
}

void
tell_begin(struct tell *tell, const char *profile, const char *other,
    enum profile_erratum erratum, bool on)
{
	struct fake *fake = fake_create();

	fake->profile = *profile_find(profile);
	fake->uarch = *fake->profile.uarch;
	fake->profile.uarch = &fake->uarch;
	assert_true(fake->profile.errata >> erratum & 1);
	assert_false(profile_find(other)->errata >> erratum & 1);
	fake->profile.errata_on = on ? UINT32_C(1) << erratum : 0;
	*tell =
	    (struct tell){ .fake = fake, .other = other, .now = TELL_START };
	pt_unit_set_cbr(fake->unit, fake->profile.cbr);
	tell_time(tell);
}

void
tell_end(struct tell *tell)
{
	fake_destroy(tell->fake);
}

void
tell_step(struct tell *tell)
{
	tell->now += TELL_STEP;
	tell_time(tell);
}

void
tell_jump(struct tell *tell, uint64_t target)
{
	tell_step(tell);
	fake_transfer(tell->fake, PT_TRANSFER_JMP_INDIRECT, target);
	tell->jumped = tell->now;
}

void
tell_again(struct tell *tell, uint64_t ctl)
{
	fake_wrmsr(tell->fake, 0x571, 0);
	tell_step(tell);
	fake_start(tell->fake, ctl);
	tell_jump(tell, TELL_AGAIN);
	fake_stop(tell->fake);
}

/* What libipt is told, in turn; false: no more. */
static bool
next_told(const struct tell *tell, unsigned n, uint32_t *signature)
{
	if (n == 0)
		*signature = tell->fake->profile.signature;
	else
		*signature = n == 1 ? 0 : profile_find(tell->other)->signature;
	return n < 3;
}

/* The last TIP is at the time of the last jump. */
static void
check_time(const struct tell *tell)
{
	const struct profile *profile = &tell->fake->profile;
	const struct clock_config config = { .bytes = tell->fake->stream,
		.count = tell->fake->stream_bytes,
		.ctl = CTL_TELL,
		.tsc_num = profile->tsc_num,
		.tsc_den = profile->tsc_den,
		.cbr = profile->cbr };
	uint64_t times[TELL_TIPS_MAX];
	size_t count = tip_times_read(
	    &config, profile->signature, times, TELL_TIPS_MAX);

	assert_int_not_equal(count, 0);
	assert_int_equal(times[count - 1], tell->jumped);
}

void
tell_expect_events(
    struct tell *tell, const char *true_text, const char *other_text)
{
	const struct fake *fake = tell->fake;
	uint32_t signature;

	pt_unit_sync_output(fake->unit);
	for (unsigned n = 0; next_told(tell, n, &signature); n++) {
		char *text = event_text_read(
		    fake->stream, fake->stream_bytes, signature);

		assert_string_equal(text, n == 0 ? true_text : other_text);
		free(text);
	}
	check_time(tell);
}

/* The flow for a decoder that is told SIGNATURE; *END is the time there. */
static char *
read_flow(struct tell *tell, uint32_t signature, uint64_t *end)
{
	const struct profile *profile = &tell->fake->profile;
	struct flow_text in = {
		.stream = tell->fake->stream,
		.stream_bytes = tell->fake->stream_bytes,
		.code = tell->code,
		.code_bytes = tell->code_bytes,
		.code_ip = FAKE_CLIP,
		.signature = signature,
		.filter = { tell->filter ? FAKE_CLIP : 0,
		    tell->filter ? FAKE_CLIP + 0xf : 0 },
		.tsc_num = profile->tsc_num,
		.tsc_den = profile->tsc_den,
		.mtc_freq = 3,
		.cbr = profile->cbr,
	};
	char *text = flow_text_read(&in);

	*end = in.tsc;
	return text;
}

void
tell_expect_flow(struct tell *tell, const char *true_text, uint64_t end,
    const char *other_text)
{
	uint32_t signature;

	pt_unit_sync_output(tell->fake->unit);
	for (unsigned n = 0; next_told(tell, n, &signature); n++) {
		uint64_t time;
		char *text = read_flow(tell, signature, &time);

		if (n == 0) {
			assert_string_equal(text, true_text);
			assert_int_equal(time, end);
		} else {
			assert_true(strlen(text) >= strlen(other_text));
			assert_memory_equal(
			    text, other_text, strlen(other_text));
		}
		free(text);
	}
}

int64_t
tell_time_error(struct tell *tell, uint32_t signature)
{
	uint64_t end;
	char *text;
	bool failed;

	pt_unit_sync_output(tell->fake->unit);
	text = read_flow(tell, signature, &end);
	failed = strstr(text, "error") != NULL;
	free(text);
	return failed ? INT64_MIN : (int64_t)(end - tell->now);
}
