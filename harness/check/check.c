/*
 * The rows, and the dispatch of events to the files that judge them.
 */
#include "harness/check/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(CHECK_COUNT < 128, "a set of rows has 128 bits");

static const struct check_info check_infos[] = {
#define CHECK(id, name, family, text, citation) \
 [CHECK_##id] = { name, FAMILY_##family, text, citation },
#include "harness/check/check.def"
#undef CHECK
};

static const struct {
	const char *name, *text;
} reasons[] = {
#define REASON(id, name, text) [REASON_##id] = { name, text },
#include "harness/check/reason.def"
#undef REASON
};

enum check_relation {
	RELATION_CPU,
	RELATION_STREAM,
	RELATION_RUN,
};

static const struct {
	enum check_id effect, cause;
	enum check_relation relation;
} symptoms[] = {
#define SYMPTOM(effect, cause, relation, why) \
 { CHECK_##effect, CHECK_##cause, RELATION_##relation },
#include "harness/check/symptom.def"
#undef SYMPTOM
};

/*
 * The order matters: handlers that look up a page or an extent precede those that remove
 * it.
 */
static const struct {
	enum event_kind kind;
	void (*judge)(struct check *check, const struct event *event);
} judges[] = {
	{ EVENT_TRACE_ON, site_event },
	{ EVENT_TRACE_ON, session_trace_on },
	{ EVENT_TRACE_ON, table_trace_on },
	{ EVENT_TRACE_ON, stream_trace_on },
	{ EVENT_TRACE_OFF, site_event },
	{ EVENT_TRACE_OFF, session_trace_off },
	{ EVENT_TRACE_OFF, ledger_off },
	{ EVENT_MSR_READ, site_event },
	{ EVENT_MSR_WRITE, site_event },
	{ EVENT_XSAVES, site_event },
	{ EVENT_XRSTORS, site_event },
	{ EVENT_INTERRUPT, session_delivered },
	{ EVENT_NMI, session_delivered },
	{ EVENT_IRET, session_iret },
	{ EVENT_INTERRUPT, thread_at_work },
	{ EVENT_NMI, thread_at_work },
	{ EVENT_IRET, thread_at_work },
	{ EVENT_SWITCH, thread_switched },
	{ EVENT_PSB, session_psb },
	{ EVENT_OUTPUT, owner_output },
	{ EVENT_OUTPUT, session_output },
	{ EVENT_OUTPUT, thread_output },
	{ EVENT_OUTPUT, ledger_output },
	{ EVENT_MSR_WRITE, debug_store_msr },
	{ EVENT_MSR_WRITE, counters_write },
	{ EVENT_BTS_RECORD, debug_store_record },
	{ EVENT_PEBS_RECORD, debug_store_sample },
	{ EVENT_ATOMIC_SLEEP, debug_store_sleep },
	{ EVENT_TOPA_PMI, nmi_pmi },
	{ EVENT_COUNTER_OVERFLOW, nmi_counter },
	{ EVENT_BTS_PMI, nmi_threshold },
	{ EVENT_PEBS_PMI, nmi_threshold },
	{ EVENT_STOPPED, table_stopped },
	{ EVENT_STOPPED, session_broken },
	{ EVENT_STOPPED, thread_unsure },
	{ EVENT_PT_ERROR, table_error },
	{ EVENT_PT_ERROR, session_broken },
	{ EVENT_PT_ERROR, thread_unsure },
	{ EVENT_TOPA_ENTRY, table_entry },
	{ EVENT_NMI, nmi_delivered },
	{ EVENT_NMI_DONE, nmi_done },
	{ EVENT_DEVIATION, nmi_deviation },
	{ EVENT_DRAIN, ledger_drain },
	{ EVENT_LOST, ledger_lost },
	{ EVENT_ALLOC, site_event },
	{ EVENT_ALLOC, owner_alloc },
	{ EVENT_FREE, site_event },
	{ EVENT_FREE, ledger_free },
	{ EVENT_FREE, owner_free },
	{ EVENT_STACK, owner_stack },
	{ EVENT_BUFFER, ledger_buffer },
	{ EVENT_BUFFER, owner_site },
	{ EVENT_BUFFER, owner_mapped },
	{ EVENT_OBJECT_PAGE, ledger_object_page },
	{ EVENT_OBJECT_PAGE, owner_site },
	{ EVENT_POSITION, ledger_position },
	{ EVENT_THREAD, thread_words },
	{ EVENT_TRACED_THREAD, thread_traced },
	{ EVENT_DROPPED, session_dropped },
	{ EVENT_CALL_BEGIN, session_call_begin },
	{ EVENT_CALL_BEGIN, thread_call_begin },
	{ EVENT_CALL_BEGIN, operation_begin },
	{ EVENT_CALL_BEGIN, table_call_begin },
	{ EVENT_POINT, operation_point },
	{ EVENT_CALL_END, session_call_end },
	{ EVENT_CALL_END, ledger_call_end },
	{ EVENT_CALL_END, table_call_end },
	{ EVENT_CALL_END, nmi_call_end },
	{ EVENT_OWNER_GONE, session_owner_gone },
	{ EVENT_OWNER_GONE, thread_unsure },
	{ EVENT_OWNER_GONE, counters_owner_gone },
	{ EVENT_EXIT, session_exit },
	{ EVENT_EXIT, counters_exit },
	{ EVENT_EXIT, registers_exit },
	{ EVENT_EXIT, owner_exit },
};

const struct check_info *
check_info(enum check_id id)
{
	TZ_ASSERT(id < CHECK_COUNT);
	return &check_infos[id];
}

enum check_id
check_find(const char *name)
{
	unsigned id = 0;

	while (id < CHECK_COUNT && strcmp(check_infos[id].name, name) != 0)
		id++;
	return (enum check_id)id;
}

const char *
check_reason_name(enum check_reason reason)
{
	TZ_ASSERT(reason < REASON_COUNT);
	return reasons[reason].name;
}

const char *
check_reason_text(enum check_reason reason)
{
	TZ_ASSERT(reason < REASON_COUNT);
	return reasons[reason].text;
}

enum check_reason
check_reason_find(const char *name)
{
	unsigned reason = 0;

	while (reason < REASON_COUNT && strcmp(reasons[reason].name, name) != 0)
		reason++;
	return (enum check_reason)reason;
}

bool
check_is_symptom(
    const struct check_violation *effect, const struct check_violation *cause)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(symptoms); i++) {
		if (symptoms[i].effect != effect->id ||
		    symptoms[i].cause != cause->id)
			continue;
		switch (symptoms[i].relation) {
		case RELATION_CPU:
			return effect->cpu == cause->cpu;
		case RELATION_STREAM:
			return effect->stream == cause->stream &&
			    effect->stream != CHECK_NO_STREAM;
		case RELATION_RUN:
			return true;
		}
	}
	return false;
}

