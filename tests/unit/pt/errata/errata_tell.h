/*
 * A trace in which an erratum shows, and what libipt makes of it: told the processor,
 * told nothing, and told another processor.
 */
#ifndef TOPAZ_TESTS_UNIT_PT_ERRATA_ERRATA_TELL_H
#define TOPAZ_TESTS_UNIT_PT_ERRATA_ERRATA_TELL_H

#include "tests/unit/pt/fake.h"

/* Core cycles are TSC ticks; between two MTCs of CTL_TELL, in them. */
#define TELL_PERIOD UINT64_C(1232)
#define TELL_START  (UINT64_C(1000) * TELL_PERIOD)
#define TELL_STEP   50
#define CTL_TELL \
 (CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_MTC_FREQ(3) | CTL_CYC_EN)

struct tell {
	struct fake *fake;
	const char *other;   /* a profile that does not have the erratum */
	const uint8_t *code; /* at FAKE_CLIP */
	size_t code_bytes;
	bool filter;     /* its first 16 bytes */
	uint64_t now;    /* what the clocks read */
	uint64_t jumped; /* at the last tell_jump() */
};

/*
 * A unit of PROFILE, of whose errata ERRATUM shows where ON, at the time TELL_START;
 * not tracing yet.  OTHER as above.
 */
void tell_begin(struct tell *tell, const char *profile, const char *other,
    enum profile_erratum erratum, bool on);
void tell_end(struct tell *tell);

/* TELL_STEP cycles later. */
void tell_step(struct tell *tell);

/* TELL_STEP cycles later, a near indirect JMP, whose time is noted. */
void tell_jump(struct tell *tell, uint64_t target);

/*
 * Tracing of CTL once more, from a PSB+ on, with one jump to TELL_AGAIN: libipt loses
 * the core clock's ratio with an OVF, and has the time again from the next PSB+ on.
 */
#define TELL_AGAIN UINT64_C(0xffffffff81000040)
void tell_again(struct tell *tell, uint64_t ctl);

/*
 * The stream's events (event_text.h) are TRUE_TEXT for a decoder that is told the
 * processor, which also has the last TIP at the time of the last jump, and OTHER_TEXT
 * for one that is told nothing or .other.
 */
void tell_expect_events(
    struct tell *tell, const char *true_text, const char *other_text);

/*
 * The flow (flow_text.h) is TRUE_TEXT, and the time at its end END, for a decoder that
 * is told the processor; it begins with OTHER_TEXT for one that is not.
 */
void tell_expect_flow(struct tell *tell, const char *true_text, uint64_t end,
    const char *other_text);

/*
 * How far the time at the flow's end is from now, for a decoder that is told
 * SIGNATURE; INT64_MIN where it finds an error.
 */
int64_t tell_time_error(struct tell *tell, uint32_t signature);

#endif
