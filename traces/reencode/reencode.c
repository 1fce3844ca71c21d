#include "traces/reencode/reencode_work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* As emu/pt/msr.h has them; SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define REENCODE_CTL_DIS_RETC TZ_BIT(11)

/* PSBFreq, and one step of it. */
#define REENCODE_CTL_PSB_FREQ (UINT64_C(0xf) << 24)
#define REENCODE_CTL_PSB_STEP (UINT64_C(1) << 24)
/* Trace that is driven again and again to find what a counter held. */
#define REENCODE_WIDEN_BYTES (UINT64_C(8) << 20)

#define REENCODE_DOUBTS                     \
 ((UINT32_C(1) << PROFILE_ERRATUM_SKD007) | \
     (UINT32_C(1) << PROFILE_ERRATUM_SKD010))
#define REENCODE_BDM70 (UINT32_C(1) << PROFILE_ERRATUM_BDM70)

/* Family and model of CPUID.1:EAX. */
static unsigned
reencode_model(uint32_t signature, unsigned *family)
{
	*family = signature >> 8 & 0xf;
	if (*family == 0xf)
		*family += signature >> 20 & 0xff;
	return (signature >> 4 & 0xf) | (signature >> 12 & 0xf0);
}

const struct profile *
reencode_nearest(uint32_t signature)
{
	const struct profile *best = profile_at(0), *profile;
	unsigned family, model = reencode_model(signature, &family);
	unsigned best_distance = UINT32_MAX;

	for (size_t i = 0; (profile = profile_at(i)) != NULL; i++) {
		unsigned other_family;
		unsigned other = reencode_model(
		    profile->signature, &other_family);
		unsigned distance = other < model ? model - other
						  : other - model;

		distance += other_family == family ? 0 : 0x10000;
		if (distance < best_distance) {
			best_distance = distance;
			best = profile;
		}
	}
	return best;
}

void
reencode_result_free(struct reencode_result *result)
{
	facts_free(&result->facts);
	drive_result_free(&result->drive);
}

/* May SKD007 or SKD010 have misled libipt? */
static bool
reencode_doubts(const struct reencode_try *try, const struct facts *facts)
{
	const struct reencode_options *options = try->options;
	uint32_t errata = options->errata_given ? options->errata
						: options->profile->errata;

	return facts->packets[SCAN_OVF] != 0 && (errata & REENCODE_DOUBTS) != 0;
}

static int
reencode_drive(struct reencode_try *try, struct reencode_result *result,
    struct feed *feed, struct tz_error *err)
{
	struct decode_config decode = { .bytes = try->decoded,
		.count = (size_t)try->count,
		.signature = try->options->signature,
		/* A trace in which it does not show has nothing like it. */
		.errata = try->options->errata | REENCODE_BDM70,
		.filter = &result->filter,
		.image = pieces_image(try->pieces, err) };
	struct drive_config drive = { .bytes = try->bytes,
		.count = try->count,
		.facts = &result->facts,
		.free_psbs = try->options->form == COMPARE_CANONICAL,
		.watched = try->watched,
		.doubts = reencode_doubts(try, &result->facts),
		.knows_bdm70 = (try->options->errata & REENCODE_BDM70) != 0,
		.walk = try->walk,
		.feed = feed,
		.compare = feed->compare,
		.phase = try->phase,
		.choices = try->choices };
	int error;

	if (decode.image == NULL)
		return -TZ_EFORMAT;
	drive.recover = recover_create(&decode);
	if (drive.recover == NULL)
		return tz_error(err, TZ_EIO, "libipt: out of memory");
	drive_result_free(&result->drive);
	error = drive_run(&drive, &result->drive, err);
	recover_destroy(drive.recover);
	return error;
}

/* libipt knows no PEBS blocks: they become PADs in a copy.  NULL: no memory. */
static uint8_t *
reencode_blank(const uint8_t *bytes, uint64_t count)
{
	uint8_t *copy = malloc((size_t)count);
	bool blank = false, fup = false;
	struct scan_packet packet;
	struct scan scan;

	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, (size_t)count);
	scan_begin(&scan, bytes, count, scan_find_psb(bytes, count, 0));
	do {
		while (scan_next(&scan, &packet)) {
			blank = packet.kind == SCAN_BBP ||
			    packet.kind == SCAN_BIP ||
			    packet.kind == SCAN_BEP ||
			    (fup && packet.kind == SCAN_FUP);
			if (blank)
				memset(copy + packet.offset, 0, packet.bytes);
			if (packet.kind == SCAN_BEP)
				fup = packet.with_ip;
			else if (packet.kind == SCAN_FUP)
				fup = false;
		}
		scan.offset = scan_find_psb(bytes, count, packet.offset + 1);
	} while (packet.kind == SCAN_BAD);
	return copy;
}

