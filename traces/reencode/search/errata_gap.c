/*
 * What errata of overflows make of a trace: SKD010 leaves out where tracing goes on,
 * SKD007 hides that there was an overflow.  libipt then finds a flow that is none, up
 * to the next PSB, and `topaz verify` takes that for lost as well.
 */
#include "traces/reencode/replay/replay_internal.h"

void
errata_gap_begin(struct replay *replay)
{
	if (!replay->config.doubts || replay->doubts)
		return;
	replay->doubts = true;
	replay->errata_gap_from = compare_offset(replay->config.compare);
}

bool
errata_gap_is_ovf(const struct replay *replay, uint64_t offset)
{
	const struct replay_config *config = &replay->config;

	return config->doubts && offset + 2 <= config->count &&
	    config->bytes[offset] == 0x02 && config->bytes[offset + 1] == 0xf3;
}

void
errata_gap_end(struct replay *replay)
{
	replay->doubts = false;
}

void
errata_gap_skip(struct replay *replay, uint64_t from, const char *text)
{
	replay->doubts = false;
	replay_add_gap(replay,
	    &(struct replay_gap){
		.from = from, .at = from, .text = text, .errata = true });
	recover_resync(replay->config.recover);
}

void
errata_gap_forgive(struct replay *replay)
{
	struct replay_result *result = replay->result;

	if (!replay->ended || replay->failed || result->endless ||
	    (result->wrong == NULL &&
		!compare_difference(replay->config.compare)->found))
		return;
	replay->ended = false;
	result->wrong = NULL;
	compare_forgive(replay->config.compare);
	errata_gap_skip(replay, replay->errata_gap_from,
	    "what is behind an overflow with SKD007 or SKD010");
}
