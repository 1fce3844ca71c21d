/*
 * How a unit is set up to make a trace again: given, or out of the packets.
 */
#include "traces/reencode/search/search_internal.h"

#include "traces/reencode/replay/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

/* As emu/pt/msr.h has them; SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define REENCODE_CTL_CYC_EN   TZ_BIT(1)
#define REENCODE_CTL_PWR      TZ_BIT(4)
#define REENCODE_CTL_FUP_PTW  TZ_BIT(5)
#define REENCODE_CTL_FABRIC   TZ_BIT(6)
#define REENCODE_CTL_CR3      TZ_BIT(7)
#define REENCODE_CTL_TOPA     TZ_BIT(8)
#define REENCODE_CTL_MTC_EN   TZ_BIT(9)
#define REENCODE_CTL_TSC_EN   TZ_BIT(10)
#define REENCODE_CTL_PTW_EN   TZ_BIT(12)
#define REENCODE_CTL_EVENT_EN TZ_BIT(31)
#define REENCODE_CTL_FREQ     (UINT64_C(0xf) << 14)
#define REENCODE_CTL_THRESH   (UINT64_C(0xf) << 19)
#define REENCODE_CTL_RANGES   (UINT64_C(0xffff) << 32)

/* A cycle counter is not wider. */
#define REENCODE_CYC_BITS 40

/* What re-encoding does without. */
#define REENCODE_CTL_LEFT_OUT (REENCODE_CTL_FABRIC | REENCODE_CTL_CR3)
#define REENCODE_CTL_TIMING \
 (REENCODE_CTL_CYC_EN | REENCODE_CTL_MTC_EN | REENCODE_CTL_TSC_EN)

/* What a profile may lack: its bits of IA32_RTIT_CTL and their packets. */
static const struct {
	uint32_t ebx; /* CPUID.14H:EBX */
	uint64_t ctl, packets;
	const char *text;
} reencode_lacks[] = {
	{ PROFILE_PT_EBX_PSB, REENCODE_CTL_CYC_EN | REENCODE_CTL_THRESH,
	    TZ_BIT(PKT_CYC), "CYC" },
	{ PROFILE_PT_EBX_MTC, REENCODE_CTL_MTC_EN | REENCODE_CTL_FREQ,
	    TZ_BIT(PKT_MTC) | TZ_BIT(PKT_TMA), "MTC" },
	{ PROFILE_PT_EBX_PTWRITE, REENCODE_CTL_PTW_EN | REENCODE_CTL_FUP_PTW,
	    TZ_BIT(PKT_PTW), "PTWRITE" },
	{ PROFILE_PT_EBX_PWR, REENCODE_CTL_PWR,
	    TZ_BIT(PKT_EXSTOP) | TZ_BIT(PKT_MWAIT) | TZ_BIT(PKT_PWRE) |
		TZ_BIT(PKT_PWRX),
	    "power event" },
	{ PROFILE_PT_EBX_EVENT, REENCODE_CTL_EVENT_EN,
	    TZ_BIT(PKT_CFE) | TZ_BIT(PKT_EVD), "Event Trace" },
};

void
reencode_say(struct reencode_result *result, const char *format, ...)
{
	va_list args;

	if (result->line_count == REENCODE_LINES)
		return;
	va_start(args, format);
	vsnprintf(result->line[result->line_count++], REENCODE_LINE_BYTES,
	    format, args);
	va_end(args);
}

/* What the unit is to have of *CTL. */
static void
reencode_make(uint64_t *ctl)
{
	*ctl = (*ctl & ~(REENCODE_CTL_LEFT_OUT | REENCODE_CTL_RANGES)) |
	    REENCODE_CTL_TOPA;
}

/* What only timing packets tell, and how far the cycle counter counts. */
static void
reencode_timing(struct reencode_try *try, struct reencode_result *result)
{
	uint64_t cyc_max = result->stats.clock.cyc_max;
	uint64_t ctl = clock_infer(try->profile, &result->stats);
	unsigned *bits = &try->uarch->cyc_bits;

	if (!try->options->ctl_given && (try->ctl & REENCODE_CTL_MTC_EN) != 0)
		try->ctl |= ctl & REENCODE_CTL_FREQ;
	if (!try->options->ctl_given && (try->ctl & REENCODE_CTL_CYC_EN) != 0)
		try->ctl |= ctl & REENCODE_CTL_THRESH;
	if (*bits == 0 || cyc_max < TZ_BIT(*bits))
		return;
	while (*bits < REENCODE_CYC_BITS && cyc_max >= TZ_BIT(*bits))
		++*bits;
	reencode_say(result, "the cycle counter has %u bits or more", *bits);
}

