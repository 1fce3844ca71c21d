/*
 * Goal: how fast instructions run with packets on, and with the execution log on too,
 * against the bare engine.  Method: the same compiled guest four ways in turn, first
 * unmeasured and then a few times over, in CPU time; what counts is the ratio of the
 * medians.  The bare engine has no hook but the one that ends the run at HLT, and runs the
 * CPUs one after another.
 */
#include "emu/apic/apic.h"
#include "emu/base/exec_log.h"
#include "emu/cpu/engine/engine.h"
#include "emu/machine.h"
#include "emu/profile/cpu_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define RAM_BYTES         (UINT64_C(64) << 20)
#define CODE_PA           0x200000
#define CODE_VA           UINT64_C(0xffffffff80200000)
#define TABLES_PA         0x700000
#define REGION_PA         0x2000000
#define REGION_BYTES      0x400000
#define REGION_SIZE_FIELD (10u << 6)
#define CR3               0x1000
#define REPEATS           5

enum way { WAY_BARE, WAY_PACKETS, WAY_COST, WAY_TRUTH, WAY_COUNT };

static const char *const way_names[] = { "bare engine", "packets on",
	"packets, cost model", "packets and log on" };

struct program {
	uint8_t bytes[65536];
	size_t count;
};

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void
put64(uint8_t *ram, uint64_t pa, uint64_t value)
{
	memcpy(ram + pa, &value, sizeof(value));
}

/* Tables: RAM at -2 GiB, code read-only; the local APIC 1 GiB above. */
static void
fill_ram(uint8_t *ram, const struct program *program)
{
	put64(ram, CR3 + 511 * 8, 0x2003);
	put64(ram, 0x2000 + 510 * 8, 0x3003);
	for (uint64_t i = 0; i < RAM_BYTES >> 21; i++)
		put64(ram, 0x3000 + i * 8, i << 21 | (i == 1 ? 0x81 : 0x83));
	put64(ram, 0x3000 + 503 * 8, APIC_PA | 0x83);
	memcpy(ram + CODE_PA, program->bytes, program->count);
	for (uint64_t cpu = 0; cpu < MACHINE_CPUS_MAX; cpu++) {
		uint64_t table = TABLES_PA + cpu * 0x1000;

		put64(ram, table,
		    (REGION_PA + cpu * REGION_BYTES) | REGION_SIZE_FIELD);
		put64(ram, table + 8, table | 1);
	}
}

static void
stop_at_halt(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg)
{
	struct engine **engine = arg;

	(void)uc;
	(void)size;
	engine_stop(*engine, va);
}

static uint64_t
no_read(void *arg, uint64_t offset, unsigned bytes)
{
	(void)arg;
	(void)offset;
	(void)bytes;
	return 0;
}

static void
no_write(void *arg, uint64_t offset, unsigned bytes, uint64_t value)
{
	(void)arg;
	(void)offset;
	(void)bytes;
	(void)value;
}

/* The address of the program's only CLI, which stands before its HLT. */
static uint64_t
halt_va(const struct program *program)
{
	for (size_t i = 0; i + 1 < program->count; i++) {
		if (program->bytes[i] == 0xfa && program->bytes[i + 1] == 0xf4)
			return CODE_VA + i;
	}
	abort();
}

static double
time_bare(const struct program *program, unsigned cpus)
{
	double time = 0;

	for (uint64_t cpu = 0; cpu < cpus; cpu++) {
		struct engine *engine = NULL;
		struct engine_ops ops = {
			.arg = &engine,
			.site = stop_at_halt,
			.mmio_read = no_read,
			.mmio_write = no_write,
		};
		struct engine_site halt = { .va = halt_va(program),
			.last_va = halt_va(program) };
		uint8_t *ram = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		double start;

		if (ram == MAP_FAILED)
			abort();
		fill_ram(ram, program);
		engine = engine_create(
		    ram, RAM_BYTES, APIC_PA, &ops, false, NULL);
		if (engine == NULL)
			abort();
		engine_reset(engine, CR3);
		engine_set(engine, ENGINE_RSI, cpu);
		engine_set(engine, ENGINE_RIP, CODE_VA);
		engine_hook(engine, &halt);
		start = seconds();
		if (engine_run(engine) != ENGINE_STOPPED)
			abort();
		time += seconds() - start;
		engine_destroy(engine);
		munmap(ram, RAM_BYTES);
	}
	return time;
}

