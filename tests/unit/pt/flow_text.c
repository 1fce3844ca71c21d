#include "tests/unit/pt/flow_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <intel-pt.h>

#define FLOW_TEXT_BYTES 65536

static int
read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
    void *context)
{
	const struct flow_text *in = context;
	size_t at = ip - in->code_ip;

	(void)asid;
	if (ip < in->code_ip || at >= in->code_bytes)
		return -pte_nomap;
	if (size > in->code_bytes - at)
		size = in->code_bytes - at;
	memcpy(buffer, in->code + at, size);
	return (int)size;
}

static void
configure(struct pt_config *config, const struct flow_text *in)
{
	uint32_t signature = in->signature;

	pt_config_init(config);
	config->begin = (uint8_t *)(uintptr_t)in->stream;
	config->end = config->begin + in->stream_bytes;
	config->mtc_freq = (uint8_t)in->mtc_freq;
	config->nom_freq = (uint8_t)in->cbr;
	config->cpuid_0x15_eax = in->tsc_den;
	config->cpuid_0x15_ebx = in->tsc_num;
	if (in->filter[1] != 0) {
		config->addr_filter.config.ctl.addr0_cfg = 1;
		config->addr_filter.addr0_a = in->filter[0];
		config->addr_filter.addr0_b = in->filter[1];
	}
	if (signature == 0)
		return;
	config->cpu.vendor = pcv_intel;
	config->cpu.family = (uint16_t)(signature >> 8 & 0xf);
	config->cpu.model = (uint8_t)((signature >> 4 & 0xf) |
	    (signature >> 12 & 0xf0));
	config->cpu.stepping = (uint8_t)(signature & 0xf);
	assert_int_equal(pt_cpu_errata(&config->errata, &config->cpu), 0);
}

static int
drop_events(struct pt_insn_decoder *decoder, int status)
{
	while (status >= 0 && (status & pts_event_pending) != 0) {
		struct pt_event event;

		status = pt_insn_event(decoder, &event, sizeof(event));
	}
	return status;
}

char *
flow_text_read(struct flow_text *in)
{
	struct pt_image *image = pt_image_alloc("test");
	char *text = calloc(1, FLOW_TEXT_BYTES + 32);
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	size_t used = 0;
	int status;

	assert_non_null(text);
	configure(&config, in);
	decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_image_set_callback(image, read_code, in), 0);
	assert_int_equal(pt_insn_set_image(decoder, image), 0);
	status = pt_insn_sync_forward(decoder);
	while (used < FLOW_TEXT_BYTES) {
		struct pt_insn insn;

		status = drop_events(decoder, status);
		if (status < 0 || (status & pts_eos) != 0)
			break;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status < 0)
			break;
		used += (size_t)snprintf(text + used, FLOW_TEXT_BYTES - used,
		    "%s%llx", used != 0 ? " " : "",
		    (unsigned long long)(insn.ip - in->code_ip));
		(void)pt_insn_time(decoder, &in->tsc, NULL, NULL);
	}
	if (status < 0 && status != -pte_eos)
		snprintf(text + used, 32, "%serror %d", used != 0 ? " " : "",
		    -status);
	pt_insn_free_decoder(decoder);
	pt_image_free(image);
	return text;
}
