#include "traces/reencode/reencode_work.h"

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
	facts_free(&result->facts);
	drive_result_free(&result->drive);
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

static void
reencode_say_packets(
    struct reencode_result *result, const struct reencode_try *try)
{
	const struct profile *profile = try->options->profile;
	bool full8 = try->uarch->ip_full == 6;
	bool defers = try->uarch->deferred_tip;
	const struct facts *facts = &result->facts;

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
	struct profile_uarch uarch = *options->profile->uarch;
	struct profile profile = *options->profile;
	struct reencode_try try = { .bytes = bytes,
		.count = count,
		.profile = &profile,
		.uarch = &uarch,
		.options = options,
		.pieces = pieces,
		.widen_left = REENCODE_WIDEN_BYTES };
	uint8_t *blanked = NULL;
	bool contradicted = false;
	int error;

	profile.uarch = &uarch;
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
		uarch.ip_full =
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
