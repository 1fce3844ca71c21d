#include "traces/decode/packets.h"

#include "traces/bundle/image.h"

#include <intel-pt.h>
#include <inttypes.h>

#define PACKETS_TEXT_BYTES 96

static const char *
packets_name(enum pt_packet_type type)
{
	static const char *const names[] = {
		[ppt_pad] = "pad",
		[ppt_psb] = "psb",
		[ppt_psbend] = "psbend",
		[ppt_fup] = "fup",
		[ppt_tip] = "tip",
		[ppt_tip_pge] = "tip.pge",
		[ppt_tip_pgd] = "tip.pgd",
		[ppt_tnt_8] = "tnt.8",
		[ppt_tnt_64] = "tnt.64",
		[ppt_mode] = "mode",
		[ppt_pip] = "pip",
		[ppt_vmcs] = "vmcs",
		[ppt_cbr] = "cbr",
		[ppt_tsc] = "tsc",
		[ppt_tma] = "tma",
		[ppt_mtc] = "mtc",
		[ppt_cyc] = "cyc",
		[ppt_stop] = "stop",
		[ppt_ovf] = "ovf",
		[ppt_mnt] = "mnt",
		[ppt_exstop] = "exstop",
		[ppt_mwait] = "mwait",
		[ppt_pwre] = "pwre",
		[ppt_pwrx] = "pwrx",
		[ppt_ptw] = "ptw",
		[ppt_cfe] = "cfe",
		[ppt_evd] = "evd",
	};

	if ((size_t)type >= TZ_ARRAY_LEN(names) || names[type] == NULL)
		return "unknown";
	return names[type];
}

static void
packets_format_ip(const struct pt_packet_ip *packet, char *text)
{
	static const unsigned digits[] = { 0, 4, 8, 12, 12, 0, 16 };
	unsigned mode = (unsigned)packet->ipc;

	if (mode == 0 || mode >= TZ_ARRAY_LEN(digits))
		snprintf(text, PACKETS_TEXT_BYTES, "%u: ----", mode);
	else
		snprintf(text, PACKETS_TEXT_BYTES, "%u: %0*" PRIx64, mode,
		    (int)digits[mode], packet->ip);
}

/* '!' for taken, '.' for not taken; the oldest branch first. */
static void
packets_format_tnt(const struct pt_packet_tnt *packet, char *text)
{
	unsigned i;

	for (i = 0; i < packet->bit_size; i++) {
		unsigned bit = packet->bit_size - 1u - i;

		text[i] = (packet->payload >> bit & 1) != 0 ? '!' : '.';
	}
	text[i] = '\0';
}

static void
packets_format_mode(const struct pt_packet_mode *packet, char *text)
{
	if (packet->leaf == pt_mol_exec)
		snprintf(text, PACKETS_TEXT_BYTES,
		    "exec: cs.l=%u cs.d=%u if=%u", packet->bits.exec.csl,
		    packet->bits.exec.csd, packet->bits.exec.iflag);
	else
		snprintf(text, PACKETS_TEXT_BYTES, "tsx: intx=%u abrt=%u",
		    packet->bits.tsx.intx, packet->bits.tsx.abrt);
}

static void
packets_format(const struct pt_packet *packet, char *text)
{
	text[0] = '\0';
	switch ((int)packet->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		packets_format_ip(&packet->payload.ip, text);
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		packets_format_tnt(&packet->payload.tnt, text);
		break;
	case ppt_mode:
		packets_format_mode(&packet->payload.mode, text);
		break;
	case ppt_pip:
		snprintf(text, PACKETS_TEXT_BYTES, "%" PRIx64 "%s",
		    packet->payload.pip.cr3,
		    packet->payload.pip.nr != 0 ? ", nr" : "");
		break;
	case ppt_tsc:
		snprintf(text, PACKETS_TEXT_BYTES, "%" PRIx64,
		    packet->payload.tsc.tsc);
		break;
	case ppt_tma:
		snprintf(text, PACKETS_TEXT_BYTES, "%x, %x",
		    packet->payload.tma.ctc, packet->payload.tma.fc);
		break;
	case ppt_mtc:
		snprintf(
		    text, PACKETS_TEXT_BYTES, "%x", packet->payload.mtc.ctc);
		break;
	case ppt_cyc:
		snprintf(text, PACKETS_TEXT_BYTES, "%" PRIx64,
		    packet->payload.cyc.value);
		break;
	case ppt_cbr:
		snprintf(
		    text, PACKETS_TEXT_BYTES, "%x", packet->payload.cbr.ratio);
		break;
	case ppt_vmcs:
		snprintf(text, PACKETS_TEXT_BYTES, "%" PRIx64,
		    packet->payload.vmcs.base);
		break;
	case ppt_ptw:
		snprintf(text, PACKETS_TEXT_BYTES, "%" PRIx64 "%s",
		    packet->payload.ptw.payload,
		    packet->payload.ptw.ip != 0 ? ", ip" : "");
		break;
	default:
		break;
	}
}

/* The packet's name and, ten columns to the right, its payload. */
static void
packets_line(const struct pt_packet *packet, char *line, size_t room)
{
	const char *name = packets_name(packet->type);
	char text[PACKETS_TEXT_BYTES];

	packets_format(packet, text);
	if (text[0] == '\0')
		snprintf(line, room, "%s", name);
	else
		snprintf(line, room, "%-10s%s", name, text);
}

void
packets_describe(
    const uint8_t *bytes, size_t count, size_t offset, char *text, size_t room)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	struct pt_packet packet;
	int status;

	snprintf(text, room, "nothing");
	if (offset >= count)
		return;
	image_config(&config, bytes, count, 0, 0);
	decoder = pt_pkt_alloc_decoder(&config);
	if (decoder == NULL)
		return;
	status = pt_pkt_sync_set(decoder, offset);
	if (status >= 0)
		status = pt_pkt_next(decoder, &packet, sizeof(packet));
	if (status >= 0)
		packets_line(&packet, text, room);
	else
		snprintf(
		    text, room, "no packet: %s", pt_errstr(pt_errcode(status)));
	pt_pkt_free_decoder(decoder);
}

/* Prints from one PSB to the end or a bad packet.  Returns libipt's status. */
static int
packets_print_section(
    struct pt_packet_decoder *decoder, bool with_pads, FILE *file)
{
	char line[PACKETS_TEXT_BYTES + 16];
	struct pt_packet packet;
	uint64_t offset = 0;

	for (;;) {
		int status;

		(void)pt_pkt_get_offset(decoder, &offset);
		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status == -pte_eos)
			return status;
		if (status < 0) {
			fprintf(file, "%016" PRIx64 "  error: %s\n", offset,
			    pt_errstr(pt_errcode(status)));
			return status;
		}
		if (packet.type == ppt_pad && !with_pads)
			continue;
		packets_line(&packet, line, sizeof(line));
		fprintf(file, "%016" PRIx64 "  %s\n", offset, line);
	}
}

int
packets_print(const uint8_t *bytes, size_t count, uint32_t signature,
    uint32_t errata, bool with_pads, FILE *file)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	int refused = 0;

	if (count == 0)
		return 0;
	image_config(&config, bytes, count, signature, errata);
	decoder = pt_pkt_alloc_decoder(&config);
	if (decoder == NULL)
		return -TZ_EIO;
	while (pt_pkt_sync_forward(decoder) >= 0) {
		if (packets_print_section(decoder, with_pads, file) == -pte_eos)
			break;
		refused++;
	}
	pt_pkt_free_decoder(decoder);
	return refused;
}
