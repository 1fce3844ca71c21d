/*
 * Goal: each event that is no branch leaves the packets of its row, in their order
 * and under its enables, and libipt understands them as that event. Method: one
 * event at a time on a unit of a model that has them all; the packets by libipt's
 * packet decoder, the meaning by its event decoder; PEBS blocks, which libipt does
 * not know, byte by byte.
 */
#include "emu/pt/packet/nonbranch.h"
#include "emu/pt/sync.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/pt/fake.h"

/* IA32_RTIT_CTL bits by their places in the SDM's table. */
#define CTL_PWR_EVT_EN TZ_BIT(4)
#define CTL_FUP_ON_PTW TZ_BIT(5)
#define CTL_PTW_EN     TZ_BIT(12)
#define CTL_EVENT_EN   TZ_BIT(31)
#define CTL_DIS_TNT    TZ_BIT(55)

#define IP             UINT64_C(0xffffffff81000200)
#define HANDLER        UINT64_C(0xffffffff82000000)

/* PSB+ and what an enable sends. */
#define ENABLED \
 "PSB TSX(00) PIP(12345000) CBR(37) PSBEND EXEC(64) PGE(3:ffffffff81000102)"

/* What libipt's event decoder makes of that. */
#define ENABLED_EVENTS                                  \
 "enabled@ffffffff81000102 exec-mode@ffffffff81000102 " \
 "iflag:0@ffffffff81000102"

/* A unit of Alder Lake-N, which has every feature, tracing with CTL. */
static struct fake *
start(uint64_t ctl)
{
	struct fake *fake = fake_create();

	fake->profile = *profile_find("alderlake-n");
	fake->profile.uarch = &fake->uarch;
	fake_start(fake, CTL_PLAIN | ctl);
	return fake;
}

/* As start(), without the packets of the enable. */
static struct fake *
started(uint64_t ctl)
{
	struct fake *fake = start(ctl);

	fake_forget(fake);
	fake->at.ip = IP;
	return fake;
}

static void
ptwrite_sends_its_value_and_a_fup_where_asked_for(void **state)
{
	struct fake *fake = started(CTL_PTW_EN);

	(void)state;
	pt_unit_ptwrite(fake->unit, &fake->at, 0xabcd, 4);
	pt_unit_ptwrite(fake->unit, &fake->at, UINT64_C(0x123456789abcdef0), 8);
	fake_expect_packets(fake, "PTW(4:abcd) PTW(8:123456789abcdef0)");
	fake_destroy(fake);
	fake = start(CTL_PTW_EN | CTL_FUP_ON_PTW);
	fake->at.ip = IP;
	pt_unit_ptwrite(fake->unit, &fake->at, 0xabcd, 4);
	fake_expect_events(
	    fake, false, ENABLED_EVENTS " ptwrite:4:abcd@ffffffff81000200");
	fake_expect_packets(
	    fake, ENABLED " PTW.IP(4:abcd) FUP(3:ffffffff81000200)");
	fake_destroy(fake);
}

static void
a_psb_that_ptwrite_makes_due_waits_for_what_comes_next(void **state)
{
	struct fake *fake = start(CTL_PTW_EN);
	size_t count = fake_count(fake, PT_EVENT_PSB);

	(void)state;
	while (!pt_unit_psb_due(fake->unit))
		pt_unit_ptwrite(fake->unit, &fake->at, 1, 8);
	pt_unit_ptwrite(fake->unit, &fake->at, 1, 8);
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), count);
	fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, FAKE_NLIP);
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), count + 1);
	fake_destroy(fake);
}

static void
ptwrite_is_silent_without_its_enables(void **state)
{
	struct fake *fake = started(0);

	(void)state;
	pt_unit_ptwrite(fake->unit, &fake->at, 1, 4);
	fake_expect_packets(fake, "");
	fake_stop(fake);
	fake_wrmsr(
	    fake, 0x570, (CTL_PLAIN & ~CTL_OS) | CTL_PTW_EN | CTL_TRACE_EN);
	fake_forget(fake);
	pt_unit_ptwrite(fake->unit, &fake->at, 1, 4);
	fake_expect_packets(fake, "");
	/* BranchEn 0: it needs no PacketEn. */
	fake_stop(fake);
	fake_wrmsr(fake, 0x570,
	    (CTL_PLAIN & ~CTL_BRANCH_EN) | CTL_PTW_EN | CTL_TRACE_EN);
	fake_forget(fake);
	pt_unit_ptwrite(fake->unit, &fake->at, 1, 4);
	fake_expect_packets(fake, "PTW(4:1)");
	fake_destroy(fake);
}

