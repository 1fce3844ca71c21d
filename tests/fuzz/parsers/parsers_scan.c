/*
 * Goal: the reader of packets that re-encoding uses reads what libipt's does, whatever
 * the bytes are, and nothing beyond them. Method: both, side by side, up to libipt's
 * first error; then this one alone.
 */
#include "tests/fuzz/parsers/parsers.h"
#include "traces/reencode/input/pkt.h"
#include "traces/reencode/input/trace_stats.h"

#include <intel-pt.h>
#include <stdlib.h>
#include <string.h>

#define PSB_BYTES 16

/* Does libipt's PACKET say what the scanner's says? */
static bool
same_packet(const struct pkt *mine, const struct pt_packet *packet)
{
	static const enum pkt_kind kinds[] = { [ppt_pad] = PKT_PAD,
		[ppt_psb] = PKT_PSB,
		[ppt_psbend] = PKT_PSBEND,
		[ppt_fup] = PKT_FUP,
		[ppt_tip] = PKT_TIP,
		[ppt_tip_pge] = PKT_PGE,
		[ppt_tip_pgd] = PKT_PGD,
		[ppt_tnt_8] = PKT_TNT,
		[ppt_tnt_64] = PKT_TNT,
		[ppt_pip] = PKT_PIP,
		[ppt_vmcs] = PKT_VMCS,
		[ppt_cbr] = PKT_CBR,
		[ppt_tsc] = PKT_TSC,
		[ppt_tma] = PKT_TMA,
		[ppt_mtc] = PKT_MTC,
		[ppt_cyc] = PKT_CYC,
		[ppt_stop] = PKT_STOP,
		[ppt_ovf] = PKT_OVF,
		[ppt_mnt] = PKT_MNT,
		[ppt_exstop] = PKT_EXSTOP,
		[ppt_mwait] = PKT_MWAIT,
		[ppt_pwre] = PKT_PWRE,
		[ppt_pwrx] = PKT_PWRX,
		[ppt_ptw] = PKT_PTW,
		[ppt_cfe] = PKT_CFE,
		[ppt_evd] = PKT_EVD };

	if (packet->size != mine->bytes)
		return false;
	switch ((int)packet->type) {
	case ppt_mode:
		return mine->kind ==
		    (packet->payload.mode.leaf == pt_mol_exec ? PKT_EXEC
							      : PKT_TSX);
	case ppt_tnt_8:
	case ppt_tnt_64:
		return mine->kind == PKT_TNT &&
		    mine->bits == packet->payload.tnt.bit_size;
	case ppt_cyc:
		return mine->kind == PKT_CYC &&
		    mine->value == packet->payload.cyc.value;
	case ppt_mtc:
		return mine->kind == PKT_MTC &&
		    mine->value == packet->payload.mtc.ctc;
	case ppt_tsc:
		return mine->kind == PKT_TSC &&
		    mine->value == packet->payload.tsc.tsc;
	case ppt_ptw:
		return mine->kind == PKT_PTW &&
		    mine->value == packet->payload.ptw.payload;
	default:
		return (size_t)packet->type < TZ_ARRAY_LEN(kinds) &&
		    mine->kind == kinds[packet->type];
	}
}

/* A PSB, then what the input holds: packets as libipt reads them, up to an error. */
void
read_scan(const uint8_t *data, size_t bytes)
{
	size_t count = PSB_BYTES + bytes;
	uint8_t *stream = malloc(count);
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	struct pt_packet packet;
	struct pkt mine;
	struct trace_stats stats;
	struct pkt_parser parser;
	bool good;

	TZ_ASSERT(stream != NULL);
	for (size_t i = 0; i < PSB_BYTES; i++)
		stream[i] = i % 2 == 0 ? 0x02 : 0x82;
	memcpy(stream + PSB_BYTES, data, bytes);
	pt_config_init(&config);
	config.begin = stream;
	config.end = stream + count;
	decoder = pt_pkt_alloc_decoder(&config);
	TZ_ASSERT(decoder != NULL);
	TZ_ASSERT(pt_pkt_sync_set(decoder, 0) == 0);
	pkt_begin(&parser, stream, count, 0);
	do {
		int error = pt_pkt_next(decoder, &packet, sizeof(packet));

		good = pkt_next(&parser, &mine);
		if (error < 0)
			break;
		FUZZ_CHECK(good && same_packet(&mine, &packet),
		    "at %llu: kind %d of %u bytes, libipt has %d of %u",
		    (unsigned long long)mine.offset, (int)mine.kind, mine.bytes,
		    (int)packet.type, packet.size);
	} while (good);
	while (good && pkt_next(&parser, &mine))
		FUZZ_CHECK(mine.bytes != 0 && mine.bytes <= count &&
			mine.offset <= count - mine.bytes,
		    "a packet beyond the end");
	pt_pkt_free_decoder(decoder);
	TZ_ASSERT(trace_stats_read(&stats, stream, count));
	trace_stats_cbr(&stats, count / 2);
	trace_stats_mark_index(&stats, count / 2);
	trace_stats_free(&stats);
	free(stream);
}
