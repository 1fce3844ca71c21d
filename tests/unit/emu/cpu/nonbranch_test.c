/*
 * Goal: the processor tells its PT unit of PTWRITE, of RFLAGS.IF, of interrupts and
 * their ends, of HLT and waking. Method: guests on a model that has it all, in every
 * way of running; the packets by libipt's packet decoder against what the handlers
 * recorded and what the guest's source says.
 */
#include "tests/unit/emu/guest.h"

#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PARAM(ctl) ((uint64_t)(ctl) << 32)
#define PWR_EVT_EN 0x10
#define FUP_ON_PTW 0x20
#define PTW_EN     0x1000
#define EVENT_EN   0x80000000u

/* What the trace of CPU 0 says of one kind, in its order. */
struct said {
	size_t count;
	struct pt_packet packet[64];
};

struct heard {
	struct said ptw, pwrx, pwre, exstop, intr, evd;
	size_t iret, mode_changes;
	bool if_flag;
};

static void
hear(struct said *said, const struct pt_packet *packet)
{
	if (said->count < TZ_ARRAY_LEN(said->packet))
		said->packet[said->count] = *packet;
	said->count++;
}

static void
hear_mode(struct heard *heard, const struct pt_packet *packet)
{
	bool flag = packet->payload.mode.bits.exec.iflag;

	if (packet->payload.mode.leaf != pt_mol_exec)
		return;
	heard->mode_changes += flag != heard->if_flag;
	heard->if_flag = flag;
}

static void
note_packet(struct heard *heard, const struct pt_packet *packet)
{
	switch ((int)packet->type) {
	case ppt_ptw:
		hear(&heard->ptw, packet);
		break;
	case ppt_pwre:
		hear(&heard->pwre, packet);
		break;
	case ppt_pwrx:
		hear(&heard->pwrx, packet);
		break;
	case ppt_exstop:
		hear(&heard->exstop, packet);
		break;
	case ppt_evd:
		hear(&heard->evd, packet);
		break;
	case ppt_cfe:
		if (packet->payload.cfe.type == pt_cfe_intr)
			hear(&heard->intr, packet);
		heard->iret += packet->payload.cfe.type == pt_cfe_iret;
		break;
	case ppt_mode:
		hear_mode(heard, packet);
		break;
	default:
		break;
	}
}

static void
listen(const struct guest *guest, struct heard *heard)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	struct pt_packet packet;

	memset(heard, 0, sizeof(*heard));
	pt_config_init(&config);
	config.begin = guest->ram + GUEST_TRACE_PA(0);
	config.end = config.begin + guest->counters[0].trace_bytes;
	decoder = pt_pkt_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_pkt_sync_set(decoder, 0), 0);
	while (pt_pkt_next(decoder, &packet, sizeof(packet)) > 0)
		note_packet(heard, &packet);
	pt_pkt_free_decoder(decoder);
}

static void
run(const char *name, uint32_t ctl, struct guest *guest, struct heard *heard)
{
	struct guest_options options = { .profile = "alderlake-n",
		.param = PARAM(ctl) };

	guest_run_all_ways(name, &options, guest);
	guest_assert_exit(guest);
	listen(guest, heard);
}

static void
assert_ptw(const struct heard *heard, size_t index, int size, uint64_t value)
{
	const struct pt_packet_ptw *ptw = &heard->ptw.packet[index].payload.ptw;

	assert_true(index < heard->ptw.count);
	assert_int_equal(pt_ptw_size(ptw->plc), size);
	assert_int_equal(ptw->payload, value);
	assert_int_equal(ptw->ip, 1);
}

