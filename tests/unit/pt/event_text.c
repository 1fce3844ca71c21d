#include "tests/unit/pt/event_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <intel-pt.h>

#define EVENT_TEXT_BYTES 96

typedef unsigned long long ull;

/* Prints an event's name and its IP, or none where that is suppressed. */
static void
at_text(char *text, const char *name, const struct pt_event *event, uint64_t ip)
{
	if (event->ip_suppressed)
		snprintf(text, EVENT_TEXT_BYTES, "%s", name);
	else
		snprintf(text, EVENT_TEXT_BYTES, "%s@%llx", name, (ull)ip);
}

static void
tnt_text(char *text, const struct pt_event *event)
{
	unsigned n = event->variant.tnt.size;
	size_t used = (size_t)snprintf(text, EVENT_TEXT_BYTES, "tnt:");

	for (unsigned i = 0; i < n; i++)
		text[used++] = event->variant.tnt.bits >> (n - 1 - i) & 1 ? 'T'
									  : 'N';
	text[used] = '\0';
}

/* Branches, enables and modes; false where EVENT is none of these. */
static bool
flow_event_text(char *text, const struct pt_event *event)
{
	switch ((int)event->type) {
	case ptev_enabled:
		at_text(text, "enabled", event, event->variant.enabled.ip);
		return true;
	case ptev_disabled:
		at_text(text, "disabled", event, event->variant.disabled.ip);
		return true;
	case ptev_async_disabled:
		at_text(text, "async-disabled", event,
		    event->variant.async_disabled.ip);
		return true;
	case ptev_async_branch:
		at_text(text, "async-branch", event,
		    event->variant.async_branch.to);
		return true;
	case ptev_tip:
		at_text(text, "tip", event, event->variant.tip.ip);
		return true;
	case ptev_tnt:
		tnt_text(text, event);
		return true;
	case ptev_exec_mode:
		at_text(text, "exec-mode", event, event->variant.exec_mode.ip);
		return true;
	case ptev_tsx:
		at_text(text,
		    event->variant.tsx.aborted           ? "tsx-abort"
			: event->variant.tsx.speculative ? "tsx-begin"
							 : "tsx-commit",
		    event, event->variant.tsx.ip);
		return true;
	case ptev_overflow:
		at_text(text, "overflow", event, event->variant.overflow.ip);
		return true;
	case ptev_stop:
		at_text(text, "stop", event, 0);
		return true;
	case ptev_paging:
		snprintf(text, EVENT_TEXT_BYTES, "paging:%llx%s",
		    (ull)event->variant.paging.cr3,
		    event->variant.paging.non_root ? ".nr" : "");
		return true;
	case ptev_async_paging:
		snprintf(text, EVENT_TEXT_BYTES, "async-paging:%llx%s",
		    (ull)event->variant.async_paging.cr3,
		    event->variant.async_paging.non_root ? ".nr" : "");
		return true;
	default:
		return false;
	}
}

/* Event Trace. */
static bool
trace_event_text(char *text, const struct pt_event *event)
{
	char name[40];

	switch ((int)event->type) {
	case ptev_iflags:
		snprintf(name, sizeof(name), "iflag:%u",
		    event->variant.iflags.iflag);
		at_text(text, name, event, event->variant.iflags.ip);
		return true;
	case ptev_interrupt:
		snprintf(name, sizeof(name), "interrupt:%u",
		    event->variant.interrupt.vector);
		if (event->variant.interrupt.has_cr2)
			snprintf(name, sizeof(name), "interrupt:%u:cr2=%llx",
			    event->variant.interrupt.vector,
			    (ull)event->variant.interrupt.cr2);
		at_text(text, name, event, event->variant.interrupt.ip);
		return true;
	case ptev_iret:
		at_text(text, "iret", event, event->variant.iret.ip);
		return true;
	case ptev_smi:
		at_text(text, "smi", event, event->variant.smi.ip);
		return true;
	case ptev_rsm:
		at_text(text, "rsm", event, event->variant.rsm.ip);
		return true;
	case ptev_sipi:
		snprintf(text, EVENT_TEXT_BYTES, "sipi:%u",
		    event->variant.sipi.vector);
		return true;
	case ptev_init:
		at_text(text, "init", event, event->variant.init.ip);
		return true;
	case ptev_vmentry:
		at_text(text, "vmentry", event, event->variant.vmentry.ip);
		return true;
	case ptev_vmexit:
		snprintf(name, sizeof(name), "vmexit:%llx,%llx",
		    (ull)event->variant.vmexit.vmxq,
		    (ull)event->variant.vmexit.vmxr);
		if (event->variant.vmexit.has_vector)
			snprintf(name + strlen(name),
			    sizeof(name) - strlen(name), ":v%u",
			    event->variant.vmexit.vector);
		at_text(text, name, event, event->variant.vmexit.ip);
		return true;
	case ptev_shutdown:
		at_text(text, "shutdown", event, event->variant.shutdown.ip);
		return true;
	default:
		return false;
	}
}

