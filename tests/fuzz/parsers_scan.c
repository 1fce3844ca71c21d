/*
 * Goal: the reader of packets that re-encoding uses reads what libipt's does, whatever
 * the bytes are, and nothing beyond them. Method: both, side by side, up to libipt's
 * first error; then this one alone.
 */
#include "tests/fuzz/parsers.h"
#include "traces/reencode/infer.h"
#include "traces/reencode/scan.h"

#include <intel-pt.h>
#include <stdlib.h>
#include <string.h>

#define PSB_BYTES 16

/* Does libipt's PACKET say what the scanner's says? */
static bool
same_packet(const struct scan_packet *mine, const struct pt_packet *packet)
{
	static const enum scan_kind kinds[] = { [ppt_pad] = SCAN_PAD,
		[ppt_psb] = SCAN_PSB,
		[ppt_psbend] = SCAN_PSBEND,
		[ppt_fup] = SCAN_FUP,
		[ppt_tip] = SCAN_TIP,
		[ppt_tip_pge] = SCAN_PGE,
		[ppt_tip_pgd] = SCAN_PGD,
		[ppt_tnt_8] = SCAN_TNT,
		[ppt_tnt_64] = SCAN_TNT,
		[ppt_pip] = SCAN_PIP,
		[ppt_vmcs] = SCAN_VMCS,
		[ppt_cbr] = SCAN_CBR,
		[ppt_tsc] = SCAN_TSC,
		[ppt_tma] = SCAN_TMA,
		[ppt_mtc] = SCAN_MTC,
		[ppt_cyc] = SCAN_CYC,
		[ppt_stop] = SCAN_STOP,
		[ppt_ovf] = SCAN_OVF,
		[ppt_mnt] = SCAN_MNT,
		[ppt_exstop] = SCAN_EXSTOP,
		[ppt_mwait] = SCAN_MWAIT,
		[ppt_pwre] = SCAN_PWRE,
		[ppt_pwrx] = SCAN_PWRX,
		[ppt_ptw] = SCAN_PTW,
		[ppt_cfe] = SCAN_CFE,
		[ppt_evd] = SCAN_EVD };

	if (packet->size != mine->bytes)
		return false;
	switch ((int)packet->type) {
	case ppt_mode:
		return mine->kind ==
		    (packet->payload.mode.leaf == pt_mol_exec ? SCAN_EXEC
							      : SCAN_TSX);
	case ppt_tnt_8:
	case ppt_tnt_64:
		return mine->kind == SCAN_TNT &&
		    mine->bits == packet->payload.tnt.bit_size;
	case ppt_cyc:
		return mine->kind == SCAN_CYC &&
		    mine->value == packet->payload.cyc.value;
	case ppt_mtc:
		return mine->kind == SCAN_MTC &&
		    mine->value == packet->payload.mtc.ctc;
	case ppt_tsc:
		return mine->kind == SCAN_TSC &&
		    mine->value == packet->payload.tsc.tsc;
	case ppt_ptw:
		return mine->kind == SCAN_PTW &&
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
	struct scan_packet mine;
	struct facts facts;
	struct scan scan;
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
	scan_begin(&scan, stream, count, 0);
	do {
		int error = pt_pkt_next(decoder, &packet, sizeof(packet));

		good = scan_next(&scan, &mine);
		if (error < 0)
			break;
		FUZZ_CHECK(good && same_packet(&mine, &packet),
		    "at %llu: kind %d of %u bytes, libipt has %d of %u",
		    (unsigned long long)mine.offset, (int)mine.kind, mine.bytes,
		    (int)packet.type, packet.size);
	} while (good);
	while (good && scan_next(&scan, &mine))
		FUZZ_CHECK(mine.bytes != 0 && mine.bytes <= count &&
			mine.offset <= count - mine.bytes,
		    "a packet beyond the end");
	pt_pkt_free_decoder(decoder);
	TZ_ASSERT(facts_read(&facts, stream, count));
	facts_cbr(&facts, count / 2);
	facts_mark_index(&facts, count / 2, 0);
	infer_ctl(&facts);
	facts_free(&facts);
	free(stream);
}
