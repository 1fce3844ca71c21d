#include "tests/unit/check/rig.h"
#include "emu/base/rtit.h"
#include "harness/check/msr.h"
#include "harness/guest/memory/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RIG_PAGES 4096

/* What check_reads returns; one test runs at a time. */
static struct machine_pt rig_pt;
static struct frame rig_frame[RIG_PAGES];
static unsigned rig_context;
static uint64_t rig_thread[2]; /* that runs, and the next */

/* Where the function NAME is: the same for the same name. */
static uint64_t
rig_callee(const char *name)
{
	size_t first = 0;

	while (strcmp(check_callee_name(first), name) != 0)
		first++;
	return RIG_SITE + 16 * (first + 1);
}

/* Pages behind RIG_MAPPED lie two apart. */
static bool
rig_translate(void *arg, unsigned cpu, struct gva va, uint64_t *pa)
{
	(void)arg;
	(void)cpu;
	if (va.u >= ABI_KERNBASE)
		*pa = va.u - ABI_KERNBASE;
	else if (va.u >= RIG_MAPPED)
		*pa = 0x80000 + (va.u - RIG_MAPPED) / RIG_PAGE * 2 * RIG_PAGE +
		    va.u % RIG_PAGE;
	else if (va.u >= ABI_DMAP)
		*pa = va.u - ABI_DMAP;
	else
		return false;
	return true;
}

static uint64_t
rig_rip(void *arg, unsigned cpu)
{
	(void)arg;
	return 0x1000 + cpu;
}

static void
rig_read_pt(void *arg, unsigned cpu, struct machine_pt *pt)
{
	(void)arg;
	(void)cpu;
	*pt = rig_pt;
}

static const struct rig_step rig_memory[] = {
	EV(ALLOC, ABI_DMAP + RIG_TABLE, 64, RIG_TEXT + 8),
	EV(ALLOC, ABI_DMAP + RIG_BUFFER, RIG_PAGE, RIG_SITE),
	EV(ALLOC, ABI_DMAP + RIG_BUFFER + RIG_PAGE, RIG_PAGE, RIG_SITE),
	EV(ALLOC, ABI_DMAP + RIG_BUFFER + 2 * RIG_PAGE, RIG_PAGE, RIG_SITE),
	EV(ALLOC, ABI_DMAP + RIG_BUFFER + 3 * RIG_PAGE, RIG_PAGE, RIG_SITE),
	EV(ALLOC, ABI_DMAP + RIG_OTHER, RIG_PAGE, RIG_SITE + 0x100),
	EV(ALLOC, ABI_DMAP + RIG_FREED, RIG_PAGE, RIG_SITE),
	EV(FREE, ABI_DMAP + RIG_FREED, 0, RIG_SITE),
	EV(STACK, RIG_STACK, 0x100, ABI_STACK_TASK),
	{ 0 },
};

static const struct rig_step rig_names[] = {
	EV(BUFFER, 0, RIG_BUFFER, RIG_PAGE),
	EV(BUFFER, 0, RIG_BUFFER + RIG_PAGE, RIG_PAGE),
	EV(BUFFER, 0, RIG_BUFFER + 2 * RIG_PAGE, RIG_PAGE),
	EV(BUFFER, 0, RIG_BUFFER + 3 * RIG_PAGE, RIG_PAGE),
	{ 0 },
};

/* The entries of the table at RIG_TABLE that a step has set; the others end it. */
static uint64_t rig_entry[8];

/* Records of frames; every other table is one of output entries without an end. */
static bool
rig_word(void *arg, uint64_t pa, uint64_t *value)
{
	uint64_t at = pa - RIG_FRAMES;

	(void)arg;
	*value = UINT64_C(0x4000) | 0x4;
	if (at < sizeof(rig_frame)) {
		memcpy(value, (const char *)rig_frame + at, sizeof(*value));
		/* What no step has set is free. */
		if (at % sizeof(struct frame) == 0 && *value == 0)
			*value = FRAME_FREE;
	}
	if (pa - RIG_THREADS < 16)
		*value = ABI_KERNBASE + RIG_THREADS + 0x100 +
		    (pa - RIG_THREADS);
	if (pa - RIG_THREADS - 0x100 < 16)
		*value = rig_thread[(pa - RIG_THREADS - 0x100) / 8] << 32;
	if (pa - RIG_STALE < RIG_PAGE)
		*value = ABI_STALE;
	if (pa - RIG_TABLE < sizeof(rig_entry))
		*value = rig_entry[(pa - RIG_TABLE) / 8] != 0
		    ? rig_entry[(pa - RIG_TABLE) / 8]
		    : RIG_TABLE | 1;
	return pa % 8 == 0;
}

