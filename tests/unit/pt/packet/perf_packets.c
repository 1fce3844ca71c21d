/*
 * Goal: a stream that holds packets of every kind, as a raw file and as a perf.data,
 * for perf's packet decoder and libipt's to be compared (tests/meta/trace/perf.sh). Method:
 * two units are told of one event of each kind; the PEBS blocks come last, since
 * libipt stops there.
 * usage: pt_perf_packets PERF_DATA RAW_BEFORE RAW_PEBS
 */
#include "emu/pt/packet/nonbranch.h"

#include <stdio.h>
#include <stdlib.h>

#include "emu/pt/inject.h"
#include "tests/unit/pt/fake.h"
#include "traces/external/perf_data.h"

#define CTL_PWR_EVT_EN TZ_BIT(4)
#define CTL_FUP_ON_PTW TZ_BIT(5)
#define CTL_PTW_EN     TZ_BIT(12)
#define CTL_EVENT_EN   TZ_BIT(31)
#define CTL_STOP0      TZ_BIT(33)
#define CTL_ALL                                                   \
 (CTL_PLAIN | CTL_CYC_EN | CTL_MTC_EN | CTL_TSC_EN | CTL_PTW_EN | \
     CTL_PWR_EVT_EN | CTL_EVENT_EN)

#define MSR_ADDR0_A 0x580u
#define MSR_ADDR0_B 0x581u
#define IP          UINT64_C(0xffffffff81000200)
#define HANDLER     UINT64_C(0xffffffff82000000)
#define STOP_AT     UINT64_C(0xffffffff83000000)

/* A unit of Alder Lake-N, which has every feature, tracing with CTL. */
static struct fake *
start(uint64_t ctl)
{
	struct fake *fake = fake_create();

	fake->profile = *profile_find("alderlake-n");
	fake->profile.uarch = &fake->uarch;
	fake_wrmsr(fake, MSR_ADDR0_A, STOP_AT);
	fake_wrmsr(fake, MSR_ADDR0_B, STOP_AT + 0xfff);
	fake_time(fake, 1000);
	fake_start(fake, ctl);
	fake->at.ip = IP;
	return fake;
}

static void
branches(struct fake *fake, uint64_t now, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		fake_time(fake, now + 1000 * (uint64_t)i);
		fake_cond(fake, i % 3 == 0, IP + 2);
	}
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, IP);
}

static void
page_fault(struct fake *fake)
{
	struct pt_transfer fault = { .kind = PT_TRANSFER_EXCEPTION,
		.has_vector = true,
		.vector = 14,
		.cr2 = 0xf00baa,
		.ip_from = IP,
		.after = fake->at };

	fault.after.ip = HANDLER;
	pt_unit_transfer(fake->unit, &fault);
	fake->at.cr3 = 0x54321000;
	fault = (struct pt_transfer){ .kind = PT_TRANSFER_MOV_CR3,
		.cr3_written = true,
		.after = fake->at };
	pt_unit_transfer(fake->unit, &fault);
}

static void
power(struct fake *fake)
{
	static const struct pt_power c3 = {
		.mwait = true, .hints = 0x21, .ext = 1, .cstate = 2, .sub = 1
	};
	static const struct pt_power hw = { .hw = true, .cstate = 6 };

	pt_unit_power_enter(fake->unit, &fake->at, &c3);
	pt_unit_power_exit(fake->unit, &fake->at, 2, 3, PT_WAKE_STORE);
	pt_unit_power_enter(fake->unit, &fake->at, &hw);
	pt_unit_power_exit(fake->unit, &fake->at, 6, 6, PT_WAKE_HW);
	pt_unit_exstop(fake->unit, &fake->at);
	pt_unit_frequency(fake->unit, 12);
}

/* All that libipt knows. */
static struct fake *
known(void)
{
	struct fake *fake = start(CTL_ALL | CTL_STOP0);

	branches(fake, 2000, 50);
	page_fault(fake);
	pt_unit_ptwrite(fake->unit, &fake->at, 0xabcd, 4);
	pt_unit_ptwrite(fake->unit, &fake->at, UINT64_C(0x123456789abcdef0), 8);
	power(fake);
	pt_unit_tsx(fake->unit, &fake->at, true);
	pt_unit_tsx(fake->unit, &fake->at, false);
	pt_unit_vmptrld(fake->unit, 0x123456000);
	pt_unit_maintenance(fake->unit, UINT64_C(0x1122334455667788));
	fake->at.if_flag = true;
	pt_unit_if_changed(fake->unit, &fake->at);
	(void)pt_unit_overflow(fake->unit, 1);
	branches(fake, 60000, 2);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, STOP_AT);
	fake_stop(fake);
	return fake;
}

/* PTWRITE with FUP, and the blocks of a PEBS record. */
static struct fake *
pebs(void)
{
	static const struct pt_block_item basic[] = { { 0, 0x401000 },
		{ 1, 2 } };
	static const struct pt_block_item memory[] = { { 0, 0x7000 } };
	static const struct pt_block blocks[] = {
		{ .type = 4, .count = 2, .items = basic },
		{ .type = 5, .narrow = true, .count = 1, .items = memory },
	};
	struct fake *fake = start(CTL_PLAIN | CTL_PTW_EN | CTL_FUP_ON_PTW);

	branches(fake, 2000, 50);
	pt_unit_ptwrite(fake->unit, &fake->at, 7, 4);
	pt_unit_ptwrite(fake->unit, &fake->at, 8, 8);
	pt_unit_pebs(fake->unit, &fake->at, blocks, 2, true);
	pt_unit_pebs(fake->unit, &fake->at, blocks, 1, false);
	fake_stop(fake);
	return fake;
}

static bool
write_raw(const struct fake *fake, const char *path)
{
	FILE *file = fopen(path, "we");

	if (file == NULL)
		return false;
	(void)fwrite(fake->stream, 1, fake->stream_bytes, file);
	return fclose(file) == 0;
}

int
main(int argc, char **argv)
{
	struct perf_data_config config = { .ctl = CTL_ALL,
		.signature = 0xb06e0,
		.cpu_count = 2,
		.tsc_hz = 1000000000,
		.filter = "" };
	struct perf_data *data = perf_data_create(&config);
	struct fake *fakes[] = { known(), pebs() };
	struct tz_error err = { .text = "" };
	uint64_t bytes;
	bool good = argc == 4 && data != NULL;

	for (unsigned i = 0; good && i < TZ_ARRAY_LEN(fakes); i++) {
		const struct perf_data_trace trace = { .cpu = i,
			.bytes = fakes[i]->stream,
			.count = fakes[i]->stream_bytes,
			.tsc = 1 };

		perf_data_trace(data, &trace);
		good = write_raw(fakes[i], argv[2 + i]);
	}
	good = good && perf_data_write(data, argv[1], &bytes, &err) == 0;
	if (!good)
		fprintf(stderr, "pt_perf_packets: %s\n", err.text);
	for (unsigned i = 0; i < TZ_ARRAY_LEN(fakes); i++)
		fake_destroy(fakes[i]);
	if (data != NULL)
		perf_data_destroy(data);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
