#include "tests/fuzz/events/events_decode.h"

#include <intel-pt.h>
#include <stdlib.h>

#include "emu/profile/profile.h"
#include "tests/fuzz/fuzz.h"
#include "traces/decode/mask_cfe.h"

/* What the unit fills up with PADs. */
#define WORD_BYTES 8

/* As pt_cpu_errata(), which does not know every processor that has some. */
static void
event_packets_errata(uint32_t errata, struct pt_errata *told)
{
	told->bdm70 = errata >> PROFILE_ERRATUM_BDM70 & 1;
	told->bdm64 = errata >> PROFILE_ERRATUM_BDM64 & 1;
	told->skd007 = errata >> PROFILE_ERRATUM_SKD007 & 1;
	told->skd022 = errata >> PROFILE_ERRATUM_SKD022 & 1;
	told->skd010 = errata >> PROFILE_ERRATUM_SKD010 & 1;
	told->skl014 = errata >> PROFILE_ERRATUM_SKL014 & 1;
	told->apl12 = errata >> PROFILE_ERRATUM_APL12 & 1;
	told->apl11 = errata >> PROFILE_ERRATUM_APL11 & 1;
	told->skl168 = errata >> PROFILE_ERRATUM_SKL168 & 1;
	told->skz84 = errata >> PROFILE_ERRATUM_SKZ84 & 1;
}

static struct pt_config
configure(const struct events_stream *stream)
{
	struct pt_config config;
	struct pt_conf_addr_filter *filter = &config.addr_filter;

	pt_config_init(&config);
	config.cpu.vendor = pcv_intel;
	config.cpu.family = (uint16_t)(stream->signature >> 8 & 0xf);
	config.cpu.model = (uint8_t)((stream->signature >> 4 & 0xf) |
	    (stream->signature >> 12 & 0xf0));
	config.cpu.stepping = (uint8_t)(stream->signature & 0xf);
	event_packets_errata(stream->errata, &config.errata);
	config.begin = (uint8_t *)(uintptr_t)stream->bytes;
	config.end = config.begin + stream->count;
	config.cpuid_0x15_eax = stream->cpuid15_eax;
	config.cpuid_0x15_ebx = stream->cpuid15_ebx;
	config.mtc_freq = stream->mtc_freq;
	config.nom_freq = stream->nom_freq;
	config.flags.variant.event.enable_iflags_events = 1;
	filter->config.addr_cfg = stream->filter_cfg;
	filter->addr0_a = stream->filter_a[0];
	filter->addr0_b = stream->filter_b[0];
	filter->addr1_a = stream->filter_a[1];
	filter->addr1_b = stream->filter_b[1];
	filter->addr2_a = stream->filter_a[2];
	filter->addr2_b = stream->filter_b[2];
	filter->addr3_a = stream->filter_a[3];
	filter->addr3_b = stream->filter_b[3];
	return config;
}

/*
 * libipt knows no BBP, BIP and BEP: how long the one at AT is, 0 if it is none.
 * IN_BLOCK and BYTES: BIPs may come, and how long their values are.
 */
static int
block_bytes(const uint8_t *at, size_t left, bool *in_block, int *bytes)
{
	if (left >= 2 && at[0] == 0x02 && at[1] == 0x63) {
		*in_block = true;
		*bytes = left >= 3 && (at[2] & 0x80) ? 4 : 8;
		return 3;
	}
	if (left >= 2 && at[0] == 0x02 && (at[1] & 0x7f) == 0x33) {
		*in_block = false;
		return 2;
	}
	return *in_block && (at[0] & 7) == 4 ? 1 + *bytes : 0;
}

/* Does PACKET say that a FUP follows it? */
static bool
announces_fup(const struct pt_packet *packet)
{
	switch ((int)packet->type) {
	case ppt_cfe:
		return packet->payload.cfe.ip;
	case ppt_ptw:
		return packet->payload.ptw.ip;
	case ppt_exstop:
		return packet->payload.exstop.ip;
	default:
		return false;
	}
}

/* May PACKET stand before a FUP that was announced? */
static bool
tells_time(const struct pt_packet *packet)
{
	return packet->type == ppt_pad || packet->type == ppt_cyc ||
	    packet->type == ppt_mtc;
}

void
events_check_packets(const struct events_stream *stream)
{
	struct pt_config config = configure(stream);
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	struct pt_packet packet;
	uint64_t offset = 0;
	bool in_block = false, announced = false;
	int status, bytes = 0;

	TZ_ASSERT(decoder != NULL);
	status = pt_pkt_sync_set(decoder, 0);
	while (status >= 0 && offset < stream->count) {
		uint64_t left = stream->count - offset;
		int size = block_bytes(
		    stream->bytes + offset, left, &in_block, &bytes);

		bool block = size != 0;

		if (!block)
			size = status = pt_pkt_next(
			    decoder, &packet, sizeof(packet));
		else if ((uint64_t)size > left)
			status = -pte_eos;
		if (status < 0)
			break;
		if (block) {
			/* A BEP with its IP bit. */
			announced = stream->bytes[offset] == 0x02 &&
			    stream->bytes[offset + 1] == 0xb3;
		} else if (!announced || !tells_time(&packet)) {
			FUZZ_CHECK(!announced || packet.type == ppt_fup ||
				packet.type == ppt_ovf,
			    "at %llu of %zu there is no FUP, which was "
			    "announced",
			    (unsigned long long)offset, stream->count);
			announced = announces_fup(&packet);
			/* What an OVF takes of a block may be its end. */
			in_block = in_block && packet.type != ppt_ovf &&
			    packet.type != ppt_psb;
		}
		offset += (uint64_t)size;
		if (offset < stream->count)
			status = pt_pkt_sync_set(decoder, offset);
	}
	FUZZ_CHECK(
	    offset == stream->count || (stream->cut && status == -pte_eos),
	    "packet %02x at %llu of %zu: %s", stream->bytes[offset],
	    (unsigned long long)offset, stream->count,
	    pt_errstr(pt_errcode(status)));
	pt_pkt_free_decoder(decoder);
}

