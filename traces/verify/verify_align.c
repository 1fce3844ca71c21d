/*
 * Finds the place in the execution log to which the instructions that were decoded belong.
 */
#include "traces/verify/verify_part.h"

#include <inttypes.h>

#define PART_ALIGN_INSNS 256 /* instructions compared to find a place */

/* The piece that holds byte OFFSET of the part. */
static const struct account_piece *
part_piece(const struct part_run *run, uint64_t offset)
{
	const struct account_piece *piece =
	    &run->bytes->account->pieces[run->part->first];
	uint64_t position = run->part->begin + offset;

	while (position >= piece->position + piece->bytes)
		piece++;
	return piece;
}

size_t
part_interval_at(const struct verify_bytes *bytes, size_t interval)
{
	size_t low = 0, high = bytes->interval_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (bytes->intervals[mid] < interval)
			low = mid + 1;
		else
			high = mid;
	}
	TZ_ASSERT(low < bytes->interval_count);
	return low;
}

/* How many of the first decoded instructions equal those of FLOW from FIRST on. */
static size_t
part_agreement(const struct part_run *run, struct flow flow, uint64_t first)
{
	size_t max = run->count < PART_ALIGN_INSNS ? run->count
						   : PART_ALIGN_INSNS;
	uint64_t ip = first;
	size_t same = 0;

	while (same < max && ip == run->ips[same]) {
		same++;
		if (!flow_next(&flow, &ip))
			break;
	}
	return same;
}

/* The unit's record of the PSB at OFFSET, or NULL. */
static const struct verify_psb *
part_find_psb(const struct verify_psbs *psbs, uint64_t offset)
{
	size_t low = 0, high = psbs->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (psbs->psbs[mid].offset < offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == psbs->count || psbs->psbs[low].offset != offset)
		return NULL;
	return &psbs->psbs[low];
}

size_t
part_search(struct part_run *run, size_t at, uint64_t hint)
{
	struct flow flow = run->flow, before, best = run->flow;
	size_t wanted = run->count < PART_ALIGN_INSNS ? run->count
						      : PART_ALIGN_INSNS;
	uint64_t distance = UINT64_MAX, ip;
	size_t agreed = 0;

	for (;;) {
		uint64_t away = UINT64_MAX, retired;
		size_t same = 0;

		before = flow;
		if (!flow_next(&flow, &ip))
			break;
		retired = flow_retired(&flow);
		if (flow.at == at)
			away = retired > hint ? retired - hint : hint - retired;
		if (agreed == wanted &&
		    (flow.at != at || (retired > hint && away >= distance)))
			break; /* the distance only grows from here */
		if (ip == run->ips[0])
			same = part_agreement(run, flow, ip);
		if (same > agreed || (same == agreed && away < distance)) {
			agreed = same;
			distance = away;
			best = before;
		}
	}
	if (agreed != 0)
		run->flow = best;
	return agreed;
}

/* Nothing decodes after PSB: skips the instructions that were executed before it. */
static void
part_skip(struct part_run *run, size_t at, const struct verify_psb *psb)
{
	struct flow flow = run->flow;
	uint64_t ip;

	do
		run->flow = flow;
	while (flow_next(&flow, &ip) && flow.at == at &&
	    flow_retired(&flow) < psb->insns);
}

/* Where a decoder that starts at .sync_offset is. */
struct part_start {
	const struct account_interval *interval;
	uint64_t offset; /* in all output of the unit */
	size_t at,
	    end; /* of the stream's intervals: this one, past the part's last */
	const struct verify_psb *psb;
};

static struct part_start
part_find_start(const struct part_run *run)
{
	const struct account_piece *piece = part_piece(run, run->sync_offset);
	const struct account_piece *last =
	    &run->bytes->account->pieces[run->part->last];
	struct part_start start = {
		.interval = &run->work->account.intervals[piece->interval],
		.offset = piece->offset + run->part->begin + run->sync_offset -
		    piece->position,
		.at = part_interval_at(run->bytes, piece->interval),
		.end = part_interval_at(run->bytes, last->interval) + 1,
	};

	start.psb = part_find_psb(
	    &run->work->psbs[start.interval->cpu], start.offset);
	return start;
}

void
part_aim(struct part_run *run)
{
	struct part_start start;

	if (!run->work->code.used)
		return;
	start = part_find_start(run);
	flow_start(&run->flow, &run->work->source, run->bytes->intervals,
	    start.at, start.end);
	if (start.offset != start.interval->begin && start.psb != NULL)
		part_skip(run, start.at, start.psb);
	run->aimed = run->flow;
}

void
part_align(struct part_run *run)
{
	struct part_start start = part_find_start(run);

	flow_start(&run->flow, &run->work->source, run->bytes->intervals,
	    start.at, start.end);
	if (start.offset == start.interval->begin)
		return;
	if (run->count == 0) {
		if (start.psb != NULL)
			part_skip(run, start.at, start.psb);
		return;
	}
	if (start.psb == NULL)
		verify_add_finding(run->work,
		    "%s: the unit does not know of the PSB at byte %" PRIu64,
		    run->bytes->stream->name,
		    run->part->begin + run->sync_offset);
	(void)part_search(
	    run, start.at, start.psb == NULL ? 0 : start.psb->insns);
}