static void
pending_branches_go_out_before_an_event(void **state)
{
	struct fake *fake = started(CTL_PTW_EN);

	(void)state;
	fake_cond(fake, true, IP);
	fake_cond(fake, false, IP);
	pt_unit_ptwrite(fake->unit, &fake->at, 7, 4);
	fake_expect_packets(fake, "TNT(TN) PTW(4:7)");
	fake_destroy(fake);
}

static void
mwait_tells_its_hints_in_context_only(void **state)
{
	static const struct pt_power c3 = {
		.mwait = true, .hints = 0x21, .ext = 1, .cstate = 2, .sub = 1
	};
	struct fake *fake = start(CTL_PWR_EVT_EN);

	(void)state;
	fake->at.ip = IP;
	pt_unit_power_enter(fake->unit, &fake->at, &c3);
	pt_unit_power_exit(fake->unit, &fake->at, 2, 3, PT_WAKE_STORE);
	fake_expect_events(fake, false,
	    ENABLED_EVENTS " pwre:2.1 mwait:21,1@ffffffff81000200 "
			   "exstop@ffffffff81000200 pwrx:2,3:010");
	fake_expect_packets(fake,
	    ENABLED " MWAIT(21,1) PWRE(2.1) EXSTOP.IP "
		    "FUP(3:ffffffff81000200) CBR(37) PWRX(2,3,010)");
	fake->at.cpl = 3;
	fake_destroy(fake);
	fake = start(CTL_PWR_EVT_EN);
	fake_stop(fake);
	fake_wrmsr(
	    fake, 0x570, (CTL_PLAIN & ~CTL_OS) | CTL_PWR_EVT_EN | CTL_TRACE_EN);
	fake_forget(fake);
	pt_unit_power_enter(fake->unit, &fake->at, &c3);
	pt_unit_power_exit(fake->unit, &fake->at, 2, 3, PT_WAKE_INTERRUPT);
	fake_expect_packets(fake, "PWRE(2.1) EXSTOP CBR(37) PWRX(2,3,100)");
	fake_destroy(fake);
}

static void
hardware_entry_has_bit_7(void **state)
{
	static const struct pt_power hdc = { .hw = true, .cstate = 6 };
	struct fake *fake = started(CTL_PWR_EVT_EN);

	(void)state;
	pt_unit_power_enter(fake->unit, &fake->at, &hdc);
	fake_expect(fake, "00 00 02 22 80 60 02 E2 00 7D 00 02 00 81 FF FF");
	fake_destroy(fake);
}

