/*
 * The list of violations, and the rows that are not judged: what is the same violation,
 * what a deviation excuses, what does not fit.
 */
#include "harness/check/internal.h"

#include <stdarg.h>
#include <stdio.h>

void
violation_skip(struct check *check, enum check_reason reason, check_rows rows)
{
	TZ_ASSERT(reason < REASON_COUNT);
	check->core.unjudged[reason] |= rows;
}

check_rows
check_unjudged(const struct check *check, enum check_reason reason)
{
	TZ_ASSERT(reason < REASON_COUNT);
	return check->core.unjudged[reason];
}

void
violation_excuse(struct check *check, unsigned cpu, check_rows rows)
{
	TZ_ASSERT(cpu < MACHINE_CPUS_MAX);
	check->core.cpu[cpu].excused |= rows;
	violation_skip(check, REASON_EXCUSED, rows);
}

/* What damaged memory can lead to. */
#define DAMAGE_ROWS                                                         \
 (CHECK_ROW(PAGE_FAULT) | CHECK_ROW(GP_FAULT) | CHECK_ROW(INVALID_OPCODE) | \
     CHECK_ROW(EXCEPTION) | CHECK_ROW(DOUBLE_FAULT) |                       \
     CHECK_ROW(TRIPLE_FAULT) | CHECK_ROW(USE_AFTER_FREE) |                  \
     CHECK_ROW(BAD_FREE) | CHECK_ROW(LOCK_ORDER) | CHECK_ROW(LOCK) |        \
     CHECK_ROW(SLEEP) | CHECK_ROW(PANIC) | CHECK_ROW(DEADLOCK) |            \
     CHECK_ROW(PROGRESS) | CHECK_ROW(EXIT_CODE) | CHECK_ROW(UNMODELLED))

/*
 * A violation of row ID is excused.  If it says that the unit has written to memory that
 * is not a trace buffer, the kernel is damaged: its later crashes are not the driver's
 * fault.
 */
static void
violation_was_excused(struct check *check, enum check_id id)
{
	if (id != CHECK_OUTPUT_OWNED && id != CHECK_OUTPUT_FREED &&
	    id != CHECK_OUTPUT_FOREIGN)
		return;
	for (unsigned i = 0; i < check->config.cpu_count; i++)
		violation_excuse(check, i, DAMAGE_ROWS);
}

/* One step of FNV-1a, on a whole word. */
static uint64_t
violation_mix(uint64_t key, uint64_t word)
{
	key = (key ^ word) * UINT64_C(0x100000001b3);
	return key ^ key >> 29;
}

/* Violations with the same key are one: same row, place and object. */
static uint64_t
violation_key(const struct check_violation *violation, unsigned sub)
{
	uint64_t key = UINT64_C(0xcbf29ce484222325);

	key = violation_mix(key, (uint64_t)violation->id << 8 | sub);
	key = violation_mix(key, violation->site.rip);
	key = violation_mix(key, violation->site.entry);
	key = violation_mix(key, violation->object_va);
	for (const char *at = violation->object; *at != '\0'; at++)
		key = violation_mix(key, (unsigned char)*at);
	return key;
}

static bool
violation_is_known(const struct check_core *core, uint64_t key)
{
	for (uint32_t i = 0; i < core->violation_count; i++) {
		if (core->violation_key[i] == key)
			return true;
	}
	return false;
}

void
violation_add(struct check *check, enum check_id id, unsigned sub,
    const struct check_place *at, const char *fmt, ...)
{
	struct check_core *core = &check->core;
	struct check_violation violation = {
		.id = id,
		.cpu = at->cpu,
		.step = at->step,
		.insns = at->insns,
		.cycles = at->cycles,
		.rip = at->rip,
		.event = at->event,
		.blame = site_or(check, at->cpu, &at->blame, NULL),
		.object_va = at->object_va,
		.stream = at->stream,
	};
	uint64_t key;
	va_list args;

	TZ_ASSERT(id < CHECK_COUNT && sub <= UINT8_MAX);
	if ((check->config.enabled >> id & 1) == 0)
		return;
	if ((core->cpu[at->cpu].excused >> id & 1) != 0) {
		violation_was_excused(check, id);
		return;
	}
	/* The current stack does not show what happened earlier. */
	if (at->site.rip != 0)
		violation.site = at->site;
	else if (!at->past && at->event == core->event_number)
		violation.site = site_now(check, at->cpu);
	if (violation.site.rip == 0 && site_is_driver(check, at->rip))
		violation.site = (struct check_site){ at->rip, at->rip };
	if (at->object != NULL)
		snprintf(violation.object, sizeof(violation.object), "%s",
		    at->object);
	key = violation_key(&violation, sub);
	if (violation_is_known(core, key))
		return;
	if (core->violation_count == CHECK_VIOLATION_MAX) {
		violation_skip(check, REASON_VIOLATIONS, CHECK_BIT(id));
		return;
	}
	va_start(args, fmt);
	vsnprintf(violation.text, sizeof(violation.text), fmt, args);
	va_end(args);
	core->violation_key[core->violation_count] = key;
	core->violation[core->violation_count++] = violation;
}

size_t
check_count(const struct check *check)
{
	return check->core.violation_count;
}

const struct check_violation *
check_at(const struct check *check, size_t index)
{
	TZ_ASSERT(index < check->core.violation_count);
	return &check->core.violation[index];
}