static void
ptwrite_tells_registers_and_memory(void **state)
{
	struct guest guest;
	struct heard heard;

	(void)state;
	run("ptwrite", PTW_EN | FUP_ON_PTW, &guest, &heard);
	assert_int_equal(heard.ptw.count, 6);
	assert_ptw(&heard, 0, 4, 0x11223344);
	assert_ptw(&heard, 1, 8, UINT64_C(0x1122334455667788));
	assert_int_equal(pt_ptw_size(heard.ptw.packet[2].payload.ptw.plc), 4);
	assert_ptw(&heard, 3, 4, 0xcafef00d);
	assert_ptw(&heard, 4, 8, UINT64_C(0x0123456789abcdef));
	assert_ptw(&heard, 5, 4, 0x55);
	/* #UD, #PF of ring 0, #PF of ring 3, and the way back. */
	assert_int_equal(guest_record_count(&guest, 0), 4);
	assert_int_equal(guest_record(&guest, 0, 0).vector, 6);
	assert_int_equal(guest_record(&guest, 0, 1).vector, 14);
	assert_int_equal(guest_record(&guest, 0, 1).cr2, 0x7000000000);
	assert_int_equal(guest_record(&guest, 0, 1).error, 0);
	assert_int_equal(guest_record(&guest, 0, 2).vector, 14);
	assert_int_equal(guest_record(&guest, 0, 2).error, 5);
	guest_free(&guest);
}

static void
ptwrite_is_undefined_where_cpuid_lacks_it(void **state)
{
	struct guest_options options = { .profile = "skylake" };
	struct guest guest;

	(void)state;
	guest_run("ptwrite", &options, &guest);
	assert_int_equal(guest_record(&guest, 0, 0).vector, 6);
	guest_free(&guest);
}

/* Each interrupt and exception of the handler's records has its CFE, in order. */
static void
assert_told(const struct guest *guest, const struct heard *heard)
{
	size_t count = guest_record_count(guest, 0);

	assert_int_equal(heard->intr.count, count);
	assert_true(count > 3);
	for (size_t i = 0; i < count && i < 64; i++)
		assert_int_equal(heard->intr.packet[i].payload.cfe.vector,
		    guest_record(guest, 0, i).vector);
	assert_int_equal(heard->iret >= count - 1, 1);
}

static void
event_trace_tells_interrupts_and_the_flag(void **state)
{
	struct guest guest;
	struct heard heard;

	(void)state;
	run("ptwrite", EVENT_EN, &guest, &heard);
	assert_told(&guest, &heard);
	/* Two page faults; POPF, CLI, STI, CLI. */
	assert_int_equal(heard.evd.count, 2);
	assert_int_equal(heard.evd.packet[0].payload.evd.payload, 0x7000000000);
	assert_true(heard.mode_changes >= 4);
	assert_false(heard.if_flag);
	guest_free(&guest);
	run("interrupts", EVENT_EN, &guest, &heard);
	assert_told(&guest, &heard);
	guest_free(&guest);
}

static void
power_events_tell_hlt_and_what_ended_it(void **state)
{
	size_t halts = 0;
	struct guest guest;
	struct heard heard;

	(void)state;
	run("interrupts", PWR_EVT_EN, &guest, &heard);
	for (size_t i = 0; i < guest.event_count; i++)
		halts += guest.event[i].kind == EVENT_HALT;
	assert_true(halts > 0);
	assert_int_equal(heard.pwre.count, halts);
	assert_int_equal(heard.exstop.count, halts);
	assert_int_equal(heard.pwrx.count, halts);
	for (size_t i = 0; i < halts; i++) {
		assert_int_equal(
		    heard.pwrx.packet[i].payload.pwrx.interrupt, 1);
		assert_int_equal(heard.exstop.packet[i].payload.exstop.ip, 1);
	}
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ptwrite_tells_registers_and_memory),
		cmocka_unit_test(ptwrite_is_undefined_where_cpuid_lacks_it),
		cmocka_unit_test(event_trace_tells_interrupts_and_the_flag),
		cmocka_unit_test(power_events_tell_hlt_and_what_ended_it),
	};

	assert_int_equal(argc, 2);
	guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
