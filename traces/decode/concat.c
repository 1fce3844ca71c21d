#include "traces/decode/concat.h"

#include <intel-pt.h>
#include <stdlib.h>

/* Room before the copied bytes for the PSB+ and TIP.PGE that are inserted. */
#define CONCAT_HEAD_BYTES 64

struct concat {
	struct pt_config config; /* of the copy */
	struct pt_packet_decoder *packets;
	uint64_t last_ip;
	uint64_t pgds; /* seen since the PSB */
	uint8_t *copy;
	size_t count;
};

struct concat *
concat_create(const struct pt_config *config)
{
	struct concat *concat = calloc(1, sizeof(*concat));
	size_t count = (size_t)(config->end - config->begin);

	if (concat == NULL)
		return NULL;
	concat->count = count;
	concat->copy = malloc(count + CONCAT_HEAD_BYTES);
	if (concat->copy != NULL) {
		memcpy(&concat->copy[CONCAT_HEAD_BYTES], config->begin, count);
		concat->config = *config;
		concat->config.begin = &concat->copy[CONCAT_HEAD_BYTES];
		concat->config.end = concat->config.begin + count;
		concat->packets = pt_pkt_alloc_decoder(&concat->config);
	}
	if (concat->packets == NULL) {
		concat_destroy(concat);
		return NULL;
	}
	return concat;
}

void
concat_destroy(struct concat *concat)
{
	if (concat == NULL)
		return;
	if (concat->packets != NULL)
		pt_pkt_free_decoder(concat->packets);
	free(concat->copy);
	free(concat);
}

void
concat_sync(struct concat *concat, uint64_t offset)
{
	(void)pt_pkt_sync_set(concat->packets, offset);
	concat->last_ip = 0;
	concat->pgds = 0;
}

/* SDM vol. 3, 33.4.2.2 "Target IP (TIP) Packet": IP compression. */
static void
concat_update_ip(struct concat *concat, const struct pt_packet_ip *packet)
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
		concat->last_ip = (uint64_t)((int64_t)(packet->ip << 16) >> 16);
		return;
	case pt_ipc_full:
		mask = ~UINT64_C(0);
		break;
	}
	concat->last_ip = (concat->last_ip & ~mask) | (packet->ip & mask);
}

/* Reads the next packet and updates the last IP.  False: there is none. */
static bool
concat_next_packet(struct concat *concat, struct pt_packet *packet)
{
	if (pt_pkt_next(concat->packets, packet, sizeof(*packet)) < 0)
		return false;
	switch ((int)packet->type) {
	case ppt_psb:
		concat->last_ip = 0;
		break;
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		concat_update_ip(concat, &packet->payload.ip);
		break;
	default:
		break;
	}
	return true;
}

/* Writes a PSB+ and a full TIP.PGE that end just before byte END. */
static bool
concat_put_head(struct concat *concat, uint64_t end, size_t *begin)
{
	struct pt_packet packets[] = { { .type = ppt_psb },
		{ .type = ppt_psbend }, { .type = ppt_mode },
		{ .type = ppt_tip_pge } };
	uint8_t head[CONCAT_HEAD_BYTES];
	struct pt_encoder *encoder;
	struct pt_config config;
	size_t size = 0;

	packets[2].payload.mode.leaf = pt_mol_exec;
	packets[2].payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	packets[3].payload.ip.ipc = pt_ipc_full;
	packets[3].payload.ip.ip = concat->last_ip;
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
	*begin = CONCAT_HEAD_BYTES + (size_t)end - size;
	memcpy(&concat->copy[*begin], head, size);
	return true;
}

enum concat_end
concat_resume(struct concat *concat, uint64_t nth, struct pt_config *config,
    int64_t *offset)
{
	struct pt_packet packet = { .type = ppt_invalid };
	uint64_t end = 0;
	size_t begin;

	while (concat->pgds <= nth) {
		if (!concat_next_packet(concat, &packet))
			return CONCAT_REFUSED;
		concat->pgds += packet.type == ppt_tip_pgd;
	}
	if (packet.type != ppt_tip_pgd ||
	    packet.payload.ip.ipc != pt_ipc_suppressed)
		return CONCAT_REFUSED;
	do {
		if (!concat_next_packet(concat, &packet))
			return CONCAT_NO_MORE;
		if (packet.type == ppt_ovf)
			return CONCAT_REFUSED;
	} while (packet.type != ppt_tip_pge);
	(void)pt_pkt_get_offset(concat->packets, &end);
	if (!concat_put_head(concat, end, &begin))
		return CONCAT_REFUSED;
	*config = concat->config;
	config->begin = &concat->copy[begin];
	*offset = (int64_t)begin - CONCAT_HEAD_BYTES;
	return CONCAT_RESUMED;
}
