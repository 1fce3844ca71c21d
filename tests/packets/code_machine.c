#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/exec_log.h"
#include "emu/guest_abi.h"
#include "emu/profile/cpu_set.h"
#include "tests/packets/code.h"

#define PTE_P     TZ_BIT(0)
#define PTE_W     TZ_BIT(1)
#define PTE_U     TZ_BIT(2)
#define PTE_PS    TZ_BIT(7)
#define APIC_PA   UINT64_C(0xfee00000)
#define CODE_MAX  0x20000
#define IDT_GATES 128

static void
put(const struct code_run *run, uint64_t pa, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		run->guest.ram[pa + i] = (uint8_t)(value >> (8 * i));
}

/* 2 MiB pages, linear as physical; the second PML4 differs by its address alone. */
static void
make_pages(const struct code_run *run)
{
	const uint64_t all = PTE_P | PTE_W | PTE_U;

	put(run, CODE_PML4, 0x2000 | all);
	put(run, CODE_CR3_OTHER, 0x2000 | all);
	put(run, 0x2000, 0x3000 | all);
	put(run, 0x2000 + 3 * 8, 0x4000 | all);
	for (uint64_t pa = 0; pa < CODE_RAM_BYTES; pa += 0x200000)
		put(run, 0x3000 + (pa >> 21) * 8,
		    pa == CODE_ABSENT      ? 0
			: pa == CODE_SUPER ? pa | PTE_P | PTE_W | PTE_PS
					   : pa | all | PTE_PS);
	put(run, 0x4000 + tz_bits(APIC_PA, 29, 21) * 8,
	    APIC_PA | PTE_P | PTE_W | PTE_PS);
}

/* Kernel code and data 8 and 10H, user's 2BH and 23H, a TSS for each CPU. */
static void
make_segments(const struct code_run *run)
{
	static const uint64_t flat[] = { 0, 0x00af9a000000ffff,
		0x00cf92000000ffff, 0x00cffa000000ffff, 0x00cff2000000ffff,
		0x00affa000000ffff };

	for (size_t i = 0; i < TZ_ARRAY_LEN(flat); i++)
		put(run, CODE_GDT + 8 * i, flat[i]);
	for (uint64_t cpu = 0; cpu < CODE_CPUS_MAX; cpu++) {
		uint64_t tss = CODE_TSS + 0x100 * cpu;
		uint64_t rsp0 = CODE_STACK - 0x800 + 0x1000 * cpu;

		put(run, CODE_GDT + 0x30 + 16 * cpu,
		    UINT64_C(0x0000890000000067) | tss << 16);
		put(run, tss + 4, rsp0);
		put(run, tss + 96, UINT64_C(104) << 48);
	}
	put(run, CODE_GDTR, (uint64_t)CODE_GDT << 16 | 0x4f);
	put(run, CODE_IDTR, (uint64_t)CODE_IDT << 16 | (16 * IDT_GATES - 1));
}

/* Vectors whose handler the image has; 3, 4 and 30H up are user mode's, too. */
static void
make_gates(const struct code_run *run)
{
	for (uint64_t v = 0; v < IDT_GATES; v++) {
		uint64_t to = CODE_HANDLERS + 0x100 * v;
		bool user = v == 3 || v == 4 || v >= 0x30;

		if (run->guest.ram[to] == 0 || run->guest.ram[to] == 0xcc)
			continue;
		put(run, CODE_IDT + 16 * v,
		    (to & 0xffff) | 8 << 16 |
			(uint64_t)(user ? 0xee00 : 0x8e00) << 32 |
			tz_bits(to, 31, 16) << 48);
	}
}

/* The MSRs that the guest is to write: the vector's and SYSCALL's. */
static void
make_msrs(const struct vector *vector, const struct code_run *run)
{
	static const uint32_t traced[] = { 0x571, 0x560, 0x561, 0x572, 0x580,
		0x581, 0x582, 0x583, 0x584, 0x585, 0x586, 0x587 };
	static const uint64_t calls[][2] = { { 0xc0000081, 0x0018000800000000 },
		{ 0xc0000082, CODE_BASE + 0xc00 }, { 0xc0000084, 0x200 } };

	for (uint64_t cpu = 0; cpu < CODE_CPUS_MAX; cpu++) {
		uint64_t at = CODE_MSRS + 0x400 * cpu;

		for (size_t i = 0; i < TZ_ARRAY_LEN(traced); i++) {
			uint64_t value = 0;

			if (pt_unit_rdmsr(vector->fake->unit, traced[i],
				&value) != FAULT_NONE ||
			    value == 0)
				continue;
			if (traced[i] == 0x560)
				value += 0x1000 * cpu;
			put(run, at, traced[i]);
			put(run, at + 8, value);
			at += 16;
		}
		for (size_t i = 0; i < TZ_ARRAY_LEN(calls); i++) {
			put(run, at, calls[i][0]);
			put(run, at + 8, calls[i][1]);
			at += 16;
		}
	}
	put(run, CODE_CTL, vector->ctl | CTL_TRACE_EN);
}

