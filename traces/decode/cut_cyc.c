#include "traces/decode/cut_cyc.h"

#include <intel-pt.h>

/* A CYC of two bytes: header, Exp bit and five bits of the count; seven more. */
#define CYC_HEADER   0x07
#define CYC_LOW_BITS 5
/* OVF is 02 F3: the upper bits of a count with the byte 02, and a CYC of 30 cycles. */
#define OVF_HIGH   1
#define OVF_CYCLES 30

/* A packet, and the offset of the PADs before it. */
struct cut_cyc_place {
	struct pt_packet packet;
	uint64_t pads, offset;
};

static bool
cut_cyc_is_pair(const struct pt_packet *first, const struct pt_packet *second)
{
	return first->type == ppt_cyc && first->size == 2 &&
	    first->payload.cyc.value >> CYC_LOW_BITS == OVF_HIGH &&
	    second->type == ppt_cyc && second->payload.cyc.value == OVF_CYCLES;
}

/* One CYC of two bytes and a PAD. */
static void
cut_cyc_write(uint8_t *bytes, uint64_t cycles)
{
	uint64_t low = cycles & (TZ_BIT(CYC_LOW_BITS) - 1);

	bytes[0] = (uint8_t)(low << 3 | CYC_HEADER);
	bytes[1] = (uint8_t)(cycles >> CYC_LOW_BITS << 1);
	bytes[2] = 0;
}

/* Joins the pairs from DECODER's position up to the first bad packet. */
static void
cut_cyc_stretch(struct pt_packet_decoder *decoder, uint8_t *bytes,
    cut_cyc_is_ovf *is_ovf, void *arg)
{
	struct cut_cyc_place before = { .packet.type = ppt_invalid }, here;

	while (pt_pkt_get_offset(decoder, &here.offset) >= 0 &&
	    pt_pkt_next(decoder, &here.packet, sizeof(here.packet)) >= 0) {
		here.pads = before.packet.type == ppt_pad ? before.pads
							  : here.offset;
		if (cut_cyc_is_pair(&before.packet, &here.packet) &&
		    !is_ovf(arg, before.pads, before.offset))
			cut_cyc_write(bytes + before.offset,
			    before.packet.payload.cyc.value + OVF_CYCLES);
		before = here;
	}
}

bool
cut_cyc_join(uint8_t *bytes, size_t count, cut_cyc_is_ovf *is_ovf, void *arg)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + count;
	decoder = pt_pkt_alloc_decoder(&config);
	if (decoder == NULL)
		return false;
	while (pt_pkt_sync_forward(decoder) >= 0)
		cut_cyc_stretch(decoder, bytes, is_ovf, arg);
	pt_pkt_free_decoder(decoder);
	return true;
}
