/*
 * Reports transfers to the unit and takes its output.
 */
#include "emu/base/rtit.h"
#include "traces/reencode/replay/replay_internal.h"

bool
report_has_event_trace(const struct replay *replay)
{
	return (replay->driver.ctl & CTL_EVENT_EN) != 0;
}

void
report_wrong(struct replay *replay, const char *text, uint64_t ip)
{
	if (replay->result->wrong == NULL) {
		report_take(replay);
		replay->result->wrong = text;
		replay->result->wrong_ip = ip;
		replay->result->wrong_offset = replay_offset(replay);
		replay->result->wrong_behind = pt_unit_tnt_pending(
						   replay->driver.unit) == 0;
	}
	replay->ended = true;
}

void
report_fail(struct replay *replay)
{
	replay->failed = replay->ended = true;
}

void
report_set(struct replay *replay, uint64_t offset)
{
	if (!unit_driver_has_other_setting(&replay->driver, offset))
		return;
	unit_driver_set(&replay->driver, offset);
	replay->result->setting_changes++;
}

void
report_take(struct replay *replay)
{
	replay->doubt.untaken = 0;
	unit_driver_take(&replay->driver);
	if (replay->driver.compare->difference.found ||
	    replay->driver.compare->failed)
		replay->ended = true;
}

enum packet_cfe
report_read_cause(const struct replay *replay, struct pt_transfer *transfer)
{
	static const enum pt_transfer_kind kinds[] = {
		[CFE_IRET] = PT_TRANSFER_IRET,
		[CFE_SIPI] = PT_TRANSFER_SIPI,
		[CFE_INIT] = PT_TRANSFER_INIT,
		[CFE_VMENTRY] = PT_TRANSFER_VM_ENTRY,
		[CFE_VMEXIT] = PT_TRANSFER_VM_EXIT,
		[CFE_VMEXIT_INTR] = PT_TRANSFER_VM_EXIT,
	};
	struct pkt_parser parser = replay->clock.look;
	unsigned pending = pt_unit_tnt_pending(replay->driver.unit);
	enum packet_cfe type;
	struct pkt packet;

	while (pkt_next_event(&parser, &packet)) {
		if (packet.kind == PKT_TNT && packet.bits == pending)
			pending = 0;
		else if (packet.kind == PKT_EVD &&
		    (packet.value & 0x3f) == EVD_CR2)
			transfer->cr2 = packet.extra;
		else if (packet.kind == PKT_EVD)
			transfer->exit[(packet.value & 0x3f) !=
			    EVD_EXIT_QUALIFICATION] = packet.extra;
		else
			break;
	}
	if (packet.kind == PKT_TSX && (packet.value & PACKET_MODE_TSX_ABORT))
		transfer->kind = PT_TRANSFER_TSX_ABORT;
	if (packet.kind != PKT_CFE)
		return CFE_NONE;
	type = (enum packet_cfe)(packet.value & 0x1f);
	transfer->vector = (uint8_t)(packet.value >> 8);
	transfer->has_vector = type == CFE_INTR || type == CFE_VMEXIT_INTR ||
	    type == CFE_SIPI;
	if (type < TZ_ARRAY_LEN(kinds) && kinds[type] != 0)
		transfer->kind = kinds[type];
	if (type == CFE_INTR && transfer->vector == 14)
		transfer->kind = PT_TRANSFER_EXCEPTION;
	if (packet.with_ip && pkt_take_event(&parser, PKT_FUP, &packet) &&
	    packet.value != 0)
		transfer->ip_from = packet.value;
	return type;
}

void
report_transfer(
    struct replay *replay, struct pt_transfer *transfer, bool has_cause)
{
	transfer->cr3_written = replay->cr3_written;
	transfer->nlip = code_blocks_nlip(replay->last);
	if (has_cause)
		(void)report_read_cause(replay, transfer);
	if (transfer->kind == PT_TRANSFER_TSX_ABORT)
		replay->vmx.in_tsx = false;
	replay->cr3_written = false;
	pt_unit_transfer(replay->driver.unit, transfer);
	replay->at = transfer->after;
}

void
report_event(struct replay *replay, enum pt_transfer_kind kind, uint64_t from,
    const struct pt_context *after)
{
	struct pt_transfer transfer = { .kind = kind,
		.taken = kind == PT_TRANSFER_COND,
		.ip_from = from,
		.after = *after };

	report_transfer(replay, &transfer,
	    report_has_event_trace(replay) ||
		replay->driver.config.stats->tsx != 0);
}