/* The vector's tables of output regions; CPU 1's are as CPU 0's, elsewhere. */
static void
make_output(const struct vector *vector, const struct code_run *run)
{
	for (uint64_t cpu = 0; cpu < vector->cpus; cpu++) {
		for (uint64_t i = 0; i < VECTOR_TOPA_MAX; i++) {
			uint64_t entry = fake_peek(
			    vector->fake, FAKE_TABLE + 8 * i);
			bool end = entry & ENTRY_END;

			put(run, FAKE_TABLE + 0x1000 * cpu + 8 * i,
			    entry == 0
				? 0
				: entry + (end ? 0x1000 : CODE_SECOND) * cpu);
		}
	}
}

/* Reads FOLDER/NAME.bin to PA. */
static void
load(struct vector *vector, const struct code_run *run, const char *folder,
    const char *name, size_t length, uint64_t pa)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%.*s.bin", folder, (int)length, name);
	file = fopen(path, "rb");
	if (file == NULL) {
		vector_fail(vector, "%s: %s", path, strerror(errno));
		return;
	}
	if (fread(run->guest.ram + pa, 1, CODE_MAX, file) == 0)
		vector_fail(vector, "%s: empty", path);
	fclose(file);
}

static void
on_event(void *arg, const struct event *event)
{
	struct code_run *run = arg;

	if (event->kind != EVENT_OUTPUT)
		return;
	run->stream[event->cpu] = realloc(
	    run->stream[event->cpu], run->bytes[event->cpu] + event->b + 1);
	memcpy(run->stream[event->cpu] + run->bytes[event->cpu],
	    run->guest.ram + event->a, event->b);
	run->bytes[event->cpu] += event->b;
}

/* Looks for the place that a line of `events` names. */
static void
on_step(void *arg, const struct machine_step *step)
{
	struct code_run *run = arg;

	if (!run->probe || run->found || step->cpu != run->probe_cpu ||
	    step->rip != run->probe_rip)
		return;
	if (run->probe_skip != 0) {
		run->probe_skip--;
		return;
	}
	run->found = true;
	run->probe_insns = step->insns;
	machine_pause(run->guest.machine);
}

static int
on_words(void *arg, const uint32_t *words, size_t count)
{
	struct guest_words *to = arg;

	to->word = realloc(to->word, (to->count + count) * sizeof(*to->word));
	memcpy(to->word + to->count, words, count * sizeof(*words));
	to->count += count;
	return 0;
}

void
code_create(struct vector *vector, const char *folder, bool single_step,
    struct code_run *run)
{
	struct cpu_set cpu_set;
	struct machine_config config = {
		.cpu_set = &cpu_set,
		.cpu_count = vector->cpus,
		.ram_bytes = CODE_RAM_BYTES,
		.pt_cycles = vector->cycles,
		.single_step = single_step,
	};
	const struct machine_observer observer = {
		.arg = run, .event = on_event, .step = on_step
	};
	const char *name = strrchr(vector->path, '/');
	struct abi_call call = { .op = ABI_EXIT };
	struct tz_error err;

	name = name == NULL ? vector->path : name + 1;
	cpu_set_set(&cpu_set, &vector->fake->profile);
	if (machine_create(&config, &observer, &run->guest.machine, &err) !=
	    0) {
		vector_fail(vector, "%s", err.text);
		return;
	}
	run->guest.options.cpus = vector->cpus;
	run->guest.ram = machine_ram(run->guest.machine);
	load(vector, run, folder, "prelude", 7, CODE_PRELUDE);
	load(vector, run, folder, name, strlen(name) - 4, CODE_BASE);
	make_pages(run);
	make_segments(run);
	make_gates(run);
	make_msrs(vector, run);
	make_output(vector, run);
	memcpy(run->guest.ram + CODE_CALL, &call, sizeof(call));
	for (unsigned cpu = 0; cpu < vector->cpus && !single_step; cpu++) {
		run->exec_log[cpu] = exec_log_create(
		    on_words, &run->guest.exec_log[cpu]);
		machine_set_exec_log(
		    run->guest.machine, cpu, run->exec_log[cpu]);
	}
	machine_boot(
	    run->guest.machine, CODE_PRELUDE, 0, (struct gpa){ CODE_PML4 });
}

void
code_finish(struct code_run *run)
{
	for (unsigned cpu = 0; cpu < CODE_CPUS_MAX; cpu++) {
		if (run->exec_log[cpu] == NULL)
			continue;
		machine_set_exec_log(run->guest.machine, cpu, NULL);
		TZ_ASSERT(exec_log_flush(run->exec_log[cpu]) == 0);
		exec_log_destroy(run->exec_log[cpu]);
		run->exec_log[cpu] = NULL;
	}
}

void
code_destroy(struct code_run *run)
{
	if (run->guest.machine == NULL)
		return;
	code_finish(run);
	guest_free(&run->guest);
	for (unsigned cpu = 0; cpu < CODE_CPUS_MAX; cpu++)
		free(run->stream[cpu]);
}