void
events_check_events(const struct events_stream *stream)
{
	struct pt_config config = configure(stream);
	struct pt_event_decoder *decoder = pt_evt_alloc_decoder(&config);
	struct pt_event event;
	uint64_t offset = 0;
	int status;

	TZ_ASSERT(decoder != NULL);
	status = pt_evt_sync_forward(decoder);
	while (status >= 0)
		status = pt_evt_next(decoder, &event, sizeof(event));
	pt_evt_get_offset(decoder, &offset);
	FUZZ_CHECK(status == -pte_eos, "event at %llu of %zu: %s",
	    (unsigned long long)offset, stream->count,
	    pt_errstr(pt_errcode(status)));
	pt_evt_free_decoder(decoder);
}

static int
read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
    void *context)
{
	const struct events_stream *stream = context;
	size_t count = stream->code(ip, buffer, size);

	(void)asid;
	return count == 0 ? -pte_nomap : (int)count;
}

struct insns {
	const struct events_stream *stream;
	struct pt_insn_decoder *decoder;
	size_t next, gap;
};

/* Takes the events that are pending. */
static int
take_events(struct insns *insns, int status)
{
	const struct events_stream *stream = insns->stream;

	while (status >= 0 && (status & pts_event_pending) != 0) {
		struct pt_event event;

		status = pt_insn_event(insns->decoder, &event, sizeof(event));
		if (status < 0 || event.type != ptev_overflow)
			continue;
		FUZZ_CHECK(
		    insns->gap < stream->gap_count, "an overflow too many");
		FUZZ_CHECK(insns->next <= stream->resume[insns->gap],
		    "%zu instructions before overflow %zu, %zu had been run",
		    insns->next, insns->gap, stream->resume[insns->gap]);
		insns->next = stream->resume[insns->gap++];
	}
	return status;
}

/*
 * BDM70: a PSB+ before TIP.PGE says where tracing goes on, and libipt knows by that
 * TIP.PGE that it is not on yet.  Where the output ends between them it complains.
 */
static bool
cut_before_pge(const struct insns *insns, int status)
{
	const struct events_stream *stream = insns->stream;
	uint64_t offset = 0;

	pt_insn_get_offset(insns->decoder, &offset);
	return stream->cut && status == -pte_bad_status_update &&
	    (stream->errata >> PROFILE_ERRATUM_BDM70 & 1) &&
	    stream->count - offset <= WORD_BYTES;
}

/* False: the stream is over. */
static bool
take_insn(struct insns *insns, int *status)
{
	const struct events_stream *stream = insns->stream;
	struct pt_insn insn;
	uint64_t offset = 0;

	*status = take_events(insns, *status);
	if (*status == -pte_eos || (*status >= 0 && (*status & pts_eos) != 0))
		return false;
	if (*status >= 0)
		*status = pt_insn_next(insns->decoder, &insn, sizeof(insn));
	if (*status == -pte_eos || cut_before_pge(insns, *status))
		return false;
	pt_insn_get_offset(insns->decoder, &offset);
	FUZZ_CHECK(*status >= 0,
	    "instruction %zu of %zu (%llx) at %llu of %zu: %s", insns->next,
	    stream->exec_log_count,
	    (unsigned long long)(insns->next < stream->exec_log_count
		    ? stream->exec_log[insns->next]
		    : 0),
	    (unsigned long long)offset, stream->count,
	    pt_errstr(pt_errcode(*status)));
	FUZZ_CHECK(insns->next < stream->exec_log_count,
	    "an instruction too many: %llx", (unsigned long long)insn.ip);
	FUZZ_CHECK(insn.ip == stream->exec_log[insns->next],
	    "instruction %zu at %llu is %llx, was %llx", insns->next,
	    (unsigned long long)offset, (unsigned long long)insn.ip,
	    (unsigned long long)stream->exec_log[insns->next]);
	insns->next++;
	return true;
}

void
events_check_insns(const struct events_stream *original)
{
	struct events_stream copy = *original, *stream = &copy;
	struct pt_image *image = pt_image_alloc("fuzz");
	struct insns insns = { .stream = stream };
	struct pt_config config;
	uint8_t *blanked;
	bool good = mask_cfe_cfes(original->bytes, original->count, &blanked);
	int status;

	TZ_ASSERT(good);
	if (blanked != NULL)
		copy.bytes = blanked;
	config = configure(stream);
	insns.decoder = pt_insn_alloc_decoder(&config);
	TZ_ASSERT(image != NULL && insns.decoder != NULL);
	pt_image_set_callback(
	    image, read_code, (void *)(uintptr_t)(const void *)stream);
	pt_insn_set_image(insns.decoder, image);
	status = pt_insn_sync_forward(insns.decoder);
	while (take_insn(&insns, &status))
		continue;
	FUZZ_CHECK(stream->cut || insns.gap == stream->gap_count,
	    "%zu overflows of %zu", insns.gap, stream->gap_count);
	FUZZ_CHECK(stream->cut || insns.next == stream->exec_log_count,
	    "%zu instructions of %zu", insns.next, stream->exec_log_count);
	pt_insn_free_decoder(insns.decoder);
	pt_image_free(image);
	free(blanked);
}
