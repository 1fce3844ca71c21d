/* The callbacks of the invariants (struct check_reads) for the emulated machine. */
#include "harness/check/check.h"

static bool
reads_translate(void *arg, unsigned cpu, struct gva va, uint64_t *pa)
{
	return machine_translate(arg, cpu, va, pa);
}

static uint64_t
reads_rip(void *arg, unsigned cpu)
{
	return machine_rip(arg, cpu);
}

static void
reads_pt(void *arg, unsigned cpu, struct machine_pt *pt)
{
	machine_pt(arg, cpu, pt);
}

static bool
reads_word(void *arg, uint64_t pa, uint64_t *value)
{
	return machine_ram_word(arg, pa, value);
}

static const char *
reads_pt_error(void *arg, unsigned cpu)
{
	return machine_pt_error_text(arg, cpu);
}

struct check_reads
check_reads_machine(struct machine *machine)
{
	return (struct check_reads){
		.arg = machine,
		.translate = reads_translate,
		.rip = reads_rip,
		.pt = reads_pt,
		.word = reads_word,
		.pt_error = reads_pt_error,
	};
}
