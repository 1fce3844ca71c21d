/*
 * The local APIC through its memory-mapped page: SDM vol. 3, 11.4 "Local APIC".
 * xAPIC mode, physical destinations, APIC id = CPU number.
 */
#include "harness/guest/internal.h"

#define SVR_ENABLE        (1u << 8)
#define ICR_NMI           (4u << 8)
#define ICR_INIT          (5u << 8)
#define ICR_STARTUP       (6u << 8)
#define ICR_PENDING       (1u << 12)
#define ICR_ASSERT        (1u << 14)
#define TIMER_DIVIDE_BY_1 0xbu
#define START_CYCLES_MAX  UINT64_C(1000000000)

__attribute__((noinline)) uint32_t
lapic_read32(uint32_t reg)
{
	uint32_t value;
	const volatile uint32_t *p =
	    (const volatile uint32_t *)(uintptr_t)(LAPIC_VA + reg);

	__asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*p) : "memory");
	return value;
}

__attribute__((noinline)) void
lapic_write32(uint32_t reg, uint32_t value)
{
	volatile uint32_t *p = (volatile uint32_t *)(uintptr_t)(LAPIC_VA + reg);

	__asm__ volatile("movl %1, %0" : "=m"(*p) : "r"(value) : "memory");
}

void
lapic_init(struct cpu *cpu)
{
	cpu->apic_id = lapic_read32(LAPIC_ID) >> 24;
	if (cpu->apic_id != cpu->number)
		kpanic(
		    "CPU %u has local APIC id %u", cpu->number, cpu->apic_id);
	lapic_write32(LAPIC_TPR, 0);
	lapic_write32(LAPIC_SVR, SVR_ENABLE | VECTOR_SPURIOUS);
	lapic_write32(LAPIC_LVT_LINT0, LAPIC_LVT_MASKED);
	lapic_write32(LAPIC_LVT_LINT1, LAPIC_LVT_MASKED);
	lapic_write32(LAPIC_LVT_PC, LAPIC_LVT_MASKED | LAPIC_MODE_NMI);
	lapic_write32(LAPIC_LVT_ERROR, VECTOR_APIC_ERROR);
	lapic_write32(LAPIC_TIMER_DIVIDE, TIMER_DIVIDE_BY_1);
	lapic_write32(LAPIC_LVT_TIMER, VECTOR_TIMER);
	lapic_write32(LAPIC_TIMER_INITIAL, 0);
}

static void
wait_icr(void)
{
	while ((lapic_read32(LAPIC_ICR_LOW) & ICR_PENDING) != 0)
		cpu_pause();
}

/*
 * An NMI handler may interrupt another sender between its two writes: it
 * restores the destination, and returns only after its own interrupt is sent.
 */
static void
send(uint32_t cpu, uint32_t command)
{
	bool enabled = intr_enabled();
	bool nmi;
	uint32_t saved;

	intr_disable();
	nmi = cpu_self()->nmi_depth != 0;
	wait_icr();
	saved = nmi ? lapic_read32(LAPIC_ICR_HIGH) : 0;
	lapic_write32(LAPIC_ICR_HIGH, cpu << 24);
	lapic_write32(LAPIC_ICR_LOW, command | ICR_ASSERT);
	if (nmi) {
		wait_icr();
		lapic_write32(LAPIC_ICR_HIGH, saved);
	}
	if (enabled)
		intr_enable();
}

void
ipi_send(uint32_t cpu, uint32_t vector)
{
	send(cpu, vector);
}

void
ipi_send_nmi(uint32_t cpu)
{
	send(cpu, ICR_NMI);
}

/* SDM vol. 3, 9.4.4.1 "Typical BSP Initialization Sequence", without the waits
 * and the second start-up IPI, which real hardware needs. */
void
lapic_start_cpu(uint32_t number)
{
	struct cpu *cpu = cpu_at(number);
	uint64_t begin = rdtsc64();

	send(number, ICR_INIT);
	send(number, ICR_STARTUP);
	while (!__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE)) {
		cpu_pause();
		if (rdtsc64() - begin > START_CYCLES_MAX)
			kpanic("CPU %u does not start", number);
	}
}

void
lapic_timer_set(uint64_t when)
{
	uint64_t now, ticks;

	if (when == 0) {
		lapic_write32(LAPIC_TIMER_INITIAL, 0);
		return;
	}
	now = rdtsc64();
	ticks = when > now ? when - now : 1;
	if (ticks > UINT32_MAX)
		ticks = UINT32_MAX;
	lapic_write32(LAPIC_TIMER_INITIAL, (uint32_t)ticks);
}