int
reencode_once(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	struct compare *compare;
	struct feed feed;
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
	error = feed_create(&feed, try->profile, try->settings,
	    try->setting_count, &result->facts, compare, err);
	if (error == 0) {
		feed.roomless = try->roomless;
		feed.free_psbs = try->options->form == COMPARE_CANONICAL;
		error = reencode_drive(try, result, &feed, err);
		feed_destroy(&feed);
	}
	result->difference = *compare_difference(compare);
	result->ctl = try->ctl;
	try->endless = result->drive.endless;
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
	    !result->difference.ours_psb ||
	    result->facts.packets[SCAN_OVF] == 0)
		return error;
	try->roomless = true;
	return reencode_phases(try, result, err);
}

/* Where TNTs may be long, TIPs may wait for them or not: not always as the profile's. */
static int
reencode_try(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	bool defers = try->options->profile->manner->deferred_tip;
	uint64_t reach;
	int error;

	try->manner->deferred_tip = defers;
	error = reencode_room(try, result, err);
	reach = reencode_reach(result);
	if (error != 0 || reach == UINT64_MAX ||
	    (!defers && try->manner->tnt_bits == REENCODE_TNT_SHORT))
		return error;
	try->manner->deferred_tip = !defers;
	error = reencode_room(try, result, err);
	if (error == 0 && reencode_reach(result) <= reach) {
		try->manner->deferred_tip = defers;
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

/* Where one CTL for all of it does not do, there may be several. */
static int
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

static void
reencode_say_packets(
    struct reencode_result *result, const struct reencode_try *try)
{
	const struct profile *profile = try->options->profile;
	bool full8 = try->manner->ip_full == 6;
	bool defers = try->manner->deferred_tip;
	const struct facts *facts = &result->facts;

	if (full8 != (profile->manner->ip_full == 6))
		reencode_say(result,
		    "uncompressed IPs have %d bytes, not %d as profile %s",
		    full8 ? 8 : 6, full8 ? 6 : 8, profile->name);
	if (try->manner->tnt_bits != profile->manner->tnt_bits)
		reencode_say(result,
		    "a full TNT has %u outcomes, not %u as profile %s",
		    try->manner->tnt_bits, profile->manner->tnt_bits,
		    profile->name);
	if (profile->manner->deferred_tip != defers)
		reencode_say(result, "%s behind TNT bits, %sas with profile %s",
		    defers ? "TIPs wait" : "no TIP waits", defers ? "not " : "",
		    profile->name);
	if (facts->long_tnts != 0)
		reencode_say(
		    result, "%" PRIu64 " long TNT packets", facts->long_tnts);
	if (result->drive.clock_jumps != 0)
		reencode_say(result,
		    "%" PRIu64 " times the crystal clock went on without its "
		    "MTCs",
		    result->drive.clock_jumps);
}

static void
reencode_say_state(
    struct reencode_result *result, const struct reencode_try *try)
{
	const struct infer_count *first = &result->drive.first;

	reencode_say(result, "core:bus ratio %u in the first CBR",
	    facts_cbr(&result->facts, 0));
	if (result->facts.psb_count != 0)
		reencode_say(result,
		    "PacketByteCnt %u at the first PSB, output offset %u "
		    "modulo 64; %" PRIu64 " PSBs fit at once",
		    try->choices[0].count,
		    (unsigned)((result->facts.first_psb + first->phase) % 64),
		    first->fits);
	if (result->drive.jcc_ip_known)
		reencode_say(result, "TIP.PGD at a conditional branch: %s IP",
		    result->drive.jcc_ip ? "with" : "without");
	if (result->drive.skl014)
		reencode_say(result,
		    "SKL014 shows: TIP.PGD of a direct branch without IP");
	if (result->drive.apl11)
		reencode_say(result, "APL11 shows: TIP.PGD behind OVF");
	if (result->drive.apl12)
		reencode_say(
		    result, "APL12 shows: FUP behind OVF before TIP.PGE");
	if (result->drive.bdm70)
		reencode_say(result, "BDM70 shows: FUP in PSB+ before TIP.PGE");
	if (try->roomless)
		reencode_say(result,
		    "no room in the internal buffer: a PSB comes %" PRIu64
		    " bytes late",
		    result->drive.psb_late);
	if (result->drive.toggles != 0)
		reencode_say(result, "%" PRIu64 " times TraceEn fell and rose",
		    result->drive.toggles);
}

static void
reencode_count(struct reencode_result *result)
{
	struct drive_result *drive = &result->drive;
	uint64_t end = result->bytes - result->facts.cut_off;

	if (result->difference.found)
		end = result->difference.offset;
	else if (drive->wrong != NULL)
		end = drive->wrong_offset;
	drive->covered = end > result->facts.first_psb
	    ? end - result->facts.first_psb
	    : 0;
	for (size_t i = 0; i < drive->gap_count; i++) {
		uint64_t gap = drive->gaps[i].to - drive->gaps[i].from;

		drive->covered -= gap < drive->covered ? gap : drive->covered;
	}
}

/*
 * Where a branch leaves a range without an IP it takes the ranges to know which; those
 * out of the packets are but as wide as may be.
 */
static bool
reencode_lacks_ranges(
    const struct reencode_try *try, const struct reencode_result *result)
{
	const struct drive_result *drive = &result->drive;

	return !try->options->filter_given && result->filter.config != 0 &&
	    (drive->skl014 || (drive->jcc_ip_known && !drive->jcc_ip)) &&
	    reencode_reach(result) != UINT64_MAX;
}

int
reencode_trace(const uint8_t *bytes, uint64_t count, struct pieces *pieces,
    const struct reencode_options *options, struct reencode_result *result,
    struct tz_error *err)
{
	struct profile_manner manner = *options->profile->manner;
	struct profile profile = *options->profile;
	struct reencode_try try = { .bytes = bytes,
		.count = count,
		.profile = &profile,
		.manner = &manner,
		.options = options,
		.pieces = pieces,
		.widen_left = REENCODE_WIDEN_BYTES };
	uint8_t *blanked = NULL;
	bool contradicted = false;
	int error;

	profile.manner = &manner;
	profile.errata_on = options->errata;
	*result = (struct reencode_result){ .bytes = count };
	if (!facts_read(&result->facts, bytes, count))
		return tz_error(err, TZ_EIO, "packets: out of memory");
	try.count -= result->facts.cut_off;
	if (result->facts.first_psb >= try.count) {
		result->nothing = true;
		return 0;
	}
	if (result->facts.ips_full + result->facts.ips_sext48 != 0)
		manner.ip_full =
		    result->facts.ips_full > result->facts.ips_sext48 ? 6 : 3;
	try.decoded = bytes;
	if (result->facts.packets[SCAN_BBP] != 0)
		try.decoded = blanked = reencode_blank(bytes, count);
	try.walk = walk_create(pieces);
	error = try.walk == NULL || try.decoded == NULL
	    ? tz_error(err, TZ_EIO, "walk: out of memory")
	    : reencode_config(&try, result, err);
	if (error == 0)
		error = reencode_tries(&try, result, err);
	if (error == 0 && reencode_lacks_ranges(&try, result))
		error = tz_error(err, TZ_EFORMAT,
		    "branches leave a range with a TIP.PGD that has no IP, and "
		    "the packets do not say where its ends are: give --range");
	free(blanked);
	free(try.settings);
	if (error != 0) {
		walk_destroy(try.walk);
		reencode_result_free(result);
		return error;
	}
	reencode_say_packets(result, &try);
	reencode_say_state(result, &try);
	result->distinct_blocks = walk_blocks(try.walk);
	result->distinct_insns = walk_insns(try.walk);
	walk_destroy(try.walk);
	reencode_count(result);
	for (size_t i = 0; i < result->drive.gap_count; i++)
		contradicted = contradicted ||
		    (!result->drive.gaps[i].unmapped &&
			!result->drive.gaps[i].errata);
	/* Event Trace tells of transfers without a branch. */
	result->nothing = result->drive.blocks == 0 &&
	    (result->drive.other_events == 0 || result->drive.gap_count != 0);
	result->equal = !result->difference.found &&
	    result->drive.wrong == NULL && !contradicted;
	return 0;
}
