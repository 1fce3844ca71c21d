/*
 * Descriptor tables of a CPU: GDT, TSS with its interrupt stacks, IDT; and the
 * registers that SYSCALL uses.  SDM vol. 3, chapters 3, 6 and 8.
 */
#include "harness/guest/internal.h"

#define IST_STACK_BYTES 8192
#define GDT_ENTRIES     7
#define GATE_INTERRUPT  0x8e
#define DPL_USER        0x60
#define TSS_AVAILABLE   0x89

enum ist { IST_NONE, IST_NMI, IST_DF, IST_MC, IST_COUNT };

/* SDM vol. 3, 8.7 "Task Management in 64-bit Mode". */
struct tss {
	uint32_t reserved0;
	uint64_t rsp[3];
	uint64_t reserved1;
	uint64_t ist[7];
	uint64_t reserved2;
	uint16_t reserved3, io_map;
} __attribute__((packed));

/* SDM vol. 3, 6.14.1 "64-Bit Mode IDT". */
struct gate {
	uint16_t offset_low, selector;
	uint8_t ist, type;
	uint16_t offset_middle;
	uint32_t offset_high, reserved;
};

struct table_pointer {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

_Static_assert(sizeof(struct tss) == 104, "TSS layout");
_Static_assert(sizeof(struct gate) == 16, "gate layout");

static struct {
	uint64_t gdt[GDT_ENTRIES];
	struct tss tss __attribute__((aligned(16)));
} tables[CPUS_MAX] __attribute__((aligned(64)));

static uint8_t ist_stacks[CPUS_MAX][IST_COUNT - 1][IST_STACK_BYTES]
    __attribute__((aligned(4096)));
static struct gate idt[256] __attribute__((aligned(4096)));

static void
set_gate(unsigned vector, enum ist ist, unsigned dpl)
{
	uint64_t entry = (uint64_t)(uintptr_t)trap_stubs + vector * 16;

	idt[vector] = (struct gate){
		.offset_low = (uint16_t)entry,
		.selector = SEL_KERNEL_CS,
		.ist = (uint8_t)ist,
		.type = (uint8_t)(GATE_INTERRUPT | dpl),
		.offset_middle = (uint16_t)(entry >> 16),
		.offset_high = (uint32_t)(entry >> 32),
	};
}

static void
fill_idt(void)
{
	for (unsigned vector = 0; vector < 256; vector++)
		set_gate(vector, IST_NONE, 0);
	set_gate(VECTOR_NMI, IST_NMI, 0);
	set_gate(VECTOR_DF, IST_DF, 0);
	set_gate(VECTOR_MC, IST_MC, 0);
	set_gate(VECTOR_BP, IST_NONE, DPL_USER);
}

static void
fill_gdt(uint64_t *gdt, const struct tss *tss)
{
	uint64_t base = (uint64_t)(uintptr_t)tss;

	gdt[0] = 0;
	gdt[SEL_KERNEL_CS / 8] = UINT64_C(0x00209b0000000000);
	gdt[SEL_KERNEL_SS / 8] = UINT64_C(0x0000930000000000);
	gdt[SEL_USER_SS / 8] = UINT64_C(0x0000f30000000000);
	gdt[SEL_USER_CS / 8] = UINT64_C(0x0020fb0000000000);
	gdt[SEL_TSS / 8] = (sizeof(*tss) - 1) | (base & 0xffffff) << 16 |
	    (uint64_t)TSS_AVAILABLE << 40 | (base >> 24 & 0xff) << 56;
	gdt[SEL_TSS / 8 + 1] = base >> 32;
}

static void
load_tables(uint64_t *gdt)
{
	struct table_pointer gdtr = { GDT_ENTRIES * 8 - 1, (uintptr_t)gdt };
	struct table_pointer idtr = { sizeof(idt) - 1, (uintptr_t)idt };

	__asm__ volatile("lgdt %0" : : "m"(gdtr) : "memory");
	__asm__ volatile("pushq %0\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "lretq\n"
			 "1:\tmovl %1, %%ss\n\t"
			 "movl %2, %%ds\n\t"
			 "movl %2, %%es\n\t"
			 "movl %2, %%fs\n\t"
			 "movl %2, %%gs"
			 :
			 : "i"(SEL_KERNEL_CS), "r"(SEL_KERNEL_SS), "r"(0)
			 : "rax", "memory");
	__asm__ volatile("lidt %0" : : "m"(idtr) : "memory");
	__asm__ volatile("ltr %w0" : : "r"(SEL_TSS) : "memory");
}

static void
enable_xsave(void)
{
	uint64_t cr4;

	if ((cpuid_read(1, 0).ecx & CPUID_XSAVE) == 0)
		return;
	__asm__ volatile("movq %%cr4, %0" : "=r"(cr4));
	__asm__ volatile("movq %0, %%cr4" : : "r"(cr4 | CR4_OSXSAVE));
	/* XCR0: x87 and SSE. */
	__asm__ volatile("xsetbv" : : "c"(0), "a"(3), "d"(0) : "memory");
}

static void
load_registers(struct cpu *cpu)
{
	wrmsr64(MSR_GS_BASE, (uintptr_t)cpu);
	wrmsr64(MSR_KERNEL_GS_BASE, 0);
	wrmsr64(MSR_FS_BASE, 0);
	wrmsr64(MSR_STAR,
	    (uint64_t)SEL_KERNEL_CS << 32 | (uint64_t)SEL_KERNEL_SS << 48);
	wrmsr64(MSR_LSTAR, (uintptr_t)syscall_entry);
	wrmsr64(MSR_FMASK,
	    RFLAGS_TF | RFLAGS_IF | RFLAGS_DF | RFLAGS_NT | RFLAGS_AC);
	enable_xsave();
}

void
cpu_set_kernel_stack(struct cpu *cpu, uint64_t top)
{
	cpu->kernel_rsp = top;
	tables[cpu->number].tss.rsp[0] = top;
}

void
cpu_tables_init(struct cpu *cpu)
{
	uint32_t n = cpu->number;
	struct tss *tss = &tables[n].tss;

	if (n == 0)
		fill_idt();
	tss->io_map = sizeof(*tss);
	for (unsigned i = IST_NMI; i < IST_COUNT; i++)
		tss->ist[i - 1] = (uintptr_t)ist_stacks[n][i - 1] +
		    IST_STACK_BYTES;
	fill_gdt(tables[n].gdt, tss);
	load_tables(tables[n].gdt);
	load_registers(cpu);
	host_stack((uintptr_t)ist_stacks[n][IST_NMI - 1] - ABI_KERNBASE,
	    IST_STACK_BYTES, ABI_STACK_NMI);
}
