/*
 * The clock: hardclock() on every CPU at each tick, and what is measured in ticks.  The
 * boot parameter tick=N is a tick's length in cycles of the TSC.
 */
#include <sys/kernel.h>
#include <sys/pcpu.h>
#include <sys/systm.h>
#include <sys/time.h>

#include "harness/guest/lib.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd8/kpi8.h"

#define TICK_CYCLES 50000

static uint64_t tick_cycles;

static void
hardclock(void)
{
	if (PCPU_GET(cpuid) == 0)
		ticks++;
	kpi_pmc_tick();
}

void
kpi_clock_init(void)
{
	tick_cycles = boot_option("tick", TICK_CYCLES);
	if (tick_cycles == 0)
		panic("tick=0: the clock needs at least a cycle");
	task_set_clock(tick_cycles, hardclock);
}

int
pause(const char *wmesg, int count)
{
	static char channel;

	(void)wmesg;
	return (task_sleep(&channel, NULL, false,
	    tick_cycles * (uint64_t)(count > 0 ? count : 1)));
}

void
getnanotime(struct timespec *ts)
{
	uint64_t now = (uint64_t)(u_int)ticks;

	ts->tv_sec = (long)(now / (u_int)hz);
	ts->tv_nsec = (long)(now % (u_int)hz * (1000000000u / (u_int)hz));
}