/* How many outcomes a full TNT has, where nobody tells: long ones show, split ones, too. */
static void
reencode_tnts(struct reencode_try *try, const struct trace_stats *stats)
{
	unsigned *bits = &try->uarch->tnt_bits;

	if (try->options->errata_given)
		return;
	if (stats->long_tnts != 0)
		*bits = REENCODE_TNT_LONG;
	else if (stats->split_tnts != 0)
		*bits = REENCODE_TNT_SHORT;
}

/* Takes what cannot be made again out of CTL; returns the bits that were. */
static uint64_t
reencode_take_out(uint64_t *ctl, uint64_t bits)
{
	bits &= *ctl;
	*ctl &= ~bits;
	return bits;
}

/* Leaves out what the profile has not. */
static void
reencode_lack(struct reencode_try *try, struct reencode_result *result)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(reencode_lacks); i++) {
		uint64_t bits = reencode_lacks[i].ctl, taken;

		if ((try->profile->pt_ebx & reencode_lacks[i].ebx) != 0)
			continue;
		taken = reencode_take_out(&try->ctl, bits);
		for (size_t n = 1; n < try->setting_count; n++)
			taken |= reencode_take_out(&try->settings[n].ctl, bits);
		if (taken == 0)
			continue;
		try->left_out |= reencode_lacks[i].packets;
		reencode_say(result,
		    "%s packets, which profile %s has not, are left out",
		    reencode_lacks[i].text, try->profile->name);
	}
}

static void
reencode_watch(struct reencode_try *try, const struct trace_stats *stats)
{
	static const enum pkt_kind kinds[] = { PKT_PTW, PKT_EXSTOP, PKT_MWAIT,
		PKT_PWRE, PKT_PWRX, PKT_CFE, PKT_EVD, PKT_BBP, PKT_MNT };

	uint64_t ctl = try->ctl;

	for (size_t i = 1; i < try->setting_count; i++)
		ctl |= try->settings[i].ctl;
	try->watched = (ctl & REENCODE_CTL_TIMING) != 0 ||
	    stats->tsx + stats->cbrs + stats->flagged != 0;
	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds); i++)
		try->watched |= stats->packets[kinds[i]] != 0;
}

/* Makes room for the first setting and takes over the others. */
static bool
reencode_settings(struct reencode_try *try)
{
	const struct reencode_options *options = try->options;
	size_t count = options->setting_count;

	try->setting_count = count != 0 ? count : 1;
	try->settings = calloc(try->setting_count, sizeof(*try->settings));
	if (try->settings == NULL)
		return false;
	for (size_t i = 1; i < count; i++) {
		try->settings[i] = options->settings[i];
		reencode_make(&try->settings[i].ctl);
	}
	return true;
}

int
reencode_config(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	const struct reencode_options *options = try->options;
	int error = 0;

	try->ctl = options->ctl_given ? options->ctl
				      : infer_ctl(&result->stats);
	reencode_timing(try, result);
	reencode_tnts(try, &result->stats);
	if (!options->ctl_given)
		reencode_say(result,
		    "IA32_RTIT_CTL %#" PRIx64
		    " out of the packets; longest way from PSB to PSB %" PRIu64
		    " bytes",
		    try->ctl | 1, result->stats.gap_max);
	reencode_make(&try->ctl);
	if (!reencode_settings(try))
		return tz_error(err, TZ_EIO, "settings: out of memory");
	reencode_lack(try, result);
	reencode_watch(try, &result->stats);
	if (options->filter_given) {
		result->filter = options->filter;
	} else if (result->stats.pgd_ips != 0) {
		error = infer_ranges(
		    &result->filter, try->bytes, try->count, err);
		for (unsigned n = 0; error == 0 && n < 4; n++)
			if ((result->filter.config >> (4 * n) & 0xf) != 0)
				reencode_say(result,
				    "range %" PRIx64 "-%" PRIx64
				    ", as wide as it may be",
				    result->filter.a[n], result->filter.b[n]);
	}
	return error;
}
