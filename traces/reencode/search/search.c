/*
 * What the packets leave open is tried, one way after another, up to the one that
 * makes the trace again.
 */
#include "traces/reencode/search/search_internal.h"

/* As emu/pt/msr.h has them; SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define REENCODE_CTL_DIS_RETC TZ_BIT(11)

/* PSBFreq, and one step of it. */
#define REENCODE_CTL_PSB_FREQ (UINT64_C(0xf) << 24)
#define REENCODE_CTL_PSB_STEP (UINT64_C(1) << 24)

#define REENCODE_DOUBTS                     \
 ((UINT32_C(1) << PROFILE_ERRATUM_SKD007) | \
     (UINT32_C(1) << PROFILE_ERRATUM_SKD010))
#define REENCODE_BDM70 (UINT32_C(1) << PROFILE_ERRATUM_BDM70)

/* May SKD007 or SKD010 have misled libipt? */
static bool
reencode_doubts(const struct reencode_try *try, const struct trace_stats *stats)
{
	const struct reencode_options *options = try->options;
	uint32_t errata = options->errata_given ? options->errata
						: options->profile->errata;

	return stats->packets[PKT_OVF] != 0 && (errata & REENCODE_DOUBTS) != 0;
}

static int
reencode_drive(struct reencode_try *try, struct reencode_result *result,
    struct unit_driver *feed, struct tz_error *err)
{
	struct decode_config decode = { .bytes = try->decoded,
		.count = (size_t)try->count,
		.signature = try->options->signature,
		/* A trace in which it does not show has nothing like it. */
		.errata = try->options->errata | REENCODE_BDM70,
		.filter = &result->filter,
		.image = memory_image_image(try->image, err) };
	struct replay_config replay = { .bytes = try->bytes,
		.count = try->count,
		.stats = &result->stats,
		.free_psbs = try->options->form == COMPARE_CANONICAL,
		.watched = try->watched,
		.doubts = reencode_doubts(try, &result->stats),
		.knows_bdm70 = (try->options->errata & REENCODE_BDM70) != 0,
		.walk = try->walk,
		.feed = feed,
		.compare = feed->compare,
		.phase = try->phase,
		.choices = try->choices };
	int error;

	if (decode.image == NULL)
		return -TZ_EFORMAT;
	replay.recover = recover_create(&decode);
	if (replay.recover == NULL)
		return tz_error(err, TZ_EIO, "libipt: out of memory");
	replay_result_free(&result->replay);
	error = replay_run(&replay, &result->replay, err);
	recover_destroy(replay.recover);
	return error;
}

int
reencode_once(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	struct compare *compare;
	struct unit_driver feed;
	int error;

	/* A ring takes as long as millions of instructions: not once a choice. */
	if (try->endless)
		return 0;
	compare = compare_create(
	    try->options->form, try->bytes, try->count, try->left_out);
	if (compare == NULL)
		return tz_error(err, TZ_EIO, "compare: out of memory");
	for (size_t i = 0; i < (try->inferred ? try->setting_count : 1); i++) {
		try->settings[i].ctl = (try->ctl & ~try->settings[i].off) ^
		    try->settings[i].flip;
		try->settings[i].filter = result->filter;
	}
	error = unit_driver_create(&feed, try->profile, try->settings,
	    try->setting_count, &result->stats, compare, err);
	if (error == 0) {
		feed.roomless = try->roomless;
		feed.free_psbs = try->options->form == COMPARE_CANONICAL;
		error = reencode_drive(try, result, &feed, err);
		unit_driver_destroy(&feed);
	}
	result->difference = *compare_difference(compare);
	result->ctl = try->ctl;
	try->endless = result->replay.endless;
	compare_destroy(compare);
	return error;
}

/* Where packets were lost, a PSB may have waited for room, too. */
static int
reencode_room(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	int error;

	try->roomless = false;
	error = reencode_phases(try, result, err);
	if (error != 0 || !reencode_psb_differs(result) ||
	    !result->difference.ours_psb || result->stats.packets[PKT_OVF] == 0)
		return error;
	try->roomless = true;
	return reencode_phases(try, result, err);
}

/* Where TNTs may be long, TIPs may wait for them or not: not always as the profile's. */
static int
reencode_try(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	bool defers = try->options->profile->uarch->deferred_tip;
	uint64_t reach;
	int error;

	try->uarch->deferred_tip = defers;
	error = reencode_room(try, result, err);
	reach = reencode_reach(result);
	if (error != 0 || reach == UINT64_MAX ||
	    (!defers && try->uarch->tnt_bits == REENCODE_TNT_SHORT))
		return error;
	try->uarch->deferred_tip = !defers;
	error = reencode_room(try, result, err);
	if (error == 0 && reencode_reach(result) <= reach) {
		try->uarch->deferred_tip = defers;
		error = reencode_room(try, result, err);
	}
	return error;
}

/*
 * With CTL given, as it says; else DisRETC is what the packets do not show: first
 * without RET compression, then with it if that leads nowhere.
 */
static int
reencode_compressed(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	uint64_t reach;
	int error = reencode_try(try, result, err);

	reach = reencode_reach(result);
	if (error == 0 && !try->options->ctl_given && reach != UINT64_MAX) {
		try->ctl ^= REENCODE_CTL_DIS_RETC;
		error = reencode_try(try, result, err);
		if (error == 0 && reencode_reach(result) <= reach) {
			try->ctl ^= REENCODE_CTL_DIS_RETC;
			error = reencode_try(try, result, err);
		}
	}
	return error;
}

/*
 * A PSB that is due when TraceEn falls is lost, so that the longest way from PSB to PSB
 * may be more than the period: where one comes earlier, the period is shorter.
 */
int
reencode_periods(struct reencode_try *try, reencode_run *run,
    struct reencode_result *result, struct tz_error *err)
{
	int error = run(try, result, err);

	while (error == 0 && !try->options->ctl_given &&
	    (try->ctl & REENCODE_CTL_PSB_FREQ) != 0 &&
	    reencode_psb_differs(result) && result->difference.theirs_psb) {
		uint64_t reach = reencode_reach(result), ctl = try->ctl;

		try->ctl -= REENCODE_CTL_PSB_STEP;
		error = run(try, result, err);
		if (error != 0 || reencode_reach(result) > reach)
			continue;
		try->ctl = ctl;
		return run(try, result, err);
	}
	return error;
}

int
reencode_tries(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	int error = reencode_periods(try, reencode_compressed, result, err);
	uint64_t reach = reencode_reach(result), ctl = try->ctl;

	if (error != 0 || try->options->ctl_given)
		return error;
	if (reach != UINT64_MAX) {
		error = reencode_resets(try, err);
		if (error == 0 && try->inferred)
			error = reencode_periods(
			    try, reencode_compressed, result, err);
		if (error == 0 && try->inferred &&
		    reencode_reach(result) <= reach) {
			try->ctl = ctl;
			try->setting_count = 1;
			try->settings->off = 0;
			error = reencode_periods(
			    try, reencode_compressed, result, err);
		}
	}
	result->one_ctl = true;
	if (error == 0)
		error = reencode_flip(try, REENCODE_CTL_DIS_RETC, result, err);
	if (try->setting_count > 1)
		reencode_say(result,
		    "IA32_RTIT_CTL is another behind %zu enables",
		    try->setting_count - 1);
	reencode_say(result, "DisRETC %d: RETs are %s",
	    (try->ctl & REENCODE_CTL_DIS_RETC) != 0,
	    (try->ctl & REENCODE_CTL_DIS_RETC) != 0 ? "never compressed"
						    : "compressed");
	return error;
}
