#include "traces/reencode/reencode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of trace that are replayed again to find PacketByteCnt. */
#define REENCODE_WIDEN_BYTES (UINT64_C(8) << 20)

/* Kinds that no PSB+ has. */
#define REENCODE_NEVER_IN_PSB \
 (PKT_BIT(TNT) | PKT_BIT(TIP) | PKT_BIT(PGE) | PKT_BIT(PGD) | PKT_BIT(BAD))

/*
 * A copy of the trace in which PEBS blocks, unknown to
 * libipt, are PADs.  NULL: no memory.
 */
static uint8_t *
reencode_blank(const uint8_t *bytes, uint64_t count)
{
	uint8_t *copy = malloc((size_t)count);
	struct pkt_parser parser;
	struct pkt packet;
	bool fup = false;

	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, (size_t)count);
	pkt_begin_psb(&parser, bytes, count, 0);
	while (pkt_next_good(&parser, &packet)) {
		if (pkt_is(
			&packet, PKT_BIT(BBP) | PKT_BIT(BIP) | PKT_BIT(BEP)) ||
		    (fup && packet.kind == PKT_FUP))
			memset(copy + packet.offset, 0, packet.bytes);
		if (packet.kind == PKT_BEP)
			fup = packet.with_ip;
		else if (packet.kind == PKT_FUP)
			fup = false;
	}
	return copy;
}

/* Notes what was inferred of how the processor sends packets. */
static void
reencode_note_packets(struct search *search)
{
	const struct profile *profile = search->options->profile;
	const struct profile_uarch *uarch = &search->way.uarch;
	struct reencode_result *result = search->result;
	bool full8 = uarch->ip_full == 6, defers = uarch->deferred_tip;

	if (full8 != (profile->uarch->ip_full == 6))
		result_note(result,
		    "uncompressed IPs have %d bytes, not %d as profile %s",
		    full8 ? 8 : 6, full8 ? 6 : 8, profile->name);
	if (uarch->tnt_bits != profile->uarch->tnt_bits)
		result_note(result,
		    "a full TNT has %u outcomes, not %u as profile %s",
		    uarch->tnt_bits, profile->uarch->tnt_bits, profile->name);
	if (profile->uarch->deferred_tip != defers)
		result_note(result, "%s behind TNT bits, %sas with profile %s",
		    defers ? "TIPs wait" : "no TIP waits", defers ? "not " : "",
		    profile->name);
	if (result->stats.long_tnts != 0)
		result_note(result, "%" PRIu64 " long TNT packets",
		    result->stats.long_tnts);
	if (result->replay.clock_jumps != 0)
		result_note(result,
		    "%" PRIu64 " times the crystal clock went on without its "
		    "MTCs",
		    result->replay.clock_jumps);
}

/* Notes what was inferred of its state and its errata. */
static void
reencode_note_state(struct search *search)
{
	static const struct {
		uint32_t bit;
		const char *text;
	} errata[] = {
		{ REPLAY_ERRATUM(SKL014),
		    "SKL014 shows: TIP.PGD of a direct branch without IP" },
		{ REPLAY_ERRATUM(APL11), "APL11 shows: TIP.PGD behind OVF" },
		{ REPLAY_ERRATUM(APL12),
		    "APL12 shows: FUP behind OVF before TIP.PGE" },
		{ REPLAY_ERRATUM(BDM70),
		    "BDM70 shows: FUP in PSB+ before TIP.PGE" },
	};
	struct reencode_result *result = search->result;
	const struct trace_stats *stats = &result->stats;
	const struct replay_result *replay = &result->replay;
	const struct psb_count *first = &replay->first;

	result_note(result, "core:bus ratio %u in the first CBR",
	    trace_stats_cbr(stats, 0));
	if (stats->psb_count != 0)
		result_note(result,
		    "PacketByteCnt %u at the first PSB, output offset %u "
		    "modulo 64; %" PRIu64 " PSBs fit at once",
		    search->choices[0].count,
		    (unsigned)((stats->first_psb + first->phase) % 64),
		    first->fits);
	if (replay->jcc_ip_known)
		result_note(result, "TIP.PGD at a conditional branch: %s IP",
		    replay->jcc_ip ? "with" : "without");
	for (size_t i = 0; i < TZ_ARRAY_LEN(errata); i++)
		if ((replay->errata & errata[i].bit) != 0)
			result_note(result, "%s", errata[i].text);
	if (search->way.roomless)
		result_note(result,
		    "no room in the internal buffer: a PSB comes %" PRIu64
		    " bytes late",
		    replay->psb_late);
	if (replay->toggles != 0)
		result_note(result, "%" PRIu64 " times TraceEn fell and rose",
		    replay->toggles);
}

