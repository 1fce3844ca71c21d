#include "tests/bench/bare.h"

#include "traces/bundle/image.h"

#include <intel-pt.h>

/* From one PSB, whose STATUS is given, to the end or to what libipt refuses. */
static uint64_t
bare_stretch(struct pt_block_decoder *decoder, int status)
{
	struct pt_block block = { .ninsn = 0 };
	struct pt_event event;
	uint64_t insns = 0;

	while (status >= 0 && !(status & pts_eos)) {
		if (status & pts_event_pending) {
			status = pt_blk_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_blk_next(decoder, &block, sizeof(block));
		insns += block.ninsn;
	}
	return insns;
}

uint64_t
bare_blocks(const struct decode_config *from)
{
	struct pt_block_decoder *decoder;
	struct pt_config config;
	uint64_t insns = 0;
	int status;

	image_config(
	    &config, from->bytes, from->count, from->signature, from->errata);
	image_filter(&config, from->filter);
	decoder = pt_blk_alloc_decoder(&config);
	if (decoder == NULL || pt_blk_set_image(decoder, from->image) < 0) {
		pt_blk_free_decoder(decoder);
		return 0;
	}
	while ((status = pt_blk_sync_forward(decoder)) >= 0)
		insns += bare_stretch(decoder, status);
	pt_blk_free_decoder(decoder);
	return insns;
}
