/*
 * The setting of the unit: from the options, or inferred from the packets.
 */
#include "traces/reencode/search/search.h"

#include "emu/base/rtit.h"

#include <inttypes.h>
#include <stdlib.h>

/* MTCFreq and CycThresh. */
#define SETUP_FREQ(n)   ((uint64_t)(n) << 14)
#define SETUP_THRESH(n) ((uint64_t)(n) << 19)

#define SETUP_DOUBTFUL  (REPLAY_ERRATUM(SKD007) | REPLAY_ERRATUM(SKD010))

/* Bytes from the check of PacketByteCnt to the PSB, at most. */
#define SETUP_LATE_BYTES 64
#define SETUP_PSB_FREQS  16

/* The greatest width of a cycle counter. */
#define SETUP_CYC_BITS 40

/* Outcomes of a full TNT packet, long and short. */
#define SETUP_TNT_LONG  47
#define SETUP_TNT_SHORT 6

/* Packets, and the bits of IA32_RTIT_CTL that enable them. */
static const struct setup_row {
	uint64_t kinds, ctl;
	/*
	 * Of a feature that a profile may not have: its bit in CPUID.14H:EBX, all its
	 * bits of IA32_RTIT_CTL, its name.
	 */
	uint32_t ebx;
	uint64_t all;
	const char *text;
} setup_rows[] = {
	{ PKT_BIT(CYC), CTL_CYC_EN, PROFILE_PT_EBX_PSB,
	    CTL_CYC_EN | SETUP_THRESH(0xf), "CYC" },
	{ PKT_BIT(MTC) | PKT_BIT(TMA), CTL_MTC_EN, PROFILE_PT_EBX_MTC,
	    CTL_MTC_EN | SETUP_FREQ(0xf), "MTC" },
	{ PKT_BIT(PTW), CTL_PTW_EN, PROFILE_PT_EBX_PTWRITE,
	    CTL_PTW_EN | CTL_FUP_ON_PTW, "PTWRITE" },
	{ PKT_BIT(EXSTOP) | PKT_BIT(MWAIT) | PKT_BIT(PWRE) | PKT_BIT(PWRX),
	    CTL_PWR_EVT_EN, PROFILE_PT_EBX_PWR, CTL_PWR_EVT_EN, "power event" },
	{ PKT_BIT(CFE) | PKT_BIT(EVD), CTL_EVENT_EN, PROFILE_PT_EBX_EVENT,
	    CTL_EVENT_EN, "Event Trace" },
	{ .kinds = PKT_BIT(TSC), .ctl = CTL_TSC_EN },
	{ .kinds = PKT_BIT(PIP), .ctl = CTL_OS },
	{ .kinds = PKT_BIT(TIP) | PKT_BIT(TNT) | PKT_BIT(PGE) | PKT_BIT(PGD) |
		PKT_BIT(EXEC) | PKT_BIT(TSX),
	    .ctl = CTL_BRANCH_EN },
};

uint64_t
setup_ctl_of(uint64_t kinds)
{
	uint64_t ctl = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(setup_rows); i++)
		if ((setup_rows[i].kinds & kinds) != 0)
			ctl |= setup_rows[i].ctl;
	return ctl;
}

/* The kinds of packets in the trace, a set. */
static uint64_t
setup_kinds(const struct trace_stats *stats)
{
	uint64_t kinds = 0;

	for (unsigned n = 0; n < PKT_KINDS; n++)
		if (stats->packets[n] != 0)
			kinds |= TZ_BIT(n);
	return kinds;
}

/* PSBFreq, from the longest distance of two PSBs. */
static uint64_t
setup_psb_freq(const struct trace_stats *stats)
{
	uint64_t n = 0;

	while (n + 1 < SETUP_PSB_FREQS &&
	    stats->gap_max >
		REPLAY_PSB_PERIOD(n) + PT_LOOK_BYTES + 2 * SETUP_LATE_BYTES)
		n++;
	return n << 24;
}

