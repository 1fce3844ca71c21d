/*
 * Start of the CPUs, and the kernel's main task.
 */
#include "harness/guest/kern.h"

#include "harness/guest/internal.h"

/* Offsets that entry.S and the accessors in cpu.h assume. */
_Static_assert(offsetof(struct cpu, self) == 0, "GS offset");
_Static_assert(offsetof(struct cpu, current) == 8, "GS offset");
_Static_assert(offsetof(struct cpu, kernel_rsp) == 16, "GS offset");
_Static_assert(offsetof(struct cpu, user_rsp) == 24, "GS offset");
_Static_assert(offsetof(struct cpu, number) == 32, "GS offset");
_Static_assert(offsetof(struct trap_frame, vector) == 120, "trap frame");
_Static_assert(offsetof(struct trap_frame, rip) == 136, "trap frame");
_Static_assert(offsetof(struct trap_frame, cs) == 144, "trap frame");
_Static_assert(sizeof(struct trap_frame) % 16 == 0, "stack alignment");

uint32_t cpu_count;

static struct cpu cpus[CPUS_MAX] __attribute__((aligned(64)));

struct cpu *
cpu_at(uint32_t number)
{
	KERN_ASSERT(number < CPUS_MAX);
	return &cpus[number];
}

__attribute__((weak)) void
kpi_init(void)
{
}

__attribute__((weak)) void
kpi_fini(void)
{
}

__attribute__((weak)) int
kpi_module_load(const char *name)
{
	(void)name;
	return KE_NOENT;
}

__attribute__((weak)) int
kpi_module_unload(const char *name)
{
	(void)name;
	return KE_NOENT;
}

__attribute__((weak)) void
kpi_cpu_offline(uint32_t cpu)
{
	(void)cpu;
}

#define MSR_RTIT_OUTPUT_BASE 0x560u
#define MSR_RTIT_MASK_PTRS   0x561u
#define MSR_RTIT_STATUS      0x571u
#define CPUID_LEAF_PT        0x14u

/*
 * Sets this CPU's trace registers to what another kernel's driver may have left there:
 * kexec starts a kernel without a RESET.  STATUS has Stopped: nothing is traced until a
 * driver clears it.
 */
static void
set_stale_rtit(void)
{
	if (boot_option("stale_rtit", 0) == 0 ||
	    cpuid_read(0, 0).eax < CPUID_LEAF_PT ||
	    (cpuid_read(7, 0).ebx >> 25 & 1) == 0 ||
	    (cpuid_read(CPUID_LEAF_PT, 0).ecx & 1) == 0)
		return;
	wrmsr64(MSR_RTIT_OUTPUT_BASE, ABI_KERNEL_PA);
	wrmsr64(MSR_RTIT_MASK_PTRS, UINT64_C(0x40) << 32 | 3 << 7 | 0x7f);
	wrmsr64(MSR_RTIT_STATUS, 1 << 5);
}

static void
start_other_cpus(void)
{
	for (uint32_t i = 1; i < boot_info->cpu_count; i++) {
		lapic_start_cpu(i);
		cpu_count = i + 1;
	}
}

static void
main_task(void *arg)
{
	char name[32];
	int64_t pid;
	int code = 0;

	(void)arg;
	start_other_cpus();
	kpi_init();
	if (!boot_text("init", name, sizeof(name)))
		strlcpy(name, "init", sizeof(name));
	pid = process_spawn(name, boot_cmdline(), 0);
	if (pid < 0)
		kpanic("no program \"%s\": error %ld", name, -pid);
	if (process_wait((uint32_t)pid, &code) != pid)
		kpanic("cannot wait for %s", name);
	host_owner_gone(code);
	kpi_fini();
	host_exit(code);
}

static void
boot_first_cpu(struct cpu *cpu)
{
	if (boot_info->magic != ABI_BOOT_MAGIC)
		kpanic("boot information has magic %#lx", boot_info->magic);
	if (boot_info->cpu_count == 0 || boot_info->cpu_count > CPUS_MAX)
		kpanic("%lu CPUs, at most %u", boot_info->cpu_count, CPUS_MAX);
	cpu_count = 1;
	frame_init();
	paging_init();
	cpu_load_space(kernel_cr3);
	heap_init();
	sched_init();
	lapic_init(cpu);
	set_stale_rtit();
	cpu->online = true;
	if (task_create("main", main_task, NULL, TASK_NORMAL, 1) == NULL)
		kpanic("no memory for the first task");
}

/* Runs on the boot page tables. Its stack becomes that of the idle task. */
_Noreturn void
boot_cpu(const struct abi_boot *boot, uint64_t number)
{
	struct cpu *cpu = &cpus[number];

	cpu->self = cpu;
	cpu->number = (uint32_t)number;
	task_init_idle(cpu, (uintptr_t)__builtin_frame_address(0));
	cpu_tables_init(cpu);
	host_stack(cpu->idle->stack_va - ABI_KERNBASE, BOOT_STACK_BYTES,
	    ABI_STACK_TASK);
	host_threads((uintptr_t)&cpu->current - ABI_KERNBASE,
	    (uintptr_t)&cpu->chosen - ABI_KERNBASE, offsetof(struct task, tid));
	if (number == 0) {
		boot_info = boot;
		boot_first_cpu(cpu);
	} else {
		cpu_load_space(kernel_cr3);
		lapic_init(cpu);
		set_stale_rtit();
		__atomic_store_n(&cpu->online, true, __ATOMIC_RELEASE);
	}
	sched_idle();
}