static void
rig_call(struct check *check, const struct rig_step *step)
{
	struct audit_call call = {
		.rip = step->a,
		.arg = { step->b, step->b, step->c },
	};

	for (size_t i = 0; i < check_callee_count(); i++) {
		if (strcmp(check_callee_name(i), step->text) == 0)
			call.function = rig_callee(step->text);
	}
	assert_int_not_equal(call.function, 0);
	check_call(check, &call);
}

static const char *
rig_pt_error(void *arg, unsigned cpu)
{
	(void)arg;
	(void)cpu;
	return "for no reason";
}

static struct check *
rig_make(bool positions, bool rings)
{
	struct check_config config = {
		.positions = positions,
		.rings = rings,
		.exit_code = RIG_EXIT_CODE,
		.reads = { NULL, rig_translate, rig_rip, rig_read_pt, rig_word,
		    rig_pt_error },
		.cpu_count = 2,
		.ram_bytes = 0x1000000,
		.driver_text = { { RIG_TEXT, RIG_TEXT + RIG_PAGE } },
		.driver_data = { { RIG_DATA, RIG_DATA + 0x100 } },
		.kernel_data = { { RIG_KDATA, RIG_KDATA + RIG_PAGE } },
		.stores_to = { { RIG_SHARED, RIG_SHARED + 8 } },
		.stores_to_count = 1,
		.frames_pa = RIG_FRAMES,
		.leaves = { { MSR_RTIT_CR3_MATCH, UINT64_MAX, 0, "CR3_MATCH" },
		    { MSR_XSS, TZ_BIT(8), 0, "XSS" } },
		.leaves_count = 2,
		.enabled = check_all(),
	};
	struct check *check;

	for (size_t i = 0; i < check_callee_count(); i++)
		config.callee[i] = rig_callee(check_callee_name(i));
	memset(rig_frame, 0, sizeof(rig_frame));
	memset(rig_entry, 0, sizeof(rig_entry));
	check = check_create(&config);
	assert_non_null(check);
	rig_pt = (struct machine_pt){ .mask_ptrs = 0x7f, .lvt_pc = 1u << 16 };
	rig_context = 0;
	memset(rig_thread, 0, sizeof(rig_thread));
	rig_play(check, rig_memory);
	check_begin(check);
	rig_play(check, rig_names);
	return check;
}

struct check *
rig_create(bool positions)
{
	return rig_make(positions, false);
}

struct check *
rig_create_rings(void)
{
	return rig_make(false, true);
}

static void
rig_set_frame(const struct rig_step *step)
{
	struct frame *frame = &rig_frame[step->a / RIG_PAGE];

	frame->kind = (uint8_t)step->b;
	frame->bucket = (uint8_t)(step->b >> 8);
	frame->taken[0] = step->c;
}

static void
rig_end(struct check *check, const struct rig_step *step)
{
	struct machine_result result = {
		.end = (enum machine_end)step->a,
		.code = (int)step->b,
	};

	if (step->op == RIG_PANICS) {
		result.end = MACHINE_PANIC;
		strncpy(result.text, step->text, sizeof(result.text) - 1);
	}
	check_end(check, &result, step->c != 0);
}

static void
rig_registers(const struct rig_step *step)
{
	rig_pt = (struct machine_pt){ .mask_ptrs = 0x7f };
	if (step->op == RIG_CTL) {
		rig_pt.trigger_en = true;
		rig_pt.global_status = step->a;
		rig_pt.lvt_pc = (uint32_t)step->b;
		rig_pt.mask_ptrs = step->c;
	} else if (step->op == RIG_COUNTS) {
		rig_pt.global_status = step->a;
		rig_pt.lvt_pc = (uint32_t)step->b;
		rig_pt.interrupting = step->c & ~RIG_BRANCHES;
		rig_pt.counting = rig_pt.interrupting & ~RIG_SAMPLES;
		rig_pt.branches_interrupt = (step->c & RIG_BRANCHES) != 0;
	} else if (step->op == RIG_IN_NMI) {
		rig_pt.in_nmi = true;
		rig_pt.counting = step->a;
	} else if (step->op == RIG_XSS) {
		rig_pt.lvt_pc = 1u << 16;
		rig_pt.xss = step->a;
	} else if (step->op == RIG_REGION_AT) {
		rig_pt.output_base = step->a;
	} else if (step->op == RIG_RANGE) {
		rig_pt.ctl = TZ_BIT(32);
	} else if (step->op == RIG_TABLE_AT) {
		rig_pt.ctl = TZ_BIT(8);
		rig_pt.output_base = step->a;
	} else {
		rig_pt.global_status = TZ_BIT(55);
		rig_pt.cr3_match = step->a;
		rig_pt.addr_a[0] = step->b;
		rig_pt.status = step->c;
	}
}