/* MTCFreq and CycThresh from the packets, among the values that the profile has. */
static uint64_t
setup_clocks(const struct search *search)
{
	const struct trace_stats_clock *said = &search->result->stats.clock;
	const struct profile *profile = &search->profile;
	unsigned threshold = 0, freq = TRACE_STATS_FREQS;

	for (unsigned n = 0; n < TRACE_STATS_FREQS; n++)
		if ((profile->pt1_eax >> (16 + n) & 1) != 0 &&
		    (freq == TRACE_STATS_FREQS ||
			said->freq[n] > said->freq[freq]))
			freq = n;
	for (unsigned n = 1; n < TRACE_STATS_FREQS && said->cyc_max != 0; n++)
		if ((profile->pt1_ebx >> n & 1) != 0 &&
		    said->cyc_min >= TZ_BIT(n - 1))
			threshold = n;
	return SETUP_FREQ(freq % TRACE_STATS_FREQS) | SETUP_THRESH(threshold);
}

/* IA32_RTIT_CTL from the packets, without ranges and with DisRETC. */
static uint64_t
setup_infer(const struct search *search)
{
	const struct trace_stats *stats = &search->result->stats;
	uint64_t clocks = setup_clocks(search);
	uint64_t ctl = CTL_TOPA | CTL_DIS_RETC | setup_psb_freq(stats) |
	    setup_ctl_of(setup_kinds(stats));

	if (stats->kernel)
		ctl |= CTL_OS;
	if (stats->user || !(ctl & CTL_OS))
		ctl |= CTL_USER;
	if (stats->fup_ptws != 0)
		ctl |= CTL_FUP_ON_PTW;
	if (stats->flagged != 0)
		ctl |= CTL_EVENT_EN;
	if (ctl & CTL_MTC_EN)
		ctl |= clocks & SETUP_FREQ(0xf);
	if (ctl & CTL_CYC_EN)
		ctl |= clocks & SETUP_THRESH(0xf);
	return ctl;
}

/* CTL with ToPA output, and without what re-encoding does not model. */
static uint64_t
setup_usable(uint64_t ctl)
{
	return (ctl & ~(CTL_FABRIC_EN | CTL_CR3_FILTER | CTL_ADDR_CFGS)) |
	    CTL_TOPA;
}

/*
 * The width of the cycle counter and the outcomes of a full TNT, where packets show them.
 */
static void
setup_uarch(struct search *search)
{
	const struct trace_stats *stats = &search->result->stats;
	uint64_t cyc_max = stats->clock.cyc_max;
	struct profile_uarch *uarch = &search->way.uarch;

	if (!search->options->errata_given && stats->long_tnts != 0)
		uarch->tnt_bits = SETUP_TNT_LONG;
	else if (!search->options->errata_given && stats->split_tnts != 0)
		uarch->tnt_bits = SETUP_TNT_SHORT;
	if (uarch->cyc_bits == 0 || cyc_max < TZ_BIT(uarch->cyc_bits))
		return;
	while (uarch->cyc_bits < SETUP_CYC_BITS &&
	    cyc_max >= TZ_BIT(uarch->cyc_bits))
		uarch->cyc_bits++;
	result_note(search->result, "the cycle counter has %u bits or more",
	    uarch->cyc_bits);
}

/* Leaves out packets of features that the profile does not have. */
static void
setup_leave_out(struct search *search)
{
	struct setting_list *list = &search->way.settings;

	for (size_t i = 0; i < TZ_ARRAY_LEN(setup_rows); i++) {
		const struct setup_row *row = &setup_rows[i];
		uint64_t taken = search->way.ctl & row->all;

		if ((search->profile.pt_ebx & row->ebx) != 0)
			continue;
		search->way.ctl &= ~row->all;
		for (size_t n = 1; n < list->count; n++) {
			taken |= list->setting[n].ctl & row->all;
			list->setting[n].ctl &= ~row->all;
		}
		if (taken == 0)
			continue;
		search->replay.left_out |= row->kinds;
		result_note(search->result,
		    "%s packets, which profile %s has not, are left out",
		    row->text, search->profile.name);
	}
}

