#include "traces/reencode/search/search_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Trace that is driven again and again to find what a counter held. */
#define REENCODE_WIDEN_BYTES (UINT64_C(8) << 20)

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
	trace_stats_free(&result->stats);
	replay_result_free(&result->replay);
}

/* libipt knows no PEBS blocks: they become PADs in a copy.  NULL: no memory. */
static uint8_t *
reencode_blank(const uint8_t *bytes, uint64_t count)
{
	uint8_t *copy = malloc((size_t)count);
	bool blank = false, fup = false;
	struct pkt packet;
	struct pkt_parser parser;

	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, (size_t)count);
	pkt_begin(&parser, bytes, count, pkt_find_psb(bytes, count, 0));
	do {
		while (pkt_next(&parser, &packet)) {
			blank = packet.kind == PKT_BBP ||
			    packet.kind == PKT_BIP || packet.kind == PKT_BEP ||
			    (fup && packet.kind == PKT_FUP);
			if (blank)
				memset(copy + packet.offset, 0, packet.bytes);
			if (packet.kind == PKT_BEP)
				fup = packet.with_ip;
			else if (packet.kind == PKT_FUP)
				fup = false;
		}
		parser.offset = pkt_find_psb(bytes, count, packet.offset + 1);
	} while (packet.kind == PKT_BAD);
	return copy;
}

static void
reencode_say_packets(
    struct reencode_result *result, const struct reencode_try *try)
{
	const struct profile *profile = try->options->profile;
	bool full8 = try->uarch->ip_full == 6;
	bool defers = try->uarch->deferred_tip;
	const struct trace_stats *stats = &result->stats;

	if (full8 != (profile->uarch->ip_full == 6))
		reencode_say(result,
		    "uncompressed IPs have %d bytes, not %d as profile %s",
		    full8 ? 8 : 6, full8 ? 6 : 8, profile->name);
	if (try->uarch->tnt_bits != profile->uarch->tnt_bits)
		reencode_say(result,
		    "a full TNT has %u outcomes, not %u as profile %s",
		    try->uarch->tnt_bits, profile->uarch->tnt_bits,
		    profile->name);
	if (profile->uarch->deferred_tip != defers)
		reencode_say(result, "%s behind TNT bits, %sas with profile %s",
		    defers ? "TIPs wait" : "no TIP waits", defers ? "not " : "",
		    profile->name);
	if (stats->long_tnts != 0)
		reencode_say(
		    result, "%" PRIu64 " long TNT packets", stats->long_tnts);
	if (result->replay.clock_jumps != 0)
		reencode_say(result,
		    "%" PRIu64 " times the crystal clock went on without its "
		    "MTCs",
		    result->replay.clock_jumps);
}

static void
reencode_say_state(
    struct reencode_result *result, const struct reencode_try *try)
{
	const struct infer_count *first = &result->replay.first;

	reencode_say(result, "core:bus ratio %u in the first CBR",
	    trace_stats_cbr(&result->stats, 0));
	if (result->stats.psb_count != 0)
		reencode_say(result,
		    "PacketByteCnt %u at the first PSB, output offset %u "
		    "modulo 64; %" PRIu64 " PSBs fit at once",
		    try->choices[0].count,
		    (unsigned)((result->stats.first_psb + first->phase) % 64),
		    first->fits);
	if (result->replay.jcc_ip_known)
		reencode_say(result, "TIP.PGD at a conditional branch: %s IP",
		    result->replay.jcc_ip ? "with" : "without");
	if (result->replay.skl014)
		reencode_say(result,
		    "SKL014 shows: TIP.PGD of a direct branch without IP");
	if (result->replay.apl11)
		reencode_say(result, "APL11 shows: TIP.PGD behind OVF");
	if (result->replay.apl12)
		reencode_say(
		    result, "APL12 shows: FUP behind OVF before TIP.PGE");
	if (result->replay.bdm70)
		reencode_say(result, "BDM70 shows: FUP in PSB+ before TIP.PGE");
	if (try->roomless)
		reencode_say(result,
		    "no room in the internal buffer: a PSB comes %" PRIu64
		    " bytes late",
		    result->replay.psb_late);
	if (result->replay.toggles != 0)
		reencode_say(result, "%" PRIu64 " times TraceEn fell and rose",
		    result->replay.toggles);
}

static void
reencode_count(struct reencode_result *result)
{
	struct replay_result *replay = &result->replay;
	uint64_t end = result->bytes - result->stats.cut_off;

	if (result->difference.found)
		end = result->difference.offset;
	else if (replay->wrong != NULL)
		end = replay->wrong_offset;
	replay->covered = end > result->stats.first_psb
	    ? end - result->stats.first_psb
	    : 0;
	for (size_t i = 0; i < replay->gap_count; i++) {
		uint64_t gap = replay->gaps[i].to - replay->gaps[i].from;

		replay->covered -= gap < replay->covered ? gap
							 : replay->covered;
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
	const struct replay_result *replay = &result->replay;

	return !try->options->filter_given && result->filter.config != 0 &&
	    (replay->skl014 || (replay->jcc_ip_known && !replay->jcc_ip)) &&
	    reencode_reach(result) != UINT64_MAX;
}

int
reencode_trace(const uint8_t *bytes, uint64_t count, struct memory_image *image,
    const struct reencode_options *options, struct reencode_result *result,
    struct tz_error *err)
{
	struct profile_uarch uarch = *options->profile->uarch;
	struct profile profile = *options->profile;
	struct reencode_try try = { .bytes = bytes,
		.count = count,
		.profile = &profile,
		.uarch = &uarch,
		.options = options,
		.image = image,
		.widen_left = REENCODE_WIDEN_BYTES };
	uint8_t *blanked = NULL;
	bool contradicted = false;
	int error;

	profile.uarch = &uarch;
	profile.errata_on = options->errata;
	*result = (struct reencode_result){ .bytes = count };
	if (!trace_stats_read(&result->stats, bytes, count))
		return tz_error(err, TZ_EIO, "packets: out of memory");
	try.count -= result->stats.cut_off;
	if (result->stats.first_psb >= try.count) {
		result->nothing = true;
		return 0;
	}
	if (result->stats.ips_full + result->stats.ips_sext48 != 0)
		uarch.ip_full =
		    result->stats.ips_full > result->stats.ips_sext48 ? 6 : 3;
	try.decoded = bytes;
	if (result->stats.packets[PKT_BBP] != 0)
		try.decoded = blanked = reencode_blank(bytes, count);
	try.walk = code_blocks_create(image);
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
		code_blocks_destroy(try.walk);
		reencode_result_free(result);
		return error;
	}
	reencode_say_packets(result, &try);
	reencode_say_state(result, &try);
	result->distinct_blocks = code_blocks(try.walk);
	result->distinct_insns = code_blocks_insns(try.walk);
	code_blocks_destroy(try.walk);
	reencode_count(result);
	for (size_t i = 0; i < result->replay.gap_count; i++)
		contradicted = contradicted ||
		    (!result->replay.gaps[i].unmapped &&
			!result->replay.gaps[i].errata);
	/* Event Trace tells of transfers without a branch. */
	result->nothing = result->replay.blocks == 0 &&
	    (result->replay.other_events == 0 || result->replay.gap_count != 0);
	result->equal = !result->difference.found &&
	    result->replay.wrong == NULL && !contradicted;
	return 0;
}
