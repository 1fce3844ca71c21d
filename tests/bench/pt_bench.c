/*
 * What the PT unit alone costs: the same transfers by the fast path, by
 * pt_unit_transfer(), with time and with a filter; events and bytes a second of CPU
 * time.  The reference is a loop, measured in between, that hands each transfer to an
 * empty function; a ratio of 3.0 is three times as long.
 */
#include "../unit/pt/fake.h"

#include <stdio.h>
#include <time.h>

#define BENCH_EVENTS 4000000
#define BENCH_PLANS  8192
#define BENCH_ROUNDS 5
#define BENCH_BASE   UINT64_C(0xffffffff81000000)

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct bench {
	struct fake *fake;
	struct pt_transfer plan[BENCH_PLANS];
};

typedef void bench_fn(struct bench *bench, uint64_t event);

/* Of ten transfers seven are conditional; calls come with their returns. */
static void
make_plan(struct bench *bench)
{
	uint64_t seed = 88172645463325252, nlip = BENCH_BASE;

	for (size_t i = 0; i < BENCH_PLANS; i++) {
		struct pt_transfer *t = &bench->plan[i];
		uint64_t r = fake_random(&seed);

		*t = (struct pt_transfer){ .kind = PT_TRANSFER_COND,
			.taken = r >> 8 & 1,
			.nlip = BENCH_BASE + (r >> 16 & 0xffff) };
		t->after = bench->fake->at;
		t->after.ip = BENCH_BASE + (r >> 32 & 0xffff);
		if (i % 10 == 7) {
			t->kind = PT_TRANSFER_CALL_DIRECT;
			nlip = t->nlip;
		} else if (i % 10 == 8) {
			t->kind = PT_TRANSFER_RET;
			t->after.ip = nlip;
		} else if (i % 10 == 9) {
			t->kind = PT_TRANSFER_JMP_INDIRECT;
		}
	}
}

static void __attribute__((noinline))
nothing(const struct pt_transfer *transfer)
{
	__asm__ volatile("" : : "r"(transfer) : "memory");
}

static void
do_nothing(struct bench *bench, uint64_t event)
{
	nothing(&bench->plan[event % BENCH_PLANS]);
}

static void
do_full(struct bench *bench, uint64_t event)
{
	pt_unit_transfer(bench->fake->unit, &bench->plan[event % BENCH_PLANS]);
}

static void
do_timed(struct bench *bench, uint64_t event)
{
	fake_time(bench->fake, event * 5);
	do_full(bench, event);
}

static void
do_fast(struct bench *bench, uint64_t event)
{
	const struct pt_transfer *t = &bench->plan[event % BENCH_PLANS];
	struct pt_unit *unit = bench->fake->unit;
	bool fast = pt_unit_fast(unit)->fast;

	if (!pt_unit_fast(unit)->steady)
		do_full(bench, event);
	else if (t->kind == PT_TRANSFER_COND && fast)
		pt_unit_fast_cond(unit, t->taken);
	else if (t->kind == PT_TRANSFER_COND)
		pt_unit_steady_cond(unit, t->taken);
	else if (t->kind == PT_TRANSFER_CALL_DIRECT)
		pt_unit_fast_call(unit, t->nlip);
	else if (t->kind == PT_TRANSFER_RET && fast)
		pt_unit_fast_ret(unit, t->after.ip);
	else if (t->kind == PT_TRANSFER_RET)
		pt_unit_steady_ret(unit, t->after.ip);
	else
		pt_unit_steady_tip(unit, t->after.ip);
}

/* The least CPU time of BENCH_ROUNDS; *BYTES: what one of them wrote. */
static double
measure(struct bench *bench, bench_fn *fn, uint64_t ctl, uint64_t *bytes)
{
	double best = 0;

	for (unsigned round = 0; round < BENCH_ROUNDS; round++) {
		double took;

		bench->fake = fake_create();
		fake_wrmsr(bench->fake, 0x580, BENCH_BASE);
		fake_wrmsr(bench->fake, 0x581, BENCH_BASE + 0x1ffff);
		make_plan(bench);
		fake_start(bench->fake, ctl);
		took = now_s();
		for (uint64_t event = 0; event < BENCH_EVENTS; event++)
			fn(bench, event);
		took = now_s() - took;
		pt_unit_sync_output(bench->fake->unit);
		*bytes = bench->fake->stream_bytes;
		best = round == 0 || took < best ? took : best;
		fake_destroy(bench->fake);
	}
	return best;
}

int
main(void)
{
	static const struct {
		const char *name;
		bench_fn *fn;
		uint64_t ctl;
	} rows[] = {
		{ "fast path", do_fast, CTL_PLAIN },
		{ "fast path, filter", do_fast, CTL_PLAIN | TZ_BIT(32) },
		{ "full path", do_full, CTL_PLAIN },
		{ "full path, filter", do_full, CTL_PLAIN | TZ_BIT(32) },
		{ "timed: TSC, MTC, CYC", do_timed,
		    CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN |
			CTL_MTC_FREQ(3) },
	};
	static struct bench bench;
	uint64_t bytes;
	double reference = measure(&bench, do_nothing, CTL_PLAIN, &bytes);

	printf("reference, an empty function: %.2f ns an event\n",
	    reference * 1e9 / BENCH_EVENTS);
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		double took = measure(&bench, rows[i].fn, rows[i].ctl, &bytes);

		printf("%-21s %6.1f M events/s, %6.1f MB/s, "
		       "%5.1f times the reference\n",
		    rows[i].name, BENCH_EVENTS / took / 1e6,
		    (double)bytes / took / 1e6, took / reference);
	}
	return 0;
}