/* Power events, PTWRITE and the rest. */
static void
other_event_text(char *text, const struct pt_event *event)
{
	char name[40];

	switch ((int)event->type) {
	case ptev_exstop:
		at_text(text, "exstop", event, event->variant.exstop.ip);
		return;
	case ptev_mwait:
		snprintf(name, sizeof(name), "mwait:%x,%x",
		    event->variant.mwait.hints, event->variant.mwait.ext);
		at_text(text, name, event, event->variant.mwait.ip);
		return;
	case ptev_pwre:
		snprintf(text, EVENT_TEXT_BYTES, "pwre:%u.%u",
		    event->variant.pwre.state, event->variant.pwre.sub_state);
		return;
	case ptev_pwrx:
		snprintf(text, EVENT_TEXT_BYTES, "pwrx:%u,%u:%u%u%u",
		    event->variant.pwrx.last, event->variant.pwrx.deepest,
		    event->variant.pwrx.interrupt, event->variant.pwrx.store,
		    event->variant.pwrx.autonomous);
		return;
	case ptev_ptwrite:
		snprintf(name, sizeof(name), "ptwrite:%u:%llx",
		    event->variant.ptwrite.size,
		    (ull)event->variant.ptwrite.payload);
		at_text(text, name, event, event->variant.ptwrite.ip);
		return;
	case ptev_mnt:
		snprintf(text, EVENT_TEXT_BYTES, "mnt:%llx",
		    (ull)event->variant.mnt.payload);
		return;
	case ptev_vmcs:
		snprintf(text, EVENT_TEXT_BYTES, "vmcs:%llx",
		    (ull)event->variant.vmcs.base);
		return;
	case ptev_async_vmcs:
		snprintf(text, EVENT_TEXT_BYTES, "async-vmcs:%llx",
		    (ull)event->variant.async_vmcs.base);
		return;
	case ptev_tick:
	case ptev_cbr:
		return;
	default:
		fail_msg("unexpected event type %d", (int)event->type);
	}
}

/* Tells CONFIG of the processor, by its CPUID.1:EAX. */
static void
configure(struct pt_config *config, uint32_t signature)
{
	if (signature == 0)
		return;
	config->cpu.vendor = pcv_intel;
	config->cpu.family = (uint16_t)(signature >> 8 & 0xf);
	config->cpu.model = (uint8_t)((signature >> 4 & 0xf) |
	    (signature >> 12 & 0xf0));
	config->cpu.stepping = (uint8_t)(signature & 0xf);
	assert_int_equal(pt_cpu_errata(&config->errata, &config->cpu), 0);
}

char *
event_text_read(const uint8_t *stream, size_t bytes, uint32_t signature)
{
	size_t room = (bytes + 4) * (EVENT_TEXT_BYTES + 1), used = 0;
	char *text = calloc(1, room);
	struct pt_event_decoder *decoder;
	struct pt_config config;
	struct pt_event event;
	int status;

	assert_non_null(text);
	pt_config_init(&config);
	configure(&config, signature);
	config.flags.variant.event.enable_iflags_events = 1;
	config.begin = (uint8_t *)(uintptr_t)stream;
	config.end = config.begin + bytes;
	decoder = pt_evt_alloc_decoder(&config);
	assert_non_null(decoder);
	status = pt_evt_sync_forward(decoder);
	while (status >= 0) {
		char one[EVENT_TEXT_BYTES] = "";

		status = pt_evt_next(decoder, &event, sizeof(event));
		if (status < 0)
			break;
		if (event.status_update)
			continue;
		if (!flow_event_text(one, &event) &&
		    !trace_event_text(one, &event))
			other_event_text(one, &event);
		if (one[0] != '\0')
			used += (size_t)snprintf(text + used, room - used,
			    "%s%s", used ? " " : "", one);
	}
	if (status != -pte_eos)
		snprintf(text + used, room - used, "%serror %d",
		    used ? " " : "", -status);
	pt_evt_free_decoder(decoder);
	return text;
}
