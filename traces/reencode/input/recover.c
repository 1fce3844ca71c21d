#include "traces/reencode/input/recover.h"

#include "traces/bundle/image.h"
#include "traces/decode/concat.h"
#include "traces/decode/mask_cfe.h"

#include <intel-pt.h>
#include <stdlib.h>
#include <string.h>

/* Instructions without a packet: only an endless loop has so many. */
#define RECOVER_SILENT_MAX (UINT32_C(1) << 22)
/* After so many, a batch ends: its replay may end before them. */
#define RECOVER_AHEAD_INSNS (UINT32_C(1) << 16)

struct recover {
	struct pt_block_decoder *decoder;
	struct pt_block block; /* the last one */
	int status;            /* of libipt's last call; < 0 before the first */
	uint32_t
	    silent; /* instructions since the last check for an endless loop */
	bool psb_reported; /* of the PSB+ since the last block */
	struct pt_config config;
	struct pt_image *image;
	bool synced, ended;
	int64_t base; /* to be added to libipt's offsets */
	uint64_t sync_offset;
	uint64_t disables;      /* TIP.PGD since that PSB */
	uint64_t silent_offset; /* libipt's place when .silent began */
	struct concat *concat;  /* NULL until it is needed */
	uint8_t *blanked; /* the trace without what misleads libipt, or NULL */
	struct recover_batch batch;
};

static bool
recover_open(struct recover *recover)
{
	if (recover->decoder != NULL)
		pt_blk_free_decoder(recover->decoder);
	recover->decoder = pt_blk_alloc_decoder(&recover->config);
	return recover->decoder != NULL &&
	    pt_blk_set_image(recover->decoder, recover->image) >= 0;
}

static bool
recover_setup(struct recover *recover, const struct decode_config *from)
{
	if (!mask_cfe_cfes(from->bytes, from->count, &recover->blanked))
		return false;
	image_config(&recover->config,
	    recover->blanked != NULL ? recover->blanked : from->bytes,
	    from->count, from->signature, from->errata);
	if (from->filter != NULL)
		image_filter(&recover->config, from->filter);
	recover->image = from->image;
	recover->status = -pte_nosync;
	return recover_open(recover);
}

struct recover *
recover_create(const struct decode_config *from)
{
	struct recover *recover = calloc(1, sizeof(*recover));

	if (recover == NULL || recover_setup(recover, from))
		return recover;
	recover_destroy(recover);
	return NULL;
}

void
recover_destroy(struct recover *recover)
{
	if (recover == NULL)
		return;
	if (recover->decoder != NULL)
		pt_blk_free_decoder(recover->decoder);
	concat_destroy(recover->concat);
	free(recover->blanked);
	free(recover);
}

static uint8_t
recover_bits(enum pt_exec_mode mode)
{
	return mode == ptem_unknown ? 16 : (uint8_t)(8u << mode);
}

static void
recover_sync(struct recover *recover, struct recover_item *item)
{
	uint64_t offset = 0;

	do {
		recover->status = pt_blk_sync_forward(recover->decoder);
		if (recover->status == -pte_eos) {
			recover->ended = true;
			item->kind = RECOVER_END;
			return;
		}
	} while (recover->status < 0); /* a damaged PSB+: on to the next */
	(void)pt_blk_get_sync_offset(recover->decoder, &offset);
	recover->sync_offset = (uint64_t)((int64_t)offset + recover->base);
	recover->disables = 0;
	recover->synced = true;
	recover->psb_reported = true;
	if (recover->concat != NULL)
		concat_sync(recover->concat, recover->sync_offset);
	item->kind = RECOVER_SYNC;
	item->offset = recover->sync_offset;
}

