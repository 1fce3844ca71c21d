#include "emu/channel.h"
#include "emu/machine_state.h"
#include "emu/profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RAM_UNIT (UINT64_C(2) << 20)
#define RAM_MAX  (UINT64_C(3) << 30)
#define NEVER    UINT64_MAX

/* Delivery modes of the ICR (SDM vol. 3, 11.6.1 "Interrupt Command Register"). */
enum {
	ICR_FIXED = 0,
	ICR_NMI = 4,
	ICR_INIT = 5,
	ICR_STARTUP = 6,
};
#define ICR_BROADCAST  0xff
#define ICR_LOGICAL    TZ_BIT(11)
#define ICR_ASSERT     TZ_BIT(14)
#define ICR_LEVEL      TZ_BIT(15)
#define ICR_VECTOR_MIN 16

static void
describe_end(struct machine *machine, enum machine_end end, unsigned cpu,
    int code, const char *text)
{
	struct machine_result *result = machine->result;

	*result = (struct machine_result){
		.end = end,
		.code = code,
		.cpu = cpu,
		.rip = cpu_rip(machine->slot[cpu].cpu),
		.rbp = cpu_rbp(machine->slot[cpu].cpu),
	};
	snprintf(result->text, sizeof(result->text), "%s", text);
}

/* The run is over: no CPU goes on. */
static void
end_run(struct machine *machine, enum machine_end end, unsigned cpu, int code,
    const char *text)
{
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_stop_run(machine->slot[i].cpu);
	describe_end(machine, end, cpu, code, text);
}

static void
on_event(void *arg, const struct event *event)
{
	struct machine *machine = arg;

	if (machine->observer.event != NULL)
		machine->observer.event(machine->observer.arg, event);
}

static void
on_over(void *arg, unsigned cpu, enum cpu_over why, const char *text)
{
	static const enum machine_end ends[] = {
		[CPU_OVER_UNMODELLED] = MACHINE_UNMODELLED,
		[CPU_OVER_TRIPLE_FAULT] = MACHINE_TRIPLE_FAULT,
		[CPU_OVER_ENGINE] = MACHINE_ENGINE,
	};

	end_run(arg, ends[why], cpu, 0, text);
}

static void
send_to(struct machine *machine, unsigned from, unsigned to, uint8_t mode,
    uint8_t vector, uint64_t due)
{
	struct slot *slot = &machine->slot[to];
	const struct cpu *source = machine->slot[from].cpu;
	struct event event = {
		.kind = EVENT_IPI,
		.cpu = (uint16_t)from,
		.insns = cpu_insns(source) + (due - cpu_cycles(source)),
		.cycles = due,
		.a = to,
		.b = (uint64_t)mode << 8 | vector,
	};

	on_event(machine, &event);
	if (slot->ipi_count == IPIS_MAX) {
		end_run(machine, MACHINE_UNMODELLED, from, 0,
		    "more than 64 interprocessor interrupts on their way");
		return;
	}
	slot->ipi[slot->ipi_count++] = (struct ipi){ due, mode, vector };
}

static void
on_ipi(void *arg, unsigned cpu, uint32_t icr_low, uint32_t icr_high,
    uint64_t cycles)
{
	struct machine *machine = arg;
	uint8_t mode = (uint8_t)tz_bits(icr_low, 10, 8);
	unsigned shorthand = (unsigned)tz_bits(icr_low, 19, 18);
	uint32_t target = icr_high >> 24;

	if (mode == ICR_INIT && (icr_low & ICR_LEVEL) &&
	    !(icr_low & ICR_ASSERT))
		return;
	if ((mode != ICR_FIXED && mode < ICR_NMI) || mode > ICR_STARTUP ||
	    (shorthand == 0 && (icr_low & ICR_LOGICAL))) {
		end_run(machine, MACHINE_UNMODELLED, cpu, 0,
		    "interprocessor interrupt of another mode than fixed, NMI, "
		    "INIT, start-up, or with a logical destination");
		return;
	}
	if (mode == ICR_FIXED && (uint8_t)icr_low < ICR_VECTOR_MIN) {
		end_run(machine, MACHINE_UNMODELLED, cpu, 0,
		    "interprocessor interrupt with a vector below 16");
		return;
	}
	if (shorthand == 0 && target != ICR_BROADCAST &&
	    target >= machine->config.cpu_count) {
		end_run(machine, MACHINE_UNMODELLED, cpu, 0,
		    "interprocessor interrupt to an absent CPU");
		return;
	}
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		bool self = i == cpu;
		bool meant = shorthand == 0
		    ? target == i || target == ICR_BROADCAST
		    : shorthand == 1 ? self
		    : shorthand == 2 ? true
				     : !self;

		if (meant)
			send_to(
			    machine, cpu, i, mode, (uint8_t)icr_low, cycles);
	}
}

