/*
 * libipt's instruction decoder over a stream, against what was run.
 */
#include "tests/unit/pt/insns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <intel-pt.h>

static int
read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
    void *context)
{
	const struct insns *insns = context;
	size_t at = ip - insns->code_ip;

	(void)asid;
	if (ip < insns->code_ip || at >= insns->code_bytes)
		return -pte_nomap;
	if (size > insns->code_bytes - at)
		size = insns->code_bytes - at;
	memcpy(buffer, insns->code + at, size);
	return (int)size;
}

/* Takes the events that are pending; how many overflows are among them. */
static unsigned
events(struct pt_insn_decoder *decoder, int *status)
{
	unsigned overflows = 0;

	while (*status >= 0 && (*status & pts_event_pending) != 0) {
		struct pt_event event;

		*status = pt_insn_event(decoder, &event, sizeof(event));
		overflows += *status >= 0 && event.type == ptev_overflow;
	}
	return overflows;
}

size_t
insns_check(struct insns *insns)
{
	struct pt_image *image = pt_image_alloc("test");
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	size_t next = 0, decoded = 0, gap = 0;
	int status;

	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)insns->stream;
	config.end = config.begin + insns->stream_bytes;
	decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_image_set_callback(image, read_code, insns), 0);
	assert_int_equal(pt_insn_set_image(decoder, image), 0);
	status = pt_insn_sync_forward(decoder);
	for (;;) {
		struct pt_insn insn;
		unsigned overflows = events(decoder, &status);

		for (; overflows != 0; overflows--) {
			assert_true(gap < insns->gap_count);
			assert_true(next <= insns->resume[gap]);
			next = insns->resume[gap++];
		}
		if (status == -pte_eos || (status & pts_eos) != 0)
			break;
		assert_true(status >= 0);
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status == -pte_eos)
			break;
		assert_true(status >= 0);
		assert_true(next < insns->exec_log_count);
		assert_true(insn.ip == insns->exec_log[next]);
		next++;
		decoded++;
	}
	assert_int_equal(gap, insns->gap_count);
	assert_int_equal(next, insns->exec_log_count);
	pt_insn_free_decoder(decoder);
	pt_image_free(image);
	return decoded;
}
