/*
 * Parts of the trace that are left out: libipt stops, or errata of overflows mislead it.
 */
#include "traces/decode/vector.h"
#include "traces/reencode/replay/replay_internal.h"

void
gap_add(struct replay *replay, const struct replay_gap *gap)
{
	struct replay_result *result = replay->result;

	replay->has_last = replay->running = false;
	if (!GROW(result->gaps, result->gap_room, result->gap_count + 1)) {
		report_fail(replay);
		return;
	}
	result->gaps[result->gap_count] = *gap;
	result->gaps[result->gap_count++].to = replay->config.count;
}

void
gap_close(struct replay *replay, uint64_t offset)
{
	struct replay_result *result = replay->result;

	if (result->gap_count != 0 && !replay->running)
		result->gaps[result->gap_count - 1].to = offset;
}

/*
 * With SKD010 the place after an overflow is missing, with SKD007 the OVF itself.  libipt
 * then finds a wrong flow up to the next PSB; `topaz verify` counts it as lost, too.
 */
void
gap_doubt(struct replay *replay)
{
	if (!replay->config.doubts || replay->doubt.open)
		return;
	replay->doubt.open = true;
	replay->doubt.from = replay_offset(replay);
}

/*
 * Is the packet at OFFSET, where libipt stopped, an OVF of a
 * processor with SKD007 or SKD010?
 */
static bool
gap_is_ovf(const struct replay *replay, uint64_t offset)
{
	const struct replay_config *config = &replay->config;

	return config->doubts && offset + 2 <= config->count &&
	    config->bytes[offset] == 0x02 && config->bytes[offset + 1] == 0xf3;
}

void
gap_skip(struct replay *replay, uint64_t from, const char *text)
{
	replay->doubt.open = false;
	gap_add(replay,
	    &(struct replay_gap){
		.from = from, .at = from, .text = text, .errata = true });
	recover_resync(replay->recover);
}

void
gap_excuse(struct replay *replay)
{
	struct replay_result *result = replay->result;

	if (!replay->ended || replay->failed || result->endless ||
	    (result->wrong == NULL &&
		!replay->driver.compare->difference.found))
		return;
	replay->ended = false;
	result->wrong = NULL;
	replay->driver.compare->difference =
	    (struct compare_difference){ .found = false };
	gap_skip(replay, replay->doubt.from,
	    "what is behind an overflow with SKD007 or SKD010");
}

/*
 * Does ITEM mean that a part of an instruction is missing in the image?  It must begin
 * after the last block, or where that block's last instruction leads.
 */
static bool
gap_is_part(const struct replay *replay, const struct recover_item *item)
{
	const struct code_blocks *blocks = replay->config.blocks;
	const struct code_block *last = replay->last;

	if (item->value == 0)
		return false;
	if (item->insns == 0)
		return !code_blocks_is_whole(blocks, item->ip);
	return !code_blocks_is_whole(blocks, code_blocks_nlip(last)) ||
	    ((code_blocks_kind(last) == INSN_CLASS_JUMP ||
		 code_blocks_kind(last) == INSN_CLASS_CALL ||
		 code_blocks_kind(last) == INSN_CLASS_COND) &&
		!code_blocks_is_whole(blocks, code_blocks_target(last)));
}

/* Is the packet before END, where libipt stopped, the CFE of a VM entry? */
static bool
gap_is_entry(const struct replay *replay, uint64_t end)
{
	struct pkt last = cut_read(replay, end).last;

	return last.kind == PKT_CFE && (last.value & 0x1f) == CFE_VMENTRY;
}

void
gap_stop(struct replay *replay, const struct recover_item *item)
{
	bool part = gap_is_part(replay, item);
	bool entry = gap_is_entry(replay, item->offset);

	if (item->endless)
		replay->result->endless = replay->ended = true;
	/* The present gap continues. */
	if (!replay->running)
		return;
	if (!item->endless &&
	    (replay->doubt.open || gap_is_ovf(replay, item->offset))) {
		gap_doubt(replay);
		report_wrong(replay, item->text, replay->at.ip);
		return;
	}
	report_take(replay);
	gap_add(replay,
	    &(struct replay_gap){ .from = replay_offset(replay),
		.at = item->offset,
		.text = part ? "only a part of the instruction is mapped"
		    : entry  ? "it takes no CFE of a VM entry"
			     : item->text,
		.unmapped = item->flag || part || entry });
}