static void
waking_is_silent_without_tsc_and_power_events(void **state)
{
	struct fake *fake = started(0);
	static const struct pt_power halt = { 0 };

	(void)state;
	pt_unit_power_enter(fake->unit, &fake->at, &halt);
	pt_unit_power_exit(fake->unit, &fake->at, 0, 0, PT_WAKE_INTERRUPT);
	pt_unit_exstop(fake->unit, &fake->at);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
a_page_fault_tells_its_address_and_vector(void **state)
{
	struct pt_transfer fault = { .kind = PT_TRANSFER_EXCEPTION,
		.has_vector = true,
		.vector = 14,
		.cr2 = 0xf00baa,
		.ip_from = IP };
	struct fake *fake = start(CTL_EVENT_EN);

	(void)state;
	fault.after = fake->at;
	fault.after.ip = HANDLER;
	pt_unit_transfer(fake->unit, &fault);
	fake_expect_events(fake, false,
	    ENABLED_EVENTS " "
			   "interrupt:14:cr2=f00baa@ffffffff81000200 "
			   "async-branch@ffffffff82000000");
	fake_expect_packets(fake,
	    ENABLED " EVD(0:f00baa) CFE(1,14) FUP(3:ffffffff81000200) "
		    "TIP(2:82000000)");
	fake_destroy(fake);
}

static void
iret_and_interrupts_are_told_with_the_flag(void **state)
{
	struct pt_transfer intr = { .kind = PT_TRANSFER_INTERRUPT,
		.has_vector = true,
		.vector = 0x31,
		.ip_from = IP };
	struct fake *fake = fake_create();

	(void)state;
	fake->profile = *profile_find("alderlake-n");
	fake->profile.uarch = &fake->uarch;
	fake->at.if_flag = true;
	fake_start(fake, CTL_PLAIN | CTL_EVENT_EN);
	intr.after = fake->at;
	intr.after.ip = HANDLER;
	intr.after.if_flag = false;
	pt_unit_transfer(fake->unit, &intr);
	fake_transfer(fake, PT_TRANSFER_IRET, IP);
	fake_expect_events(fake, false,
	    "enabled@ffffffff81000102 exec-mode@ffffffff81000102 "
	    "iflag:1@ffffffff81000102 interrupt:49@ffffffff81000200 "
	    "async-branch@ffffffff82000000 iflag:0@ffffffff82000000 "
	    "iret tip@ffffffff81000200 iflag:1@ffffffff81000200");
	fake_expect_packets(fake,
	    "PSB TSX(00) PIP(12345000) CBR(37) PSBEND EXEC(64,IF) "
	    "PGE(3:ffffffff81000102) CFE(1,49) FUP(3:ffffffff81000200) "
	    "EXEC(64) TIP(2:82000000) CFE(2,0) EXEC(64,IF) TIP(2:81000200)");
	fake_destroy(fake);
}

static void
sti_and_cli_send_mode_and_place(void **state)
{
	struct fake *fake = started(CTL_EVENT_EN);

	(void)state;
	fake->at.if_flag = true;
	pt_unit_if_changed(fake->unit, &fake->at);
	pt_unit_if_changed(fake->unit, &fake->at);
	fake->at.if_flag = false;
	fake->at.ip++;
	pt_unit_if_changed(fake->unit, &fake->at);
	fake_expect_packets(fake,
	    "EXEC(64,IF) FUP(3:ffffffff81000200) "
	    "EXEC(64) FUP(3:ffffffff81000201)");
	fake_destroy(fake);
	fake = started(0);
	fake->at.if_flag = true;
	pt_unit_if_changed(fake->unit, &fake->at);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
events_without_branches_have_a_fup_of_their_own(void **state)
{
	struct pt_transfer intr = { .kind = PT_TRANSFER_INTERRUPT,
		.has_vector = true,
		.vector = 2,
		.ip_from = IP };
	struct fake *fake = fake_create();

	(void)state;
	fake->profile = *profile_find("alderlake-n");
	fake->profile.uarch = &fake->uarch;
	fake_start(fake, (CTL_PLAIN & ~CTL_BRANCH_EN) | CTL_EVENT_EN);
	intr.after = fake->at;
	intr.after.ip = HANDLER;
	pt_unit_transfer(fake->unit, &intr);
	fake_expect_events(fake, false, "interrupt:2@ffffffff81000200");
	fake_expect_packets(fake,
	    "PSB PIP(12345000) CBR(37) PSBEND CFE.IP(1,2) "
	    "FUP(3:ffffffff81000200)");
	fake_destroy(fake);
}

static void
transactions_are_told_at_begin_commit_and_abort(void **state)
{
	struct pt_transfer abort = { .kind = PT_TRANSFER_TSX_ABORT,
		.ip_from = IP + 9 };
	struct fake *fake = start(0);

	(void)state;
	fake->at.ip = IP;
	pt_unit_tsx(fake->unit, &fake->at, true);
	fake->at.ip = IP + 4;
	pt_unit_tsx(fake->unit, &fake->at, false);
	pt_unit_tsx(fake->unit, &fake->at, true);
	abort.after = fake->at;
	abort.after.ip = HANDLER;
	pt_unit_transfer(fake->unit, &abort);
	fake_expect_events(fake, false,
	    ENABLED_EVENTS
	    " tsx-begin@ffffffff81000200 "
	    "tsx-commit@ffffffff81000204 tsx-begin@ffffffff81000204 "
	    "tsx-abort@ffffffff81000209 async-branch@ffffffff82000000");
	fake_expect_packets(fake,
	    ENABLED " TSX(10) FUP(3:ffffffff81000200) "
		    "TSX(00) FUP(3:ffffffff81000204) "
		    "TSX(10) FUP(3:ffffffff81000204) "
		    "TSX(01) FUP(3:ffffffff81000209) TIP(2:82000000)");
	fake_destroy(fake);
}

static void
a_psb_in_a_transaction_says_so(void **state)
{
	struct fake *fake = start(0);

	(void)state;
	pt_unit_tsx(fake->unit, &fake->at, true);
	fake_stop(fake);
	fake_wrmsr(fake, 0x571, 0);
	fake_forget(fake);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	fake_expect_packets(fake,
	    "PSB TSX(10) PIP(12345000) CBR(37) PSBEND EXEC(64) "
	    "PGE(3:ffffffff81000102)");
	fake_destroy(fake);
}

static void
vmx_transitions_tell_root_and_guest(void **state)
{
	struct pt_transfer entry = {
		.kind = PT_TRANSFER_VM_ENTRY, .cr3_written = true, .ip_from = IP
	};
	struct pt_transfer leave = { .kind = PT_TRANSFER_VM_EXIT,
		.cr3_written = true,
		.exit = { 0x11, 0x30 },
		.ip_from = 0x401000 };
	struct fake *fake = start(CTL_EVENT_EN);

	(void)state;
	entry.after = leave.after = fake->at;
	entry.after.ip = 0x400000;
	entry.after.cr3 = 0x5000;
	entry.after.non_root = true;
	leave.after.ip = HANDLER;
	pt_unit_transfer(fake->unit, &entry);
	pt_unit_transfer(fake->unit, &leave);
	leave.has_vector = true;
	leave.vector = 2;
	pt_unit_transfer(fake->unit, &leave);
	fake_expect_packets(fake,
	    ENABLED " CFE.IP(7,0) FUP(3:ffffffff81000200) PIP(5000.NR) "
		    "TIP(3:400000) EVD(1:11) EVD(2:30) CFE(8,0) FUP(3:401000) "
		    "PIP(12345000) TIP(3:ffffffff82000000) EVD(1:11) EVD(2:30) "
		    "CFE(9,2) FUP(3:401000) PIP(12345000) "
		    "TIP(3:ffffffff82000000)");
	fake_destroy(fake);
}

static void
a_vm_exit_that_clears_trace_en_ends_the_stream(void **state)
{
	struct pt_transfer leave = {
		.kind = PT_TRANSFER_VM_EXIT, .trace_off = true, .ip_from = IP
	};
	struct fake *fake = start(0);

	(void)state;
	leave.after = fake->at;
	leave.after.ip = HANDLER;
	pt_unit_transfer(fake->unit, &leave);
	fake_expect_events(fake, false, ENABLED_EVENTS " async-disabled");
	fake_expect_packets(fake, ENABLED " FUP(3:ffffffff81000200) PGD()");
	assert_int_equal(fake_rdmsr(fake, 0x570) & CTL_TRACE_EN, 0);
	fake_destroy(fake);
}

static void
smi_and_rsm_end_and_resume_the_trace(void **state)
{
	struct fake *fake = start(CTL_EVENT_EN);
	uint64_t ctl = fake_rdmsr(fake, 0x570);

	(void)state;
	fake->at.ip = IP;
	pt_unit_smi(fake->unit, &fake->at);
	assert_int_equal(fake_rdmsr(fake, 0x570), ctl & ~CTL_TRACE_EN);
	pt_unit_rsm(fake->unit, &fake->at, true);
	assert_int_equal(fake_rdmsr(fake, 0x570), ctl);
	fake_expect_events(fake, false,
	    ENABLED_EVENTS " smi@ffffffff81000200 "
			   "async-disabled rsm enabled@ffffffff81000200");
	fake_expect_packets(fake,
	    ENABLED " CFE(3,0) FUP(3:ffffffff81000200) PGD() CBR(37) "
		    "CFE(4,0) EXEC(64) PGE(3:ffffffff81000200)");
	fake_destroy(fake);
}

static void
init_and_sipi_restart_a_processor(void **state)
{
	struct pt_transfer init = {
		.kind = PT_TRANSFER_INIT, .cr3_written = true, .ip_from = IP
	};
	struct pt_transfer sipi = {
		.kind = PT_TRANSFER_SIPI, .has_vector = true, .vector = 0x98
	};
	struct fake *fake = start(CTL_EVENT_EN);

	(void)state;
	init.after = (struct pt_context){ .ip = 0xfffffff0 };
	sipi.after = (struct pt_context){ .ip = 0x98000 };
	pt_unit_transfer(fake->unit, &init);
	pt_unit_transfer(fake->unit, &sipi);
	fake_expect_packets(fake,
	    ENABLED " CFE(6,0) FUP(3:ffffffff81000200) PIP(0) EXEC(16) "
		    "TIP(3:fffffff0) CFE(5,152) TIP(2:98000)");
	fake_destroy(fake);
}

static void
an_enclave_is_out_of_context(void **state)
{
	struct pt_transfer enter = { .kind = PT_TRANSFER_ENCLAVE,
		.ip_from = IP };
	struct fake *fake = started(0);

	(void)state;
	enter.after = fake->at;
	enter.after.enclave = true;
	pt_unit_transfer(fake->unit, &enter);
	enter.after.enclave = false;
	pt_unit_transfer(fake->unit, &enter);
	/* A debug enclave is traced. */
	pt_unit_transfer(fake->unit, &enter);
	fake_expect_packets(fake,
	    "FUP(3:ffffffff81000200) PGD() PGE(1:200) "
	    "FUP(3:ffffffff81000200) TIP(1:200)");
	fake_destroy(fake);
}

static void
a_shutdown_stops_execution(void **state)
{
	struct fake *fake = start(CTL_EVENT_EN | CTL_PWR_EVT_EN);

	(void)state;
	fake->at.ip = IP;
	pt_unit_shutdown(fake->unit, &fake->at);
	fake_expect_packets(fake,
	    ENABLED " CFE.IP(10,0) FUP(3:ffffffff81000200) PWRE(0.0) "
		    "EXSTOP.IP FUP(3:ffffffff81000200)");
	fake_destroy(fake);
}

static void
without_tnt_every_return_is_a_tip(void **state)
{
	struct pt_transfer call = { .kind = PT_TRANSFER_CALL_DIRECT,
		.nlip = IP + 5 };
	struct fake *fake = started(CTL_DIS_TNT);

	(void)state;
	call.after = fake->at;
	call.after.ip = HANDLER;
	pt_unit_transfer(fake->unit, &call);
	fake_cond(fake, true, HANDLER + 8);
	fake_transfer(fake, PT_TRANSFER_RET, IP + 5);
	fake_expect_packets(fake, "TIP(1:205)");
	fake_destroy(fake);
}

static void
a_pebs_record_is_blocks_of_items(void **state)
{
	static const struct pt_block_item basic[] = { { 0, 0x401000 },
		{ 1, 2 } };
	static const struct pt_block_item memory[] = { { 0, 0x7000 } };
	static const struct pt_block blocks[] = {
		{ .type = 4, .count = 2, .items = basic },
		{ .type = 5, .narrow = true, .count = 1, .items = memory },
	};
	struct fake *fake = started(0);

	(void)state;
	pt_unit_pebs(fake->unit, &fake->at, blocks, 2, true);
	fake_expect(fake,
	    "00 00 02 63 04 00 00 00 00 00 04 00 10 40 00 00 00 00 00 00 "
	    "00 00 00 00 00 00 0C 02 00 00 00 00 00 00 00 02 63 85 00 00 "
	    "00 00 04 00 70 00 00 02 B3 7D 00 02 00 81 FF FF");
	pt_unit_maintenance(fake->unit, 0x1122334455667788);
	fake_expect_packets(fake, "MNT(1122334455667788)");
	fake_destroy(fake);
}

static void
a_unit_that_is_off_tells_nothing(void **state)
{
	static const struct pt_block_item item = { 0, 1 };
	static const struct pt_block block = { .count = 1, .items = &item };
	static const struct pt_power halt = { 0 };
	struct fake *fake = started(CTL_PTW_EN | CTL_EVENT_EN | CTL_PWR_EVT_EN);

	(void)state;
	fake_stop(fake);
	fake_forget(fake);
	fake->at.if_flag = true;
	pt_unit_ptwrite(fake->unit, &fake->at, 1, 8);
	pt_unit_if_changed(fake->unit, &fake->at);
	pt_unit_power_enter(fake->unit, &fake->at, &halt);
	pt_unit_power_exit(fake->unit, &fake->at, 0, 0, 0);
	pt_unit_exstop(fake->unit, &fake->at);
	pt_unit_shutdown(fake->unit, &fake->at);
	pt_unit_tsx(fake->unit, &fake->at, true);
	pt_unit_smi(fake->unit, &fake->at);
	pt_unit_rsm(fake->unit, &fake->at, false);
	pt_unit_senter(fake->unit);
	pt_unit_acm(fake->unit, &fake->at);
	pt_unit_maintenance(fake->unit, 1);
	pt_unit_pebs(fake->unit, &fake->at, &block, 1, false);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

#define SILENT 12

/* The DEVIATION-th of what is no transfer; false: there are no more. */
static bool
happen(struct fake *fake, unsigned kind)
{
	static const struct pt_block_item item = { 0, 1 };
	static const struct pt_block block = { .count = 1, .items = &item };
	static const struct pt_power halt = { 0 };
	struct pt_unit *unit = fake->unit;

	switch (kind) {
	case 0:
		pt_unit_ptwrite(unit, &fake->at, 1, 8);
		return true;
	case 1:
		fake->at.if_flag = !fake->at.if_flag;
		pt_unit_if_changed(unit, &fake->at);
		return true;
	case 2:
		pt_unit_power_enter(unit, &fake->at, &halt);
		return true;
	case 3:
		pt_unit_power_exit(unit, &fake->at, 0, 0, 0);
		return true;
	case 4:
		pt_unit_exstop(unit, &fake->at);
		return true;
	case 5:
		pt_unit_shutdown(unit, &fake->at);
		return true;
	case 6:
		pt_unit_tsx(unit, &fake->at, true);
		return true;
	case 7:
		pt_unit_smi(unit, &fake->at);
		return true;
	case 8:
		pt_unit_acm(unit, &fake->at);
		return true;
	case 9:
		pt_unit_maintenance(unit, 1);
		return true;
	case 10:
		pt_unit_pebs(unit, &fake->at, &block, 1, true);
		return true;
	case 11:
		pt_unit_vmptrld(unit, 0x1000);
		return true;
	/* From here on they send nothing. */
	case SILENT:
		pt_unit_senter(unit);
		return true;
	case SILENT + 1:
		pt_unit_vmxon(unit, &fake->at);
		return true;
	default:
		return false;
	}
}

/* Wherever a region with STOP ends in it, the stream ends there and the unit lives on. */
static void
output_may_end_within_an_event(void **state)
{
	bool more = true;

	(void)state;
	for (unsigned kind = 0; more; kind++) {
		unsigned within = 0;

		for (uint64_t room = 1; room < 160; room++) {
			struct fake *fake = started(CTL_PTW_EN |
			    CTL_FUP_ON_PTW | CTL_EVENT_EN | CTL_PWR_EVT_EN |
			    CTL_TSC_EN);
			size_t before;

			fake_stop(fake);
			fake_forget(fake);
			fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_STOP);
			fake_wrmsr(fake, 0x560, FAKE_TABLE);
			fake_wrmsr(fake, 0x561, (4096 - room) << 32);
			fake_wrmsr(fake, 0x571, 0);
			fake->at.ip = IP;
			fake_wrmsr(fake, 0x570,
			    fake_rdmsr(fake, 0x570) | CTL_TRACE_EN);
			fake_cond(fake, true, IP);
			pt_unit_sync_output(fake->unit);
			before = fake->stream_bytes;
			more = happen(fake, kind);
			pt_unit_sync_output(fake->unit);
			within += before < room && fake->stream_bytes == room;
			fake_stop(fake);
			assert_true(fake->stream_bytes <= room);
			fake_destroy(fake);
		}
		assert_true(!more || (within == 0) == (kind >= SILENT));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_may_end_within_an_event),
		cmocka_unit_test(
		    ptwrite_sends_its_value_and_a_fup_where_asked_for),
		cmocka_unit_test(
		    a_psb_that_ptwrite_makes_due_waits_for_what_comes_next),
		cmocka_unit_test(ptwrite_is_silent_without_its_enables),
		cmocka_unit_test(pending_branches_go_out_before_an_event),
		cmocka_unit_test(mwait_tells_its_hints_in_context_only),
		cmocka_unit_test(hardware_entry_has_bit_7),
		cmocka_unit_test(waking_is_silent_without_tsc_and_power_events),
		cmocka_unit_test(a_page_fault_tells_its_address_and_vector),
		cmocka_unit_test(iret_and_interrupts_are_told_with_the_flag),
		cmocka_unit_test(sti_and_cli_send_mode_and_place),
		cmocka_unit_test(
		    events_without_branches_have_a_fup_of_their_own),
		cmocka_unit_test(
		    transactions_are_told_at_begin_commit_and_abort),
		cmocka_unit_test(a_psb_in_a_transaction_says_so),
		cmocka_unit_test(vmx_transitions_tell_root_and_guest),
		cmocka_unit_test(
		    a_vm_exit_that_clears_trace_en_ends_the_stream),
		cmocka_unit_test(smi_and_rsm_end_and_resume_the_trace),
		cmocka_unit_test(init_and_sipi_restart_a_processor),
		cmocka_unit_test(an_enclave_is_out_of_context),
		cmocka_unit_test(a_shutdown_stops_execution),
		cmocka_unit_test(without_tnt_every_return_is_a_tip),
		cmocka_unit_test(a_pebs_record_is_blocks_of_items),
		cmocka_unit_test(a_unit_that_is_off_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
