#include "traces/decode/concat.h"

#include <intel-pt.h>
#include <stdlib.h>

/* Room before the copied bytes for the PSB+ and TIP.PGE that are inserted. */
#define STITCH_HEAD_BYTES 64

struct stitch {
	struct pt_config config; /* of the copy */
	struct pt_packet_decoder *packets;
	uint64_t last_ip;
	uint64_t pgds; /* seen since the PSB */
	uint8_t *copy;
	size_t count;
};

struct stitch *
concat_create(const struct pt_config *config)
{
	struct stitch *stitch = calloc(1, sizeof(*stitch));
	size_t count = (size_t)(config->end - config->begin);

	if (stitch == NULL)
		return NULL;
	stitch->count = count;
	stitch->copy = malloc(count + STITCH_HEAD_BYTES);
	if (stitch->copy != NULL) {
		memcpy(&stitch->copy[STITCH_HEAD_BYTES], config->begin, count);
		stitch->config = *config;
		stitch->config.begin = &stitch->copy[STITCH_HEAD_BYTES];
		stitch->config.end = stitch->config.begin + count;
		stitch->packets = pt_pkt_alloc_decoder(&stitch->config);
	}
	if (stitch->packets == NULL) {
		concat_destroy(stitch);
		return NULL;
	}
	return stitch;
}

void
concat_destroy(struct stitch *stitch)
{
	if (stitch == NULL)
		return;
	if (stitch->packets != NULL)
		pt_pkt_free_decoder(stitch->packets);
	free(stitch->copy);
	free(stitch);
}

void
concat_sync(struct stitch *stitch, uint64_t offset)
{
	(void)pt_pkt_sync_set(stitch->packets, offset);
	stitch->last_ip = 0;
	stitch->pgds = 0;
}

/* SDM vol. 3, 33.4.2.2 "Target IP (TIP) Packet": IP compression. */
static void
concat_update_ip(struct stitch *stitch, const struct pt_packet_ip *packet)
{
	uint64_t mask = 0;

	switch (packet->ipc) {
	case pt_ipc_suppressed:
		return;
	case pt_ipc_update_16:
		mask = UINT64_C(0xffff);
		break;
	case pt_ipc_update_32:
		mask = UINT64_C(0xffffffff);
		break;
	case pt_ipc_update_48:
		mask = UINT64_C(0xffffffffffff);
		break;
	case pt_ipc_sext_48:
		stitch->last_ip = (uint64_t)((int64_t)(packet->ip << 16) >> 16);
		return;
	case pt_ipc_full:
		mask = ~UINT64_C(0);
		break;
	}
	stitch->last_ip = (stitch->last_ip & ~mask) | (packet->ip & mask);
}

/* Reads the next packet and updates the last IP.  False: there is none. */
static bool
concat_next_packet(struct stitch *stitch, struct pt_packet *packet)
{
	if (pt_pkt_next(stitch->packets, packet, sizeof(*packet)) < 0)
		return false;
	switch ((int)packet->type) {
	case ppt_psb:
		stitch->last_ip = 0;
		break;
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		concat_update_ip(stitch, &packet->payload.ip);
		break;
	default:
		break;
	}
	return true;
}

/* Writes a PSB+ and a full TIP.PGE that end just before byte END. */
static bool
concat_put_head(struct stitch *stitch, uint64_t end, size_t *begin)
{
	struct pt_packet packets[] = { { .type = ppt_psb },
		{ .type = ppt_psbend }, { .type = ppt_mode },
		{ .type = ppt_tip_pge } };
	uint8_t head[STITCH_HEAD_BYTES];
	struct pt_encoder *encoder;
	struct pt_config config;
	size_t size = 0;

	packets[2].payload.mode.leaf = pt_mol_exec;
	packets[2].payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	packets[3].payload.ip.ipc = pt_ipc_full;
	packets[3].payload.ip.ip = stitch->last_ip;
	pt_config_init(&config);
	config.begin = head;
	config.end = head + sizeof(head);
	encoder = pt_alloc_encoder(&config);
	if (encoder == NULL)
		return false;
	for (size_t i = 0; i < TZ_ARRAY_LEN(packets); i++) {
		int bytes = pt_enc_next(encoder, &packets[i]);

		TZ_ASSERT(bytes > 0);
		size += (size_t)bytes;
	}
	pt_free_encoder(encoder);
	*begin = STITCH_HEAD_BYTES + (size_t)end - size;
	memcpy(&stitch->copy[*begin], head, size);
	return true;
}

enum concat_end
concat_resume(struct stitch *stitch, uint64_t nth, struct pt_config *config,
    int64_t *offset)
{
	struct pt_packet packet = { .type = ppt_invalid };
	uint64_t end = 0;
	size_t begin;

	while (stitch->pgds <= nth) {
		if (!concat_next_packet(stitch, &packet))
			return STITCH_REFUSED;
		stitch->pgds += packet.type == ppt_tip_pgd;
	}
	if (packet.type != ppt_tip_pgd ||
	    packet.payload.ip.ipc != pt_ipc_suppressed)
		return STITCH_REFUSED;
	do {
		if (!concat_next_packet(stitch, &packet))
			return STITCH_NO_MORE;
		if (packet.type == ppt_ovf)
			return STITCH_REFUSED;
	} while (packet.type != ppt_tip_pge);
	(void)pt_pkt_get_offset(stitch->packets, &end);
	if (!concat_put_head(stitch, end, &begin))
		return STITCH_REFUSED;
	*config = stitch->config;
	config->begin = &stitch->copy[begin];
	*offset = (int64_t)begin - STITCH_HEAD_BYTES;
	return STITCH_RESUMED;
}