/* How much was replayed, and whether all of it is equal. */
static void
reencode_judge(struct search *search)
{
	struct reencode_result *result = search->result;
	struct replay_result *replay = &result->replay;
	uint64_t reach = result_reach(result), covered;

	if (reach == UINT64_MAX)
		reach = search->replay.count;
	covered = reach > result->stats.first_psb
	    ? reach - result->stats.first_psb
	    : 0;
	result->equal = result_reach(result) == UINT64_MAX;
	for (size_t i = 0; i < replay->gap_count; i++) {
		const struct replay_gap *at = &replay->gaps[i];
		uint64_t gap = at->to - at->from;

		covered -= gap < covered ? gap : covered;
		result->equal = result->equal && (at->unmapped || at->errata);
	}
	replay->covered = covered;
	result->distinct_blocks = search->replay.blocks->block_count - 1;
	result->distinct_insns = search->replay.blocks->insns;
	/*
	 * A trace of events alone has no block; and a packet of the first PSB+ may
	 * differ before the first block.
	 */
	result->nothing = replay->blocks == 0 &&
	    !(replay->difference.found &&
		replay->difference.offset < result->stats.first_psb_end) &&
	    (replay->other_events == 0 || replay->gap_count != 0);
}

/*
 * Where branches leave a range without an IP, the result depends on the exact ranges,
 * which the packets do not give.
 */
static bool
reencode_needs_ranges(const struct search *search)
{
	const struct reencode_result *result = search->result;
	const struct replay_result *replay = &result->replay;

	return !search->options->filter_given && result->filter.config != 0 &&
	    ((replay->errata & REPLAY_ERRATUM(SKL014)) != 0 ||
		(replay->jcc_ip_known && !replay->jcc_ip)) &&
	    result_reach(result) != UINT64_MAX;
}

/*
 * The offset of the packet that leads to .wrong_ip: the last one before .wrong_offset, or
 * the first one from there on that is no CYC.
 */
static uint64_t
reencode_leading(const struct search *search)
{
	const struct trace_stats *stats = &search->result->stats;
	const struct replay_result *replay = &search->result->replay;
	uint64_t offset = replay->wrong_offset, leading = offset;
	size_t psbs = trace_stats_psb_index(stats, offset);
	struct pkt_parser parser;
	struct pkt packet;

	pkt_begin(&parser, search->replay.bytes, search->replay.count,
	    psbs != 0 ? stats->psb[psbs - 1].offset : stats->first_psb);
	while (pkt_next_full(&parser, &packet)) {
		if (packet.offset >= offset && packet.kind != PKT_CYC)
			return replay->wrong_behind ? leading : packet.offset;
		if (pkt_is(&packet, PKT_IPS | PKT_BIT(TNT)))
			leading = packet.offset;
	}
	return leading;
}

/*
 * In a PSB+ libipt may stop before the packet that it refuses, at OFFSET.  Returns the
 * offset of the bad packet: the first of that PSB+ that cannot be read, or whose kind is
 * not allowed there.  OFFSET if there is no such packet.
 */
static uint64_t
reencode_skip_good(const struct search *search, uint64_t offset)
{
	const struct replay_config *replay = &search->replay;
	const struct trace_stats *stats = &search->result->stats;
	size_t psbs = trace_stats_psb_index(stats, offset + 1);
	struct pkt_parser parser;
	struct pkt packet;

	if (psbs == 0)
		return offset;
	pkt_begin(
	    &parser, replay->bytes, replay->count, stats->psb[psbs - 1].offset);
	while (pkt_next(&parser, &packet) && parser.in_psb &&
	    !pkt_is(&packet, REENCODE_NEVER_IN_PSB))
		;
	return pkt_is(&packet, REENCODE_NEVER_IN_PSB) && packet.offset > offset
	    ? packet.offset
	    : offset;
}