static void
rig_hint(struct check *check, const struct rig_step *step)
{
	struct check_expect expect = {
		.msr = (uint32_t)step->a,
		.mask = step->b,
		.value = step->c,
		.field = "field",
	};

	if (step->op == RIG_STARTING)
		check_starting(check);
	else if (step->op == RIG_UNTRACED)
		check_untraced(check);
	else if (step->op == RIG_FOLLOWED)
		check_followed(check);
	else if (step->op == RIG_FILLING)
		check_filling(check, (unsigned)step->a, "a buffer is open");
	else if (step->op == RIG_UNSERVED)
		check_unserved(check, (unsigned)step->a);
	else if (step->op == RIG_NEVER_FILLED)
		check_never_filled(check);
	else if (step->op == RIG_KEPT)
		check_kept(check, (unsigned)step->a);
	else if (step->op == RIG_STARTED)
		check_started(check, (unsigned)step->a);
	else if (step->op == RIG_STOPPED)
		check_stopped(check, (unsigned)step->a);
	else if (step->op == RIG_ANSWERED)
		check_answered_wrongly(check, step->a != 0, "set", "ctl");
	else if (step->op == RIG_FILLED_IN)
		check_filled_in(check, "state", "flags", step->a, step->b);
	else if (step->op == RIG_ERROR)
		check_failed_wrongly(check, "set", step->a, step->b);
	else if (step->op == RIG_REREADING)
		check_rereading(check, step->a);
	else if (step->op == RIG_COLLECTED)
		check_collected(check, step->a);
	else if (step->op == RIG_EXPECT)
		check_configured(check, rig_context, &expect, 1);
	else if (step->op == RIG_CONTEXT)
		rig_context = (unsigned)step->a;
	else if (step->op == RIG_RUNS)
		memcpy(rig_thread, &step->a, sizeof(rig_thread));
	else if (step->op == RIG_NAMED)
		check_named(check, step->a, rig_context);
	else if (step->op == RIG_HANDED)
		check_handed(check, step->a);
	else if (step->op == RIG_PERIOD)
		check_period(check, step->a);
	else if (step->op == RIG_FAILED)
		check_failed(check, "set", step->a);
	else
		check_unloaded(check);
}

void
rig_play(struct check *check, const struct rig_step *steps)
{
	for (; steps->op != RIG_NONE; steps++) {
		struct event event = {
			.kind = (uint16_t)steps->kind,
			.cpu = (uint16_t)steps->cpu,
			.a = steps->a,
			.b = steps->b,
			.c = steps->c,
		};
		struct audit_access access = {
			.rip = steps->a,
			.va = steps->b,
			.bytes = 8,
			.write = steps->op == RIG_STORE,
		};

		if (steps->op == RIG_EVENT)
			check_event(check, &event);
		else if (steps->op == RIG_STORE || steps->op == RIG_LOAD)
			check_access(check, &access);
		else if (steps->op == RIG_CALL)
			rig_call(check, steps);
		else if (steps->op == RIG_FRAME)
			rig_set_frame(steps);
		else if (steps->op == RIG_WORD)
			rig_entry[steps->a] = steps->b;
		else if (steps->op == RIG_CTL || steps->op == RIG_COUNTS ||
		    steps->op == RIG_IN_NMI || steps->op == RIG_STATUS ||
		    steps->op == RIG_XSS || steps->op == RIG_TABLE_AT ||
		    steps->op == RIG_REGION_AT || steps->op == RIG_RANGE)
			rig_registers(steps);
		else if (steps->op == RIG_ENDS || steps->op == RIG_PANICS)
			rig_end(check, steps);
		else
			rig_hint(check, steps);
	}
}
