#include "tests/unit/check/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* What check_reads returns; one test runs at a time. */
static struct machine_pt rig_pt;
static unsigned rig_context;

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

/* Every table is one of output entries without an end. */
static bool
rig_word(void *arg, uint64_t pa, uint64_t *value)
{
	(void)arg;
	*value = UINT64_C(0x4000) | 0x4;
	return pa % 8 == 0;
}

static const char *
rig_pt_error(void *arg, unsigned cpu)
{
	(void)arg;
	(void)cpu;
	return "for no reason";
}

struct check *
rig_create(bool positions)
{
	struct check_config config = {
		.positions = positions,
		.reads = { NULL, rig_translate, rig_rip, rig_read_pt, rig_word,
		    rig_pt_error },
		.cpu_count = 2,
		.ram_bytes = 0x1000000,
		.driver_text = { { RIG_TEXT, RIG_TEXT + RIG_PAGE } },
		.driver_data = { { RIG_DATA, RIG_DATA + 0x100 } },
		.kernel_data = { { RIG_KDATA, RIG_KDATA + RIG_PAGE } },
		.enabled = check_all(),
	};
	struct check *check = check_create(&config);

	assert_non_null(check);
	rig_pt = (struct machine_pt){ .mask_ptrs = 0x7f };
	rig_context = 0;
	rig_play(check, rig_memory);
	check_begin(check);
	rig_play(check, rig_names);
	return check;
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
	} else if (step->op == RIG_REGION_AT) {
		rig_pt.output_base = step->a;
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
	else if (step->op == RIG_STARTED)
		check_started(check, (unsigned)step->a);
	else if (step->op == RIG_STOPPED)
		check_stopped(check, (unsigned)step->a);
	else if (step->op == RIG_REREADING)
		check_rereading(check, step->a);
	else if (step->op == RIG_COLLECTED)
		check_collected(check, step->a);
	else if (step->op == RIG_EXPECT)
		check_configured(check, rig_context, &expect, 1);
	else if (step->op == RIG_CONTEXT)
		rig_context = (unsigned)step->a;
	else if (step->op == RIG_NAMED)
		check_named(check, step->a, rig_context);
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
		struct machine_step step = {
			.rip = steps->a,
			.store_bytes = 8,
			.store_va = steps->b,
		};

		if (steps->op == RIG_EVENT)
			check_event(check, &event);
		else if (steps->op == RIG_STORE)
			check_step(check, &step);
		else if (steps->op == RIG_CTL || steps->op == RIG_STATUS ||
		    steps->op == RIG_TABLE_AT || steps->op == RIG_REGION_AT)
			rig_registers(steps);
		else if (steps->op == RIG_ENDS || steps->op == RIG_PANICS)
			rig_end(check, steps);
		else
			rig_hint(check, steps);
	}
}