static int
drop_words(void *arg, const uint32_t *words, size_t count)
{
	(void)words;
	*(size_t *)arg += count;
	return 0;
}

static double
time_machine(const struct program *program, unsigned cpus, bool with_exec_log,
    bool cost, uint64_t *insns)
{
	struct cpu_set cpu_set;
	struct machine_config config = {
		.cpu_set = &cpu_set,
		.cpu_count = cpus,
		.ram_bytes = RAM_BYTES,
	};
	struct machine_observer observer = { 0 };
	struct exec_log *exec_log[MACHINE_CPUS_MAX] = { 0 };
	struct machine_result result;
	struct machine *machine;
	size_t words = 0;
	double start;

	cpu_set_set(&cpu_set, profile_find("skylake"));
	if (cost)
		cpu_set_use_cost(&cpu_set);
	if (machine_create(&config, &observer, &machine, NULL) != 0)
		abort();
	fill_ram(machine_ram(machine), program);
	for (unsigned cpu = 0; with_exec_log && cpu < cpus; cpu++) {
		exec_log[cpu] = exec_log_create(drop_words, &words);
		machine_set_exec_log(machine, cpu, exec_log[cpu]);
	}
	machine_boot(machine, CODE_VA, 1, (struct gpa){ CR3 });
	start = seconds();
	machine_run(machine, 0, &result);
	start = seconds() - start;
	if (result.end != MACHINE_DEADLOCK) {
		fprintf(stderr, "the guest ended otherwise: %s\n", result.text);
		exit(1);
	}
	*insns = 0;
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		struct machine_counters counters;

		machine_counters(machine, cpu, &counters);
		*insns += counters.insns;
		exec_log_destroy(exec_log[cpu]);
	}
	machine_destroy(machine);
	return start;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
time_way(
    const struct program *program, unsigned cpus, enum way way, uint64_t *insns)
{
	if (way == WAY_BARE)
		return time_bare(program, cpus);
	return time_machine(
	    program, cpus, way == WAY_TRUTH, way == WAY_COST, insns);
}

static void
measure(const struct program *program, unsigned cpus)
{
	double time[WAY_COUNT][REPEATS];
	uint64_t insns = 0;

	for (int i = -1; i < REPEATS; i++)
		for (int way = 0; way < WAY_COUNT; way++)
			time[way][i < 0 ? 0 : i] = time_way(
			    program, cpus, (enum way)way, &insns);
	for (int way = 0; way < WAY_COUNT; way++) {
		double *sorted = time[way], m = (double)insns / 1e6;

		qsort(sorted, REPEATS, sizeof(double), compare_doubles);
		printf(
		    "%u vCPU%s  %-20s %6.0f M insn/s (%.0f to %.0f)  %.2f of "
		    "bare\n",
		    cpus, cpus == 1 ? " " : "s", way_names[way],
		    m / sorted[REPEATS / 2], m / sorted[REPEATS - 1],
		    m / sorted[0],
		    time[WAY_BARE][REPEATS / 2] / sorted[REPEATS / 2]);
	}
}

int
main(int argc, char **argv)
{
	static struct program program;
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;

	if (file == NULL) {
		fprintf(stderr, "usage: engine_bench GUEST\n");
		return 2;
	}
	program.count = fread(program.bytes, 1, sizeof(program.bytes), file);
	fclose(file);
	for (unsigned cpus = 1; cpus <= 4; cpus *= 2)
		measure(&program, cpus);
	return 0;
}
