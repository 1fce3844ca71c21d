#include "tests/unit/pt/tip_times.h"

#include "traces/bundle/image.h"

#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

size_t
tip_times_read(const struct clock_config *from, uint32_t signature,
    uint64_t *tsc, size_t most)
{
	struct pt_event_decoder *decoder;
	struct pt_config config;
	struct pt_event event;
	size_t count = 0;
	int status;

	image_config(&config, from->bytes, from->count, signature, 0);
	config.cpuid_0x15_eax = from->tsc_den;
	config.cpuid_0x15_ebx = from->tsc_num;
	config.mtc_freq = (uint8_t)tz_bits(from->ctl, 17, 14);
	config.nom_freq = (uint8_t)from->cbr;
	decoder = pt_evt_alloc_decoder(&config);
	assert_non_null(decoder);
	status = pt_evt_sync_forward(decoder);
	while (status >= 0) {
		status = pt_evt_next(decoder, &event, sizeof(event));
		if (status < 0 || event.type != ptev_tip)
			continue;
		assert_true(event.has_tsc && count < most);
		tsc[count++] = event.tsc;
	}
	assert_int_equal(status, -pte_eos);
	pt_evt_free_decoder(decoder);
	return count;
}