/* Makes ITEM of EVENT. */
static void
recover_convert(struct recover_item *item, const struct pt_event *event)
{
	item->no_ip = event->ip_suppressed != 0;
	switch ((int)event->type) {
	case ptev_enabled:
		item->kind = RECOVER_ENABLED;
		item->ip = event->variant.enabled.ip;
		return;
	case ptev_disabled:
		item->kind = RECOVER_DISABLED;
		item->to = event->variant.disabled.ip;
		return;
	case ptev_async_disabled:
		item->kind = RECOVER_ASYNC_DISABLED;
		item->ip = event->variant.async_disabled.at;
		item->to = event->variant.async_disabled.ip;
		return;
	case ptev_async_branch:
		item->kind = RECOVER_ASYNC_BRANCH;
		item->ip = event->variant.async_branch.from;
		item->to = event->variant.async_branch.to;
		return;
	case ptev_overflow:
		item->kind = RECOVER_OVERFLOW;
		item->ip = event->variant.overflow.ip;
		return;
	case ptev_paging:
		item->kind = RECOVER_PAGING;
		item->value = event->variant.paging.cr3;
		item->flag = event->variant.paging.non_root != 0;
		return;
	case ptev_async_paging:
		item->kind = RECOVER_ASYNC_PAGING;
		item->ip = event->variant.async_paging.ip;
		item->value = event->variant.async_paging.cr3;
		item->flag = event->variant.async_paging.non_root != 0;
		return;
	case ptev_exec_mode:
		item->kind = RECOVER_MODE;
		item->ip = event->variant.exec_mode.ip;
		item->bits = recover_bits(event->variant.exec_mode.mode);
		return;
	case ptev_vmcs:
		item->kind = RECOVER_VMCS;
		item->value = event->variant.vmcs.base;
		return;
	case ptev_async_vmcs:
		item->kind = RECOVER_VMCS;
		item->ip = event->variant.async_vmcs.ip;
		item->value = event->variant.async_vmcs.base;
		return;
	case ptev_tsx:
		item->kind = RECOVER_OTHER;
		item->ip = event->variant.tsx.ip;
		return;
	default:
		item->kind = RECOVER_OTHER;
		return;
	}
}

/* Status packets of a PSB+: the first of them gives its place, the others are dropped. */
static bool
recover_psb(struct recover *recover, struct recover_item *item,
    const struct pt_event *event)
{
	bool told = recover->psb_reported;

	if (event->type != ptev_exec_mode && event->type != ptev_tsx &&
	    event->type != ptev_async_paging && event->type != ptev_async_vmcs)
		return false;
	item->kind = RECOVER_PSB;
	recover->psb_reported = true;
	return !told && !item->no_ip;
}

/* Makes ITEM of a pending event.  False: it says nothing new, or libipt stops. */
static bool
recover_event(struct recover *recover, struct recover_item *item)
{
	struct pt_event event;

	recover->status = pt_blk_event(recover->decoder, &event, sizeof(event));
	if (recover->status < 0)
		return false;
	recover_convert(item, &event);
	if (event.status_update != 0)
		return recover_psb(recover, item, &event);
	recover->disables += item->kind == RECOVER_DISABLED ||
	    item->kind == RECOVER_ASYNC_DISABLED;
	return event.type != ptev_tick;
}

/*
 * libipt finds no outcome for the conditional branch that ends the last block: that branch
 * may have left the ranges with a TIP.PGD without IP.
 */
static bool
recover_jcc(struct recover *recover, struct recover_item *item)
{
	enum concat_end end;

	if ((recover->status != -pte_bad_query &&
		recover->status != -pte_eos) ||
	    recover->block.ninsn == 0 ||
	    recover->block.iclass != ptic_cond_jump)
		return false;
	if (recover->concat == NULL) {
		recover->concat = concat_create(&recover->config);
		if (recover->concat == NULL)
			return false;
		concat_sync(recover->concat, recover->sync_offset);
	}
	end = concat_resume(recover->concat, recover->disables,
	    &recover->config, &recover->base);
	if (end == CONCAT_REFUSED)
		return false;
	recover->disables++;
	recover->block.ninsn = 0;
	item->kind = RECOVER_DISABLED;
	item->no_ip = true;
	if (end == CONCAT_NO_MORE)
		recover->status = -pte_eos;
	else if (!recover_open(recover))
		recover->status = -pte_nomem;
	else
		recover->status = pt_blk_sync_set(recover->decoder, 0);
	return true;
}

void
recover_resync(struct recover *recover)
{
	recover->synced = false;
	recover->status = -pte_nosync;
	recover->block.ninsn = 0;
}

