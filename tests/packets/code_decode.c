#include "tests/packets/code_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>

#define WORD_BYTES 64

/* The text so far, and how far it went along what retired. */
struct decode {
	const struct code_trace *trace;
	size_t at;
	bool wrong;
	char *text;
	size_t used, room;
};

static int
read_code(uint8_t *bytes, size_t size, const struct pt_asid *asid, uint64_t ip,
    void *arg)
{
	const struct code_trace *trace = arg;

	(void)asid;
	if (ip >= trace->ram_bytes)
		return -pte_nomap;
	if (size > trace->ram_bytes - ip)
		size = (size_t)(trace->ram_bytes - ip);
	memcpy(bytes, trace->ram + ip, size);
	return (int)size;
}

static void
add_word(struct decode *decode, const char *word)
{
	if (decode->room - decode->used < WORD_BYTES) {
		decode->room = 2 * decode->room + WORD_BYTES;
		decode->text = realloc(decode->text, decode->room);
	}
	decode->used += (size_t)snprintf(decode->text + decode->used,
	    WORD_BYTES, "%s%s", decode->used == 0 ? "" : " ", word);
}

/* An instruction that libipt says ran: it must have, in that order. */
static void
add_insn(struct decode *decode, uint64_t ip)
{
	const struct retired_list *list = decode->trace->retired;
	char word[24];

	snprintf(word, sizeof(word), "%llx", (unsigned long long)ip);
	add_word(decode, word);
	while (decode->at < list->count &&
	    (list->item[decode->at].kind != RETIRED_INSN ||
		list->item[decode->at].ip != ip))
		decode->at++;
	decode->wrong = decode->at++ >= list->count;
	if (decode->wrong)
		add_word(decode, "not-executed");
}

/* From one synchronization on to an error or the end. */
static int
decode_all(struct decode *decode, struct pt_insn_decoder *decoder)
{
	int status = pt_insn_sync_forward(decoder);

	while (status >= 0 && !decode->wrong) {
		struct pt_event event;
		struct pt_insn insn;

		if (status & pts_event_pending) {
			status = pt_insn_event(decoder, &event, sizeof(event));
			if (status >= 0 && event.type == ptev_overflow)
				add_word(decode, "overflow");
			continue;
		}
		if (status & pts_eos)
			break;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status >= 0)
			add_insn(decode, insn.ip);
	}
	return status;
}

static void
configure(const struct code_trace *trace, struct pt_config *config)
{
	struct pt_conf_addr_filter *filter = &config->addr_filter;
	uint32_t signature = trace->signature;

	pt_config_init(config);
	config->begin = trace->stream;
	config->end = trace->stream + trace->bytes;
	filter->config.addr_cfg = trace->ranges;
	filter->addr0_a = trace->address[0];
	filter->addr0_b = trace->address[1];
	filter->addr1_a = trace->address[2];
	filter->addr1_b = trace->address[3];
	filter->addr2_a = trace->address[4];
	filter->addr2_b = trace->address[5];
	filter->addr3_a = trace->address[6];
	filter->addr3_b = trace->address[7];
	if (signature == 0)
		return;
	config->cpu.vendor = pcv_intel;
	config->cpu.family = (uint16_t)(signature >> 8 & 0xf);
	config->cpu.model = (uint8_t)((signature >> 4 & 0xf) |
	    (signature >> 12 & 0xf0));
	config->cpu.stepping = signature & 0xf;
	(void)pt_cpu_errata(&config->errata, &config->cpu);
}

char *
code_decode_text(const struct code_trace *trace)
{
	struct decode decode = { .trace = trace };
	struct code_trace image = *trace;
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	int status;

	add_word(&decode, "");
	if (trace->bytes == 0)
		return decode.text;
	configure(trace, &config);
	decoder = pt_insn_alloc_decoder(&config);
	if (decoder == NULL ||
	    pt_image_set_callback(
		pt_insn_get_image(decoder), read_code, &image) < 0) {
		add_word(&decode, "no-decoder");
		return decode.text;
	}
	status = decode_all(&decode, decoder);
	if (status < 0 && status != -pte_eos)
		add_word(&decode, pt_errstr(pt_errcode(status)));
	pt_insn_free_decoder(decoder);
	return decode.text;
}
