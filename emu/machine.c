#include "emu/base/exec_log.h"
#include "emu/board/layout.h"
#include "emu/hypercall.h"
#include "emu/machine_state.h"
#include "emu/profile/cpu_set.h"

#include <stdlib.h>
#include <string.h>

#define RAM_UNIT (UINT64_C(2) << 20)
#define RAM_MAX  MACHINE_SMRAM_PA

static void
on_event(void *arg, const struct event *event)
{
	machine_emit(arg, event);
}

static void
on_step(void *arg, unsigned cpu, const struct cpu_step *from)
{
	struct machine *machine = arg;
	struct machine_step step = {
		.cpu = cpu,
		.insns = cpu_insns(machine->slot[cpu].cpu),
		.rip = from->rip,
		.cpl = from->cpl,
		.trigger_en = from->trigger_en,
		.in_nmi = from->in_nmi,
		.interrupts = from->interrupts,
		.local = from->local,
		.split = from->split,
		.counts = from->counts,
	};

	if (machine->observer.step != NULL)
		machine->observer.step(machine->observer.arg, &step);
}

static void
on_access(void *arg, const struct audit_access *access)
{
	const struct machine *machine = arg;

	if (machine->observer.access != NULL)
		machine->observer.access(machine->observer.arg, access);
}

static void
on_call(void *arg, const struct audit_call *call)
{
	const struct machine *machine = arg;

	if (machine->observer.call != NULL)
		machine->observer.call(machine->observer.arg, call);
}

static const uint64_t *
on_written(void *arg, uint32_t *epoch)
{
	struct machine *machine = arg;

	return memory_written(&machine->memory, epoch);
}

static void
on_over(void *arg, unsigned cpu, enum cpu_over why, const char *text)
{
	static const enum machine_end ends[] = {
		[CPU_OVER_UNMODELLED] = MACHINE_UNMODELLED,
		[CPU_OVER_TRIPLE_FAULT] = MACHINE_TRIPLE_FAULT,
		[CPU_OVER_ENGINE] = MACHINE_ENGINE,
	};

	machine_end_run(arg, ends[why], cpu, 0, text);
}

static void
sync_output(void *arg)
{
	machine_sync_output(arg);
}

/* An access of CPU that no device of the board knows. */
static void
note_unknown(struct machine *machine, unsigned cpu, enum unknown_access access,
    uint32_t index, uint64_t value)
{
	struct unknown unknown = {
		.access = access,
		.index = index,
		.cpu = cpu,
		.rip = cpu_rip(machine->slot[cpu].cpu),
		.insns = cpu_insns(machine->slot[cpu].cpu),
		.value = value,
	};

	unknown_note(&machine->board.unknowns, &unknown);
}

static bool
on_unknown_msr(
    void *arg, unsigned cpu, bool write, uint32_t msr, uint64_t value)
{
	struct machine *machine = arg;

	if (!machine->config.board)
		return false;
	note_unknown(
	    machine, cpu, write ? UNKNOWN_WRMSR : UNKNOWN_RDMSR, msr, value);
	return true;
}

static void
on_breakpoint(void *arg, unsigned cpu, uint64_t value)
{
	note_unknown(arg, cpu, UNKNOWN_MOV_DR, 7, value);
}

static bool
on_in(void *arg, unsigned cpu, int port, unsigned bytes, uint32_t *value)
{
	struct machine *machine = arg;
	uint64_t seconds;

	if (!machine->config.board)
		return false;
	seconds = cpu_tsc(machine->slot[cpu].cpu) /
	    (cpu_set_of(&machine->cpu_set, cpu)->cbr * UINT64_C(100000000));
	if (!board_in(&machine->board, port, bytes, seconds, value).known)
		note_unknown(machine, cpu, UNKNOWN_IN, (uint32_t)port, 0);
	return true;
}

