#include "traces/decode/mask_cfe.h"

#include <intel-pt.h>
#include <stdlib.h>
#include <string.h>

/* Header and type of the CFE of an IRET without a FUP; index of the rarer header byte. */
static const uint8_t blank_iret[] = { 0x02, 0x13, pt_cfe_iret };
#define BLANK_RARE      1

#define BLANK_CFE_BYTES 4
#define BLANK_NONE      UINT64_MAX

/* True if PACKET may come between the CFE of an IRET and its TIP. */
static bool
mask_cfe_may_follow(const struct pt_packet *packet)
{
	switch ((int)packet->type) {
	case ppt_pad:
	case ppt_cyc:
	case ppt_mtc:
	case ppt_tsc:
	case ppt_tma:
	case ppt_cbr:
	case ppt_pip:
	case ppt_vmcs:
	case ppt_mode:
		return true;
	default:
		return false;
	}
}

/* Offset of the CFE that waits for its TIP after PACKET, which is at OFFSET. */
static uint64_t
mask_cfe_waiting(
    const struct pt_packet *packet, uint64_t offset, uint64_t before)
{
	if (packet->type == ppt_cfe)
		return packet->payload.cfe.type == pt_cfe_iret &&
			!packet->payload.cfe.ip
		    ? offset
		    : BLANK_NONE;
	return mask_cfe_may_follow(packet) ? before : BLANK_NONE;
}

/* Replaces each such CFE by PADs, from DECODER's position to the first bad packet. */
static void
mask_cfe_stretch(struct pt_packet_decoder *decoder, uint8_t *bytes)
{
	struct pt_packet packet;
	uint64_t offset = 0, cfe = BLANK_NONE;

	for (;;) {
		(void)pt_pkt_get_offset(decoder, &offset);
		if (pt_pkt_next(decoder, &packet, sizeof(packet)) < 0)
			return;
		if (packet.type == ppt_ovf && cfe != BLANK_NONE)
			memset(bytes + cfe, 0, BLANK_CFE_BYTES);
		cfe = mask_cfe_waiting(&packet, offset, cfe);
	}
}

bool
mask_cfe_may_have(const uint8_t *bytes, size_t count)
{
	const uint8_t *at = bytes, *end = bytes + count;

	while ((at = memchr(at, blank_iret[BLANK_RARE], (size_t)(end - at))) !=
	    NULL) {
		if (at > bytes && end - at > 1 &&
		    memcmp(at - BLANK_RARE, blank_iret, sizeof(blank_iret)) ==
			0)
			return true;
		at++;
	}
	return false;
}

bool
mask_cfe_cfes(const uint8_t *bytes, size_t count, uint8_t **copy)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;

	*copy = NULL;
	if (!mask_cfe_may_have(bytes, count))
		return true;
	pt_config_init(&config);
	config.begin =
	    (uint8_t *)(uintptr_t)bytes; /* which libipt only reads */
	config.end = config.begin + count;
	decoder = pt_pkt_alloc_decoder(&config);
	*copy = malloc(count);
	if (decoder == NULL || *copy == NULL) {
		pt_pkt_free_decoder(decoder);
		free(*copy);
		*copy = NULL;
		return false;
	}
	memcpy(*copy, bytes, count);
	while (pt_pkt_sync_forward(decoder) >= 0)
		mask_cfe_stretch(decoder, *copy);
	pt_pkt_free_decoder(decoder);
	return true;
}