static void
recover_fail(struct recover *recover, struct recover_item *item)
{
	uint64_t offset = 0;

	recover->synced = false;
	item->ip = recover->block.ip;
	item->insns = recover->block.ninsn;
	item->value = recover->status == -pte_bad_insn;
	recover->block.ninsn = 0;
	(void)pt_blk_get_offset(recover->decoder, &offset);
	item->kind = RECOVER_ERROR;
	item->offset = (uint64_t)((int64_t)offset + recover->base);
	item->flag = recover->status == -pte_nomap;
	item->text = pt_errstr(pt_errcode(recover->status));
	if (recover->status == -pte_eos)
		recover_sync(recover, item);
	else
		recover->status = -pte_nosync;
}

/*
 * Is libipt in an endless loop?  A damaged trace may lead into direct jumps that form a
 * ring, where it needs no packet and never stops.
 */
static bool
recover_is_endless(struct recover *recover)
{
	uint64_t offset = 0;

	if (recover->silent < RECOVER_SILENT_MAX)
		return false;
	recover->silent = 0;
	(void)pt_blk_get_offset(recover->decoder, &offset);
	if (offset == recover->silent_offset)
		return true;
	recover->silent_offset = offset;
	return false;
}

/* The next item that is no block; false: a block may come. */
static bool
recover_other(struct recover *recover, struct recover_item *item)
{
	*item = (struct recover_item){ .kind = RECOVER_END };
	if (recover->ended)
		return true;
	if (!recover->synced) {
		recover_sync(recover, item);
		return true;
	}
	if (recover_is_endless(recover)) {
		recover_fail(recover, item);
		item->flag = false;
		item->endless = true;
		item->text = "a ring of jumps that nothing ends";
		return true;
	}
	while (recover->status >= 0 &&
	    (recover->status & pts_event_pending) != 0) {
		if (recover_event(recover, item))
			return true;
		*item = (struct recover_item){ .kind = RECOVER_END };
	}
	if (recover->status >= 0 && (recover->status & pts_eos) != 0)
		recover->status = -pte_eos;
	if (recover->status >= 0)
		return false;
	if (!recover_jcc(recover, item))
		recover_fail(recover, item);
	return true;
}

/* Reads blocks until an event comes or END is reached; returns the end of the keys. */
static inline struct code_blocks_key *
recover_blocks(struct recover *recover, struct code_blocks_key *found,
    const struct code_blocks_key *end)
{
	struct pt_block *block = &recover->block;
	uint32_t silent = recover->silent;
	uint32_t most = silent < RECOVER_SILENT_MAX
	    ? silent + RECOVER_AHEAD_INSNS
	    : 0;
	int status = recover->status;

	while (found < end && (status & ~pts_ip_suppressed) == 0 &&
	    silent < most) {
		block->ninsn = 0;
		status = pt_blk_next(recover->decoder, block, sizeof(*block));
		/* Also with an error these are good instructions. */
		if (block->ninsn == 0)
			break;
		silent += block->ninsn;
		*found++ = code_blocks_key(block->ip, block->end_ip,
		    block->ninsn, recover_bits(block->mode));
	}
	recover->psb_reported &= silent == recover->silent;
	recover->silent = silent;
	recover->status = status;
	return found;
}

/* Must ITEM be replayed before libipt continues? */
static bool
recover_is_last(const struct recover_item *item)
{
	return item->kind == RECOVER_OVERFLOW || item->kind == RECOVER_ERROR ||
	    item->kind == RECOVER_END;
}

const struct recover_batch *
recover_read(struct recover *recover, size_t room)
{
	struct recover_batch *batch = &recover->batch;
	struct code_blocks_key *block = batch->block, *end = block + room;
	struct recover_item *item = batch->item;

	TZ_ASSERT(room != 0 && room <= RECOVER_BATCH);
	while (block < end) {
		uint32_t silent = recover->silent;

		block = recover_blocks(recover, block, end);
		if (block == end ||
		    recover->silent - silent >= RECOVER_AHEAD_INSNS)
			break;
		if (!recover_other(recover, item))
			continue;
		block->rest = 0;
		block++;
		if (recover_is_last(item++))
			break;
	}
	batch->count = (size_t)(block - batch->block);
	return batch;
}