static void
sync_output(void *arg)
{
	machine_sync_output(arg);
}

static bool
on_out(void *arg, unsigned cpu, int port, unsigned bytes, uint32_t value)
{
	struct machine *machine = arg;
	struct channel channel = {
		.ram = machine->ram,
		.ram_bytes = machine->config.ram_bytes,
		.cpu = machine->slot[cpu].cpu,
		.cpu_id = cpu,
		.observer = &machine->observer,
		.sync_output = sync_output,
		.arg = machine,
	};
	struct channel_end end;

	if (!channel_out(&channel, port, bytes, value, &end))
		return false;
	if (end.ended) {
		end_run(machine, end.panic ? MACHINE_PANIC : MACHINE_EXIT, cpu,
		    end.code, end.text);
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
	TZ_ASSERT(config->profile != NULL);
	return 0;
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
	machine->observer = *observer;
	machine->ram_fd = snapshot_make_ram(config->ram_bytes, &machine->ram);
	if (machine->ram_fd < 0) {
		free(machine);
		return tz_error(err, TZ_EIO, "no memory for guest RAM");
	}
	for (unsigned i = 0; i < config->cpu_count; i++) {
		struct cpu_config cpu = {
			.id = i,
			.cpu_count = config->cpu_count,
			.profile = config->profile,
			.ram = machine->ram,
			.ram_bytes = config->ram_bytes,
			.single_step = config->single_step,
			.port = { machine, on_event, on_ipi, on_out, on_over },
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
	snapshot_drop(machine);
	munmap(machine->ram, machine->config.ram_bytes);
	close(machine->ram_fd);
	free(machine);
}

uint8_t *
machine_ram(struct machine *machine)
{
	return machine->ram;
}

void
machine_set_truth(struct machine *machine, unsigned cpu, struct truth *truth)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	cpu_set_truth(machine->slot[cpu].cpu, truth);
}

static void
start_cpu(struct machine *machine, unsigned id, uint64_t at)
{
	struct slot *slot = &machine->slot[id];

	slot->parked = false;
	cpu_start(slot->cpu, machine->entry, machine->boot_info, id,
	    machine->boot_cr3.u);
	cpu_idle_until(slot->cpu, at);
}

void
machine_boot(
    struct machine *machine, uint64_t entry, uint64_t boot_info, struct gpa cr3)
{
	machine->entry = entry;
	machine->boot_info = boot_info;
	machine->boot_cr3 = cr3;
	start_cpu(machine, 0, 0);
}

/* Gives SLOT what is due; the rest stays in order of sending. */
static void
deliver_due(struct machine *machine, unsigned id)
{
	struct slot *slot = &machine->slot[id];
	unsigned kept = 0;

	for (unsigned i = 0; i < slot->ipi_count; i++) {
		struct ipi ipi = slot->ipi[i];

		if (!slot->parked && ipi.due > cpu_cycles(slot->cpu)) {
			slot->ipi[kept++] = ipi;
			continue;
		}
		switch (ipi.mode) {
		case ICR_FIXED:
			if (!slot->parked)
				cpu_interrupt(slot->cpu, ipi.vector);
			break;
		case ICR_NMI:
			if (!slot->parked)
				cpu_nmi(slot->cpu);
			break;
		case ICR_STARTUP:
			if (slot->parked)
				start_cpu(machine, id, ipi.due);
			break;
		default: /* INIT of a parked CPU changes nothing */
			if (!slot->parked)
				end_run(machine, MACHINE_UNMODELLED, id, 0,
				    "INIT of a CPU that runs");
			break;
		}
	}
	slot->ipi_count = kept;
}

/* When CPU ID can go on; NEVER if nothing in sight wakes it. */
static uint64_t
ready_time(struct machine *machine, unsigned id)
{
	struct slot *slot = &machine->slot[id];
	uint64_t due = NEVER, now;

	for (unsigned i = 0; i < slot->ipi_count; i++) {
		if (slot->ipi[i].due < due)
			due = slot->ipi[i].due;
	}
	if (slot->parked)
		return due;
	now = cpu_cycles(slot->cpu);
	if (!cpu_is_asleep(slot->cpu))
		return now;
	if (cpu_timer_due(slot->cpu) < due)
		due = cpu_timer_due(slot->cpu);
	return due > now ? due : now;
}

/* The CPU that is ready first, and when the first other one is. */
static unsigned
choose_cpu(struct machine *machine, uint64_t *first, uint64_t *second)
{
	unsigned chosen = 0;

	*first = *second = NEVER;
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		uint64_t ready = ready_time(machine, i);

		if (ready < *first) {
			*second = *first;
			*first = ready;
			chosen = i;
		} else if (ready < *second) {
			*second = ready;
		}
	}
	return chosen;
}

static void
note_switch(struct machine *machine, unsigned to)
{
	struct event event = {
		.kind = EVENT_SWITCH,
		.cpu = (uint16_t)to,
		.insns = cpu_insns(machine->slot[to].cpu),
		.cycles = cpu_cycles(machine->slot[to].cpu),
		.a = machine->turn.cpu,
	};

	if (machine->turn.cpu == to)
		return;
	machine->turn.cpu = to;
	on_event(machine, &event);
}

static uint64_t
total_insns(const struct machine *machine)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		total += cpu_insns(machine->slot[i].cpu);
	return total;
}