/* Where the trace is not equal: the packet, and what stands around it. */
static void
reencode_excerpt(struct search *search)
{
	struct reencode_result *result = search->result;
	struct replay_result *replay = &result->replay;
	struct replay_gap *gap;
	struct excerpt_source source = {
		.size = search->options->long_excerpt ? EXCERPT_LONG
						      : EXCERPT_SHORT,
		.stats = &result->stats,
		.bytes = search->replay.bytes,
		.count = result->bytes,
		.decode = &search->replay.decode,
		.image = search->replay.image,
	};

	switch (result_verdict(result)) {
	case RESULT_EQUAL:
	case RESULT_NOTHING:
		return;
	case RESULT_DIFFERS:
		source.difference = &replay->difference;
		source.offset = replay->difference.offset;
		break;
	case RESULT_CONTRADICTION:
		replay->wrong_offset = reencode_leading(search);
		source.offset = replay->wrong_offset;
		break;
	case RESULT_UNDECODED:
		gap = result_undecoded(result);
		gap->at = reencode_skip_good(search, gap->at);
		source.offset = gap->at;
		break;
	}
	if (!excerpt_make(&result->excerpt, &source))
		search->error = tz_error(
		    search->err, TZ_EIO, "reencode: out of memory");
}

/* Sets SEARCH up and runs it; .error. */
static void
reencode_run(struct search *search)
{
	const struct trace_stats *stats = &search->result->stats;
	struct replay_config *replay = &search->replay;
	uint8_t *blanked = NULL;

	if (stats->ips_full + stats->ips_sext48 != 0)
		search->way.uarch.ip_full = stats->ips_full > stats->ips_sext48
		    ? 6
		    : 3;
	if (stats->packets[PKT_BBP] != 0)
		replay->decode.bytes = blanked = reencode_blank(
		    replay->bytes, search->result->bytes);
	replay->blocks = code_blocks_create(replay->image);
	if (replay->blocks == NULL || replay->decode.bytes == NULL)
		search->error = tz_error(
		    search->err, TZ_EIO, "walk: out of memory");
	else
		setup_run(search);
	if (search->error == 0)
		search_run(search);
	if (search->error == 0 && reencode_needs_ranges(search))
		search->error = tz_error(search->err, TZ_EFORMAT,
		    "branches leave a range with a TIP.PGD that has no IP, and "
		    "the packets do not say where its ends are: give --range");
	if (search->error == 0) {
		reencode_note_packets(search);
		reencode_note_state(search);
		reencode_judge(search);
		reencode_excerpt(search);
	}
	free(blanked);
	search_free(search);
	code_blocks_destroy(replay->blocks);
}

int
reencode_trace(const uint8_t *bytes, uint64_t count, struct memory_image *image,
    const struct reencode_options *options, struct reencode_result *result,
    struct tz_error *err)
{
	struct search search = { .options = options,
		.result = result,
		.err = err,
		.profile = *options->profile,
		.way.uarch = *options->profile->uarch,
		.replay = { .bytes = bytes,
		    .decode = { .bytes = bytes,
			.signature = options->signature,
			.filter = &result->filter },
		    .image = image,
		    .form = options->form,
		    .driver = { .profile = &search.profile,
			.stats = &result->stats },
		    .choices = search.choices,
		    .progress = options->progress,
		    .progress_arg = options->progress_arg },
		.widen_left = REENCODE_WIDEN_BYTES };

	search.profile.uarch = &search.way.uarch;
	search.profile.errata_on = options->errata;
	*result = (struct reencode_result){ .bytes = count };
	if (!trace_stats_read(&result->stats, bytes, count))
		return tz_error(err, TZ_EIO, "packets: out of memory");
	search.replay.count = count - result->stats.cut_off;
	search.replay.decode.count = (size_t)search.replay.count;
	result->nothing = result->stats.first_psb >= search.replay.count;
	if (result->nothing)
		return 0;
	reencode_run(&search);
	if (search.error != 0)
		reencode_result_free(result);
	return search.error;
}
