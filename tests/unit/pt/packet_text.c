#include "tests/unit/pt/packet_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <intel-pt.h>

#define PACKET_TEXT_BYTES 64

static void
ip_text(char *text, const char *name, const struct pt_packet_ip *ip)
{
	uint64_t payload = ip->ip;

	if (ip->ipc == pt_ipc_sext_48 && (payload >> 47 & 1) != 0)
		payload |= UINT64_C(0xffff) << 48;
	if (ip->ipc == pt_ipc_suppressed)
		snprintf(text, PACKET_TEXT_BYTES, "%s()", name);
	else
		snprintf(text, PACKET_TEXT_BYTES, "%s(%d:%llx)", name,
		    (int)ip->ipc, (unsigned long long)payload);
}

static void
tnt_text(char *text, const struct pt_packet_tnt *tnt)
{
	unsigned n = tnt->bit_size;

	strcpy(text, "TNT(");
	for (unsigned i = 0; i < n; i++)
		text[4 + i] = tnt->payload >> (n - 1 - i) & 1 ? 'T' : 'N';
	strcpy(text + 4 + n, ")");
}

static void
mode_text(char *text, const struct pt_packet_mode *mode)
{
	if (mode->leaf == pt_mol_exec)
		snprintf(text, PACKET_TEXT_BYTES, "EXEC(%d%s)",
		    mode->bits.exec.csl       ? 64
			: mode->bits.exec.csd ? 32
					      : 16,
		    mode->bits.exec.iflag ? ",IF" : "");
	else
		snprintf(text, PACKET_TEXT_BYTES, "TSX(%u%u)",
		    mode->bits.tsx.intx, mode->bits.tsx.abrt);
}

/* Packets of events that are no branches. */
static void
event_packet_text(char *text, const struct pt_packet *packet)
{
	switch ((int)packet->type) {
	case ppt_ptw:
		snprintf(text, PACKET_TEXT_BYTES, "PTW%s(%d:%llx)",
		    packet->payload.ptw.ip ? ".IP" : "",
		    pt_ptw_size(packet->payload.ptw.plc),
		    (unsigned long long)packet->payload.ptw.payload);
		return;
	case ppt_exstop:
		strcpy(
		    text, packet->payload.exstop.ip ? "EXSTOP.IP" : "EXSTOP");
		return;
	case ppt_mwait:
		snprintf(text, PACKET_TEXT_BYTES, "MWAIT(%x,%x)",
		    packet->payload.mwait.hints, packet->payload.mwait.ext);
		return;
	case ppt_pwre:
		snprintf(text, PACKET_TEXT_BYTES, "PWRE(%u.%u)",
		    packet->payload.pwre.state, packet->payload.pwre.sub_state);
		return;
	case ppt_pwrx:
		snprintf(text, PACKET_TEXT_BYTES, "PWRX(%u,%u,%u%u%u)",
		    packet->payload.pwrx.last, packet->payload.pwrx.deepest,
		    packet->payload.pwrx.interrupt, packet->payload.pwrx.store,
		    packet->payload.pwrx.autonomous);
		return;
	case ppt_cfe:
		snprintf(text, PACKET_TEXT_BYTES, "CFE%s(%d,%u)",
		    packet->payload.cfe.ip ? ".IP" : "",
		    (int)packet->payload.cfe.type, packet->payload.cfe.vector);
		return;
	case ppt_evd:
		snprintf(text, PACKET_TEXT_BYTES, "EVD(%d:%llx)",
		    (int)packet->payload.evd.type,
		    (unsigned long long)packet->payload.evd.payload);
		return;
	case ppt_mnt:
		snprintf(text, PACKET_TEXT_BYTES, "MNT(%llx)",
		    (unsigned long long)packet->payload.mnt.payload);
		return;
	default:
		fail_msg("unexpected packet type %d", (int)packet->type);
	}
}

static void
packet_text(char *text, const struct pt_packet *packet)
{
	text[0] = '\0';
	switch ((int)packet->type) {
	case ppt_pad:
		return;
	case ppt_psb:
		strcpy(text, "PSB");
		return;
	case ppt_psbend:
		strcpy(text, "PSBEND");
		return;
	case ppt_ovf:
		strcpy(text, "OVF");
		return;
	case ppt_stop:
		strcpy(text, "STOP");
		return;
	case ppt_fup:
		ip_text(text, "FUP", &packet->payload.ip);
		return;
	case ppt_tip:
		ip_text(text, "TIP", &packet->payload.ip);
		return;
	case ppt_tip_pge:
		ip_text(text, "PGE", &packet->payload.ip);
		return;
	case ppt_tip_pgd:
		ip_text(text, "PGD", &packet->payload.ip);
		return;
	case ppt_tnt_8:
	case ppt_tnt_64:
		tnt_text(text, &packet->payload.tnt);
		return;
	case ppt_mode:
		mode_text(text, &packet->payload.mode);
		return;
	case ppt_pip:
		snprintf(text, PACKET_TEXT_BYTES, "PIP(%llx%s)",
		    (unsigned long long)packet->payload.pip.cr3,
		    packet->payload.pip.nr ? ".NR" : "");
		return;
	case ppt_vmcs:
		snprintf(text, PACKET_TEXT_BYTES, "VMCS(%llx)",
		    (unsigned long long)packet->payload.vmcs.base);
		return;
	case ppt_cbr:
		snprintf(text, PACKET_TEXT_BYTES, "CBR(%u)",
		    packet->payload.cbr.ratio);
		return;
	case ppt_tsc:
		snprintf(text, PACKET_TEXT_BYTES, "TSC(%llu)",
		    (unsigned long long)packet->payload.tsc.tsc);
		return;
	case ppt_tma:
		snprintf(text, PACKET_TEXT_BYTES, "TMA(%u,%u)",
		    packet->payload.tma.ctc, packet->payload.tma.fc);
		return;
	case ppt_mtc:
		snprintf(text, PACKET_TEXT_BYTES, "MTC(%u)",
		    packet->payload.mtc.ctc);
		return;
	case ppt_cyc:
		snprintf(text, PACKET_TEXT_BYTES, "CYC(%llu)",
		    (unsigned long long)packet->payload.cyc.value);
		return;
	default:
		event_packet_text(text, packet);
	}
}

char *
packet_text_read(const uint8_t *stream, size_t bytes)
{
	size_t room = (bytes + 1) * (PACKET_TEXT_BYTES + 1);
	size_t used = 0;
	char *text = calloc(1, room);
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	struct pt_packet packet;
	int status;

	assert_non_null(text);
	if (bytes == 0)
		return text;
	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)stream;
	config.end = config.begin + bytes;
	decoder = pt_pkt_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_pkt_sync_set(decoder, 0), 0);
	while ((status = pt_pkt_next(decoder, &packet, sizeof(packet))) > 0) {
		char one[PACKET_TEXT_BYTES];

		packet_text(one, &packet);
		if (one[0] != '\0')
			used += (size_t)snprintf(text + used, room - used,
			    "%s%s", used ? " " : "", one);
	}
	if (status != -pte_eos)
		snprintf(text + used, room - used, "%serror %d",
		    used ? " " : "", -status);
	pt_pkt_free_decoder(decoder);
	return text;
}
