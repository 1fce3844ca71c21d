/* Interprocessor interrupts: the request in the ICR, and its arrival. */
#include "emu/board/layout.h"
#include "emu/machine_state.h"

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
send_to(struct machine *machine, unsigned from, unsigned to, uint8_t mode,
    uint8_t vector, uint64_t due)
{
	struct slot *slot = &machine->slot[to];
	const struct cpu *source = machine->slot[from].cpu;
	struct event event = {
		.kind = EVENT_IPI,
		.cpu = (uint16_t)from,
		.insns = cpu_access_insns(source),
		.cycles = due,
		.a = to,
		.b = (uint64_t)mode << 8 | vector,
	};

	machine_emit(machine, &event);
	if (slot->ipi_count == IPIS_MAX) {
		machine_end_run(machine, MACHINE_UNMODELLED, from, 0,
		    "more than 64 interprocessor interrupts on their way");
		return;
	}
	slot->ipi[slot->ipi_count++] = (struct ipi){ due, mode, vector };
}

void
machine_on_ipi(void *arg, unsigned cpu, uint32_t icr_low, uint32_t icr_high,
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
	    (shorthand == 0 && (icr_low & ICR_LOGICAL) &&
		!machine->config.board)) {
		machine_end_run(machine, MACHINE_UNMODELLED, cpu, 0,
		    "interprocessor interrupt of another mode than fixed, NMI, "
		    "INIT, start-up, or with a logical destination");
		return;
	}
	if (mode == ICR_FIXED && (uint8_t)icr_low < ICR_VECTOR_MIN) {
		machine_end_run(machine, MACHINE_UNMODELLED, cpu, 0,
		    "interprocessor interrupt with a vector below 16");
		return;
	}
	if (shorthand == 0 && !(icr_low & ICR_LOGICAL) &&
	    target != ICR_BROADCAST && target >= machine->config.cpu_count) {
		machine_end_run(machine, MACHINE_UNMODELLED, cpu, 0,
		    "interprocessor interrupt to an absent CPU");
		return;
	}
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		bool self = i == cpu;
		bool meant = shorthand == 0 && (icr_low & ICR_LOGICAL)
		    ? cpu_is_selected(machine->slot[i].cpu, (uint8_t)target)
		    : shorthand == 0 ? target == i || target == ICR_BROADCAST
		    : shorthand == 1 ? self
		    : shorthand == 2 ? true
				     : !self;

		if (meant)
			send_to(
			    machine, cpu, i, mode, (uint8_t)icr_low, cycles);
	}
}

/* CPU 0 of a board: in the state of Linux's 64-bit boot protocol. */
static void
start_on_board(struct machine *machine)
{
	struct cpu *cpu = machine->slot[0].cpu;

	cpu_start(
	    cpu, machine->entry, 0, machine->boot_info, machine->boot_cr3.u);
	cpu_set_segments(
	    cpu, BOARD_GDT_PA, BOARD_GDT_BYTES - 1, BOARD_CS, BOARD_DS);
}

void
machine_start_cpu(struct machine *machine, unsigned id, uint64_t at)
{
	struct slot *slot = &machine->slot[id];

	TZ_ASSERT(id == 0 || !machine->config.board);
	slot->parked = false;
	if (machine->config.board)
		start_on_board(machine);
	else
		cpu_start(slot->cpu, machine->entry, machine->boot_info, id,
		    machine->boot_cr3.u);
	cpu_idle_until(slot->cpu, at);
}

/* SDM vol. 3, 9.4.4.1 "Typical BSP Initialization Sequence": the vector is the number of
 * the page that is executed first. */
static void
start_at_vector(
    struct machine *machine, unsigned id, uint8_t vector, uint64_t at)
{
	struct slot *slot = &machine->slot[id];
	struct tz_error why;
	uint64_t insns;

	if (cpu_start_up(slot->cpu, vector, &insns, &why) != 0) {
		machine_end_run(machine, MACHINE_UNMODELLED, id, 0, why.text);
		return;
	}
	slot->parked = false;
	cpu_idle_until(slot->cpu, at + insns);
}

/* INIT: changes nothing if the CPU waits already. */
static void
wait_for_startup(struct machine *machine, unsigned id)
{
	struct slot *slot = &machine->slot[id];

	if (slot->parked)
		return;
	if (!machine->config.board)
		machine_end_run(machine, MACHINE_UNMODELLED, id, 0,
		    "INIT of a CPU that runs");
	else if (!cpu_init(slot->cpu))
		machine_end_run(machine, MACHINE_UNMODELLED, id, 0,
		    "INIT of a CPU that traces, counts or is recorded");
	else
		slot->parked = true;
}

/* Interrupts that are not due stay in the order of sending. */
void
machine_deliver_due(struct machine *machine, unsigned id)
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
			if (slot->parked && machine->config.board)
				start_at_vector(
				    machine, id, ipi.vector, ipi.due);
			else if (slot->parked)
				machine_start_cpu(machine, id, ipi.due);
			break;
		default:
			wait_for_startup(machine, id);
			break;
		}
	}
	slot->ipi_count = kept;
}