/* Begins the next turn; false: nobody can go on. */
static bool
begin_turn(struct machine *machine)
{
	uint64_t first, second;
	unsigned id = choose_cpu(machine, &first, &second);

	if (first == NEVER) {
		end_run(machine, MACHINE_DEADLOCK, machine->turn.cpu, 0,
		    "every CPU is halted and no interrupt is on its way");
		return false;
	}
	cpu_idle_until(machine->slot[id].cpu, first);
	deliver_due(machine, id);
	note_switch(machine, id);
	machine->turn.limit = NEVER;
	if (second != NEVER)
		machine->turn.limit = second + machine->config.quantum_cycles;
	for (unsigned i = 0; i < machine->slot[id].ipi_count; i++) {
		if (machine->slot[id].ipi[i].due < machine->turn.limit)
			machine->turn.limit = machine->slot[id].ipi[i].due;
	}
	return true;
}

/*
 * Runs one CPU for as long as the base order lets it, INSNS_LEFT at the most: then
 * its turn is broken off, and goes on with the next call.  False: the run is over.
 */
static bool
run_turn(struct machine *machine, uint64_t insns_left)
{
	struct machine_turn *turn = &machine->turn;
	struct slot *slot;
	uint64_t stop;
	enum cpu_end end;

	if (!turn->broken && !begin_turn(machine))
		return false;
	slot = &machine->slot[turn->cpu];
	turn->broken = false;
	if (slot->parked)
		return true;
	stop = cpu_cycles(slot->cpu) + insns_left;
	end = cpu_run(slot->cpu, stop < turn->limit ? stop : turn->limit);
	turn->broken = end == CPU_LIMIT && cpu_cycles(slot->cpu) < turn->limit;
	return end != CPU_OVER;
}

void
machine_run(
    struct machine *machine, uint64_t insns_max, struct machine_result *result)
{
	uint64_t end = insns_max == 0 ? NEVER / 4 : insns_max;

	machine->result = result;
	for (;;) {
		uint64_t done = total_insns(machine);

		if (done >= end) {
			describe_end(machine, MACHINE_LIMIT, machine->turn.cpu,
			    0, "the limit of instructions is reached");
			break;
		}
		if (!run_turn(machine, end - done))
			break;
	}
	machine_sync_output(machine);
	machine->result = NULL;
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