static void
out_to_board(struct machine *machine, unsigned cpu, int port, unsigned bytes,
    uint32_t value)
{
	struct board_effect effect = board_out(
	    &machine->board, port, bytes, value);

	if (!effect.known)
		note_unknown(machine, cpu, UNKNOWN_OUT, (uint32_t)port, value);
	if (effect.sent && machine->observer.console != NULL)
		machine->observer.console(
		    machine->observer.arg, (char)effect.byte);
	if (effect.power == POWER_OFF)
		machine_end_run(
		    machine, MACHINE_OFF, cpu, 0, "the guest powered off");
	else if (effect.power == POWER_RESET)
		machine_end_run(machine, MACHINE_RESET, cpu, 0,
		    "the guest reset the machine");
	else if (effect.power == POWER_SLEEP)
		machine_end_run(machine, MACHINE_UNMODELLED, cpu, 0,
		    "a sleep state other than soft-off");
}

static bool
on_out(void *arg, unsigned cpu, int port, unsigned bytes, uint32_t value)
{
	struct machine *machine = arg;
	struct hypercall hypercall = {
		.ram = machine->memory.ram,
		.ram_bytes = machine->config.ram_bytes,
		.cpu = machine->slot[cpu].cpu,
		.cpu_id = cpu,
		.observer = &machine->observer,
		.stacks = &machine->stacks,
		.sync_output = sync_output,
		.arg = machine,
	};
	struct hypercall_end end;

	if (machine->config.board) {
		out_to_board(machine, cpu, port, bytes, value);
		return true;
	}
	if (!hypercall_out(&hypercall, port, bytes, value, &end))
		return false;
	if (end.ended) {
		machine_end_run(machine,
		    end.panic ? MACHINE_PANIC : MACHINE_EXIT, cpu, end.code,
		    end.text);
		if (end.panic) {
			machine->result->rip = end.rip;
			machine->result->rbp = end.rbp;
		}
	}
	return true;
}

static int
check_config(const struct machine_config *config, struct tz_error *err)
{
	if (config->cpu_count < 1 || config->cpu_count > MACHINE_CPUS_MAX)
		return tz_error(err, TZ_EUSAGE, "%u CPUs: 1 to %d are possible",
		    config->cpu_count, MACHINE_CPUS_MAX);
	if (config->ram_bytes < RAM_UNIT || config->ram_bytes > RAM_MAX ||
	    config->ram_bytes % RAM_UNIT != 0)
		return tz_error(err, TZ_EUSAGE,
		    "%llu bytes of RAM: a multiple of 2 MiB up to 3 GiB is "
		    "possible",
		    (unsigned long long)config->ram_bytes);
	if (config->core_cbr > 0xff)
		return tz_error(err, TZ_EUSAGE,
		    "core:bus ratio %u: 1 to 255 are possible",
		    config->core_cbr);
	TZ_ASSERT(config->cpu_set != NULL);
	return pt_cycles_check(&config->pt_cycles, err);
}

int
machine_create(const struct machine_config *config,
    const struct machine_observer *observer, struct machine **out,
    struct tz_error *err)
{
	struct machine *machine;
	int error = check_config(config, err);

	if (error != 0)
		return error;
	machine = calloc(1, sizeof(*machine));
	if (machine == NULL)
		return tz_error(err, TZ_EIO, "out of memory for a machine");
	machine->config = *config;
	if (machine->config.quantum_cycles == 0)
		machine->config.quantum_cycles = MACHINE_QUANTUM_CYCLES;
	if (machine->config.look_cycles == 0)
		machine->config.look_cycles = MACHINE_LOOK_CYCLES;
	machine->observer = *observer;
	machine->cpu_set = *config->cpu_set;
	machine->config.cpu_set = &machine->cpu_set;
	if (!memory_create(&machine->memory, config->ram_bytes)) {
		free(machine);
		return tz_error(err, TZ_EIO, "no memory for guest RAM");
	}
	for (unsigned i = 0; i < config->cpu_count; i++) {
		struct cpu_config cpu = {
			.id = i,
			.cpu_count = config->cpu_count,
			.profile = cpu_set_of(&machine->cpu_set, i),
			.ram = machine->memory.ram,
			.ram_bytes = config->ram_bytes,
			.single_step = config->single_step,
			.board = config->board,
			.core_cbr = config->core_cbr,
			.pt_cycles = config->pt_cycles,
			.restricted = { MACHINE_SMRAM_PA },
			.restricted_bytes = MACHINE_SMRAM_BYTES,
			.port = { machine, on_event, machine_on_ipi, on_out,
			    on_in, on_unknown_msr, on_breakpoint, on_over,
			    on_step, on_access, on_call, on_written },
		};

		machine->slot[i].cpu = cpu_create(&cpu, err);
		machine->slot[i].parked = true;
		if (machine->slot[i].cpu == NULL) {
			machine_destroy(machine);
			return -TZ_EIO;
		}
	}
	*out = machine;
	return 0;
}