/* May SKD007 or SKD010 have misled libipt? */
static bool
setup_has_doubts(const struct search *search)
{
	const struct reencode_options *options = search->options;
	uint32_t errata = options->errata_given ? options->errata
						: options->profile->errata;

	return search->result->stats.packets[PKT_OVF] != 0 &&
	    (errata & SETUP_DOUBTFUL) != 0;
}

/* Does the trace have packets for non-branch events, or time? */
static bool
setup_has_events(const struct search *search)
{
	const struct trace_stats *stats = &search->result->stats;
	const uint64_t kinds = PKT_BIT(PTW) | PKT_BIT(EXSTOP) | PKT_BIT(MWAIT) |
	    PKT_BIT(PWRE) | PKT_BIT(PWRX) | PKT_BIT(CFE) | PKT_BIT(EVD) |
	    PKT_BIT(BBP) | PKT_BIT(MNT);
	uint64_t ctl = search->way.ctl;

	for (size_t i = 1; i < search->way.settings.count; i++)
		ctl |= search->way.settings.setting[i].ctl;
	return (ctl & CTL_TIMING) != 0 || (setup_kinds(stats) & kinds) != 0 ||
	    stats->tsx + stats->cbrs + stats->flagged != 0;
}

bool
setup_take(struct search *search, struct setting_list list)
{
	if (list.setting == NULL) {
		search->error = tz_error(
		    search->err, TZ_EIO, "settings: out of memory");
		return false;
	}
	TZ_ASSERT(search->list_count < SEARCH_LISTS);
	search->lists[search->list_count++] = list.setting;
	search->way.settings = list;
	return true;
}

/* The settings of the options; the first is filled in before each try. */
static struct setting_list
setup_settings(const struct reencode_options *options)
{
	size_t count = options->setting_count;
	struct setting_list list = { .count = count != 0 ? count : 1 };

	list.setting = calloc(list.count, sizeof(*list.setting));
	for (size_t i = 1; list.setting != NULL && i < count; i++) {
		list.setting[i] = options->settings[i];
		list.setting[i].ctl = setup_usable(options->settings[i].ctl);
	}
	return list;
}

static void
setup_ranges(struct search *search)
{
	const struct decode_filter *filter = &search->result->filter;

	search->error = ranges_infer(search);
	for (unsigned n = 0; search->error == 0 && n < 4; n++)
		if (CTL_ADDR_CFG(filter->config << 32, n) != 0)
			result_note(search->result,
			    "range %" PRIx64 "-%" PRIx64
			    ", as wide as it may be",
			    filter->a[n], filter->b[n]);
}

void
setup_run(struct search *search)
{
	const struct reencode_options *options = search->options;
	struct reencode_result *result = search->result;

	search->way.ctl = options->ctl_given ? options->ctl
					     : setup_infer(search);
	setup_uarch(search);
	if (!options->ctl_given)
		result_note(search->result,
		    "IA32_RTIT_CTL %#" PRIx64
		    " out of the packets; longest way from PSB to PSB %" PRIu64
		    " bytes",
		    search->way.ctl | CTL_TRACE_EN, result->stats.gap_max);
	search->way.ctl = setup_usable(search->way.ctl);
	if (!setup_take(search, setup_settings(options)))
		return;
	setup_leave_out(search);
	search->replay.watched = setup_has_events(search);
	search->replay.doubts = setup_has_doubts(search);
	search->replay.errata = options->errata;
	/* BDM70 in any case: a trace without it has no such PSB+. */
	search->replay.decode.errata = options->errata | REPLAY_ERRATUM(BDM70);
	if (options->filter_given)
		result->filter = options->filter;
	else if (result->stats.pgd_ips != 0)
		setup_ranges(search);
}