bool
check_is_related(enum check_id one, enum check_id other)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(symptoms); i++) {
		if ((symptoms[i].effect == one && symptoms[i].cause == other) ||
		    (symptoms[i].effect == other && symptoms[i].cause == one))
			return true;
	}
	return false;
}

check_rows
check_all(void)
{
	return CHECK_BIT(CHECK_COUNT) - 1;
}

enum check_id
check_take(check_rows *rows)
{
	unsigned id = 0;

	TZ_ASSERT(*rows != 0);
	while ((*rows >> id & 1) == 0)
		id++;
	*rows &= *rows - 1;
	return (enum check_id)id;
}

struct check *
check_create(const struct check_config *config)
{
	struct check *check = calloc(1, sizeof(*check));

	TZ_ASSERT(config->cpu_count <= MACHINE_CPUS_MAX);
	TZ_ASSERT(config->reads.translate != NULL);
	TZ_ASSERT(config->reads.rip != NULL && config->reads.pt != NULL);
	if (check == NULL)
		return NULL;
	check->config = *config;
	check->trace_frames = calloc(
	    config->ram_bytes / CHECK_PAGE_BYTES / 64 + 1, sizeof(uint64_t));
	check->freed_head = calloc(config->ram_bytes / CHECK_PAGE_BYTES + 1,
	    sizeof(check->freed_head[0]));
	if (check->trace_frames == NULL || check->freed_head == NULL) {
		check_destroy(check);
		return NULL;
	}
	check_begin(check);
	return check;
}

void
check_destroy(struct check *check)
{
	if (check == NULL)
		return;
	free(check->trace_frames);
	free(check->freed_head);
	free(check);
}

void
check_begin(struct check *check)
{
	struct check_core *core = &check->core;
	bool on[MACHINE_CPUS_MAX];
	size_t kept = offsetof(struct check_core, page_count);

	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		on[i] = core->cpu[i].trace.state == TRACING_ON;
	page_set_frames(check, false);
	memset((char *)core + kept, 0, sizeof(*core) - kept);
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		core->cpu[i].trace.state = on[i] ? TRACING_ON : TRACING_OFF;
		core->cpu[i].stream = CHECK_NO_STREAM;
	}
	violation_skip(
	    check, REASON_WITHOUT, check_all() & ~check->config.enabled);
	freed_begin(check);
}

void
check_explain(struct check *check, bool on)
{
	check->explains = on;
}

void
check_event(struct check *check, const struct event *event)
{
	TZ_ASSERT(event->cpu < MACHINE_CPUS_MAX);
	check->core.event = *event;
	for (size_t i = 0; i < TZ_ARRAY_LEN(judges); i++) {
		if (judges[i].kind == event->kind)
			judges[i].judge(check, event);
	}
	check->core.event_number++;
}

const uint64_t *
check_trace_frames(const struct check *check)
{
	return check->trace_frames;
}