void
machine_destroy(struct machine *machine)
{
	if (machine == NULL)
		return;
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_destroy(machine->slot[i].cpu);
	memory_destroy(&machine->memory);
	free(machine);
}

uint8_t *
machine_ram(struct machine *machine)
{
	return machine->memory.ram;
}

void
machine_wrote_code(struct machine *machine)
{
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_see_writes(machine->slot[i].cpu);
}

void
machine_set_exec_log(
    struct machine *machine, unsigned cpu, struct exec_log *exec_log)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	cpu_set_exec_log(machine->slot[cpu].cpu, exec_log);
	if (exec_log != NULL && exec_log_allows_gaps(exec_log))
		machine_tell_monitors(machine, cpu);
}

void
machine_tell_monitors(struct machine *machine, unsigned cpu)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	cpu_tell_monitors(machine->slot[cpu].cpu);
}

void
machine_boot(
    struct machine *machine, uint64_t entry, uint64_t boot_info, struct gpa cr3)
{
	machine->entry = entry;
	machine->boot_info = boot_info;
	machine->boot_cr3 = cr3;
	board_reset(&machine->board);
	machine_start_cpu(machine, 0, 0);
}

size_t
machine_receive(struct machine *machine, const uint8_t *bytes, size_t count)
{
	TZ_ASSERT(machine->config.board && machine->result == NULL);
	return uart_asks(&machine->board.uart)
	    ? uart_receive(&machine->board.uart, bytes, count)
	    : 0;
}

const struct unknowns *
machine_unknowns(const struct machine *machine)
{
	TZ_ASSERT(machine->config.board);
	return &machine->board.unknowns;
}

void
machine_counters(const struct machine *machine, unsigned cpu,
    struct machine_counters *counters)
{
	const struct cpu *from = machine->slot[cpu].cpu;

	TZ_ASSERT(cpu < machine->config.cpu_count);
	*counters = (struct machine_counters){
		.insns = cpu_insns(from),
		.cycles = cpu_cycles(from),
		.trace_bytes = cpu_trace_bytes(from),
		.pmis = cpu_pmi_count(from),
		.nmis = cpu_nmi_count(from),
		.trace_on = cpu_trace_on(from),
		.kernel_insns = cpu_kernel_insns(from),
		.unknown_cost = cpu_unknown_cost(from),
	};
}

bool
machine_read(struct machine *machine, unsigned cpu, struct gva va, void *bytes,
    size_t count)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	return cpu_read(machine->slot[cpu].cpu, va, bytes, count);
}

void
machine_sync_output(struct machine *machine)
{
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_sync_output(machine->slot[i].cpu);
}

const char *
machine_pt_error_text(const struct machine *machine, unsigned cpu)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	return cpu_pt_error(machine->slot[cpu].cpu);
}

bool
machine_ram_word(struct machine *machine, uint64_t pa, uint64_t *value)
{
	if (pa % 8 != 0 || pa > machine->config.ram_bytes - sizeof(*value))
		return false;
	memcpy(value, machine_ram(machine) + pa, sizeof(*value));
	return true;
}
