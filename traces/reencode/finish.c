/*
 * Where the flow is no longer known: libipt stops, or the trace ends.
 */
#include "traces/decode/vector.h"
#include "traces/reencode/drive_work.h"

/*
 * An instruction of which a part lies in memory that no image has is none to libipt.
 * Where it must begin: behind the last block or where its last instruction leads.
 */
static bool
drive_is_part(const struct drive *drive, const struct recover_item *item)
{
	const struct walk *walk = drive->config.walk;
	const struct walk_block *last = drive->last;

	if (item->value == 0)
		return false;
	if (item->insns == 0)
		return !walk_is_whole(walk, item->ip);
	return !walk_is_whole(walk, walk_nlip(last)) ||
	    ((walk_kind(last) == WALK_JUMP || walk_kind(last) == WALK_CALL ||
		 walk_kind(last) == WALK_COND) &&
		!walk_is_whole(walk, walk_target(last)));
}

void
drive_add_gap(struct drive *drive, const struct drive_gap *gap)
{
	struct drive_result *result = drive->result;

	drive->has_last = drive->running = false;
	if (!GROW(result->gaps, result->gap_room, result->gap_count + 1)) {
		drive_fail(drive);
		return;
	}
	result->gaps[result->gap_count] = *gap;
	result->gaps[result->gap_count++].to = drive->config.count;
}

void
drive_gap(struct drive *drive, const struct recover_item *item)
{
	bool part = drive_is_part(drive, item);
	bool entry = happen_is_entry(drive, item->offset);

	if (item->endless)
		drive->result->endless = drive->ended = true;
	/* What is left out goes on. */
	if (!drive->running)
		return;
	if (!item->endless &&
	    (drive->doubts || doubt_is_ovf(drive, item->offset))) {
		doubt_begin(drive);
		drive_wrong(drive, item->text, drive->at.ip);
		return;
	}
	drive_take(drive);
	drive_add_gap(drive,
	    &(struct drive_gap){ .from = compare_offset(drive->config.compare),
		.at = item->offset,
		.text = part ? "only a part of the instruction is mapped"
		    : entry  ? "it takes no CFE of a VM entry"
			     : item->text,
		.unmapped = item->flag || part || entry });
}

/* The last block's last instruction, if it is one that may, gives an outcome. */
static void
drive_last_outcome(struct drive *drive, bool taken)
{
	const struct walk_block *last = drive->last;
	const struct pt_fast *fast = pt_unit_fast(drive->feed->unit);
	uint32_t top = (fast->ret_top + PT_RETURN_STACK_ENTRIES - 1) %
	    PT_RETURN_STACK_ENTRIES;

	if (walk_kind(last) == WALK_COND)
		drive_resolve(
		    drive, taken ? walk_target(last) : walk_nlip(last));
	else if (walk_kind(last) == WALK_RET && fast->compress_ret &&
	    fast->ret_count != 0)
		drive_resolve(drive, fast->ret_stack[top]);
}

void
drive_last(struct drive *drive, uint64_t end)
{
	const struct walk_block *last = drive->last;
	uint64_t at = compare_offset(drive->config.compare);
	struct scan scan = drive->guide;
	struct scan_packet packet, found = { .kind = SCAN_PAD };

	while (scan_next(&scan, &packet) && packet.offset < end)
		if (packet.offset >= at &&
		    (packet.kind == SCAN_TIP || packet.kind == SCAN_TNT))
			found = packet;
	if (!drive->has_last)
		return;
	if (found.kind == SCAN_TIP && walk_kind(last) != WALK_COND &&
	    walk_kind(last) != WALK_PLAIN)
		drive_resolve(drive, found.value);
	else if (found.kind == SCAN_TNT &&
	    found.bits == pt_unit_tnt_pending(drive->feed->unit) + 1)
		/* One outcome more than the unit still holds is this one's. */
		drive_last_outcome(drive, (found.value & 1) != 0);
}

/* Where the last packet ends that is no PAD. */
static uint64_t
drive_end(const struct drive *drive)
{
	struct scan scan = drive->guide;
	struct scan_packet packet;
	uint64_t end;

	end = scan.offset = compare_offset(drive->config.compare);
	while (scan_next(&scan, &packet))
		if (packet.kind != SCAN_PAD)
			end = scan.offset;
	return end;
}

/* The trace ends at END outside of all that is traced: at most a flush follows. */
static void
drive_flush(struct drive *drive, uint64_t *end)
{
	uint64_t at = compare_offset(drive->config.compare);

	feed_disable(drive->feed, &drive->at);
	if (*end == at && drive->config.facts->cut_off == 0) {
		*end = at + (16 - (at + drive->phase) % 16) % 16;
		if (*end > drive->config.count)
			*end = drive->config.count;
	}
	compare_limit(drive->config.compare, *end);
	if (!feed_take(drive->feed))
		drive_fail(drive);
}

void
drive_finish(struct drive *drive)
{
	struct drive_result *result = drive->result;
	uint64_t end;

	if (!drive->running)
		return;
	drive_take(drive);
	if (drive->ended)
		return;
	if (drive->has_last && walk_kind(drive->last) == WALK_PLAIN)
		drive->at.ip = walk_nlip(drive->last);
	drive_last(drive, drive->config.count);
	drive_take(drive);
	if (drive->ended)
		return;
	end = drive_end(drive);
	if (!drive->traced)
		happen_before(drive, true);
	drive_take(drive);
	if (drive->traced || compare_offset(drive->config.compare) < end)
		overflow_cut(drive, end, false);
	else
		drive_flush(drive, &end);
	if (!compare_stop(drive->config.compare, end))
		drive_fail(drive);
	result->tail = drive->config.count - end;
}
