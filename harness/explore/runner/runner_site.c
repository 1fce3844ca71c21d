/*
 * Finds the driver's functions on a CPU's stack.
 */
#include <string.h>

#include "harness/explore/runner/runner_internal.h"

#define FRAMES_MAX 32

struct site_walk {
	struct runner *runner;
	unsigned cpu;
	/* RIP of the frame looked at before, which the current one called */
	uint64_t inner;
	struct check_site site;
	bool left; /* the outermost of the driver's frames was passed */
};

static bool
read_guest(void *arg, uint64_t va, void *bytes, size_t count)
{
	const struct site_walk *walk = arg;

	return machine_read(
	    walk->runner->machine, walk->cpu, (struct gva){ va }, bytes, count);
}

/* True if RIP is in the kernel's entry code for interrupts and exceptions. */
static bool
is_interrupt_entry(struct runner *runner, uint64_t rip)
{
	struct symbol_place place;

	symbols_find(runner->symbols, rip, NULL, &place);
	return place.name != NULL &&
	    (strcmp(place.name, "trap_entry") == 0 ||
		strcmp(place.name, "trap_paranoid_entry") == 0);
}

static void
look_at_frame(void *arg, unsigned level, uint64_t rip)
{
	struct site_walk *walk = arg;
	bool own = runner_in_driver(walk->runner, rip);

	if (own && !walk->left) {
		/* A return address is after the call; an interrupted RIP is the
		 * instruction itself. */
		if (level != 0 &&
		    !is_interrupt_entry(walk->runner, walk->inner))
			rip--;
		if (walk->site.rip == 0)
			walk->site.rip = rip;
		walk->site.entry = rip;
	}
	walk->left |= !own && walk->site.rip != 0;
	walk->inner = rip;
}

static struct check_site
walk_stack(struct runner *runner, unsigned cpu, uint64_t rip, uint64_t rbp)
{
	struct site_walk walk = { .runner = runner, .cpu = cpu };

	symbols_backtrace(
	    rip, rbp, FRAMES_MAX, read_guest, look_at_frame, &walk);
	return walk.site;
}

struct check_site
runner_site(void *arg, unsigned cpu)
{
	struct runner *runner = arg;

	if (runner->ending && runner->result.cpu == cpu)
		return walk_stack(
		    runner, cpu, runner->result.rip, runner->result.rbp);
	return walk_stack(runner, cpu, machine_rip(runner->machine, cpu),
	    machine_rbp(runner->machine, cpu));
}

/*
 * Accesses are reported at the end of their block, which may have returned since: RBP
 * is that of the access.
 */
struct check_site
runner_access_site(void *arg, unsigned cpu, uint64_t rip)
{
	struct runner *runner = arg;

	return walk_stack(
	    runner, cpu, rip, machine_audit_frame(runner->machine, cpu));
}
