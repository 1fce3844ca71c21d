#include "emu/cpu/engine/startup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unicorn/unicorn.h>

#define MSR_EFER         0xc0000080u
#define EFER_LMA         TZ_BIT(10)
#define MSR_MISC_ENABLE  0x1a0u
#define DESCRIPTOR_BYTES 8
#define DESCRIPTOR_L     TZ_BIT(53) /* SDM vol. 3, 3.4.5: 64-bit code segment */
#define WHY_BYTES        64
#define INSN_BYTES       15

struct run {
	uc_engine *uc;
	const uint8_t *ram;
	uint64_t ram_bytes;
	startup_cpuid_fn cpuid;
	void *arg;
	struct startup_state *state;
	uint64_t at; /* linear address of the instruction */
	bool done;
	char why[WHY_BYTES]; /* what is not modelled */
};

static uint64_t
get(const struct run *run, int reg)
{
	uint64_t value = 0;

	TZ_ASSERT(uc_reg_read(run->uc, reg, &value) == UC_ERR_OK);
	return value;
}

static void
set(const struct run *run, int reg, uint64_t value)
{
	TZ_ASSERT(uc_reg_write(run->uc, reg, &value) == UC_ERR_OK);
}

static uint64_t
efer(const struct run *run)
{
	uc_x86_msr msr = { .rid = MSR_EFER };

	TZ_ASSERT(uc_reg_read(run->uc, UC_X86_REG_MSR, &msr) == UC_ERR_OK);
	return msr.value;
}

static void
refuse(struct run *run, const char *what, uint64_t value)
{
	snprintf(run->why, sizeof(run->why), "%s %#" PRIx64, what, value);
	uc_emu_stop(run->uc);
}

/* IA-32e mode is active and CS has a descriptor of 64-bit code. */
static bool
is_64_bit(const struct run *run)
{
	uc_x86_mmr gdt = { .base = 0 };
	uint64_t descriptor, at;

	if ((efer(run) & EFER_LMA) == 0)
		return false;
	TZ_ASSERT(uc_reg_read(run->uc, UC_X86_REG_GDTR, &gdt) == UC_ERR_OK);
	at = gdt.base + (get(run, UC_X86_REG_CS) & ~UINT64_C(7));
	if (at > run->ram_bytes - DESCRIPTOR_BYTES)
		return false;
	memcpy(&descriptor, run->ram + at, sizeof(descriptor));
	return (descriptor & DESCRIPTOR_L) != 0;
}

static bool
is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
		0x66, 0x67, 0xf0, 0xf2, 0xf3 };

	return memchr(prefixes, byte, sizeof(prefixes)) != NULL;
}

/*
 * What the engine would take from the host or from state of its own.  The code is mapped
 * to itself: the engine does not say where else it would be.
 */
static void
check_insn(struct run *run, uint32_t size)
{
	uint32_t msr = (uint32_t)get(run, UC_X86_REG_ECX);
	const uint8_t *code = run->ram + run->at;

	if (run->at > run->ram_bytes - INSN_BYTES)
		return;
	for (; size > 2 && is_prefix(*code); size--)
		code++;
	if (size < 2 || code[0] != 0x0f)
		return;
	if ((code[1] == 0x30 || code[1] == 0x32) && msr != MSR_EFER &&
	    msr != MSR_MISC_ENABLE)
		refuse(run, "MSR", msr);
	else if (code[1] == 0x31 || code[1] == 0x33 ||
	    (code[1] == 0x01 && size == 3 && code[2] == 0xf9))
		refuse(run, "a counter is read, by opcode 0x0f", code[1]);
	else if (code[1] == 0xc7 && size == 3 && code[2] >= 0xf0)
		refuse(run, "random numbers, by opcode 0x0f", code[1]);
}

static void
on_insn(uc_engine *uc, uint64_t at, uint32_t size, void *arg)
{
	struct run *run = arg;

	/* The engine stops after the next instruction has been announced. */
	if (run->why[0] != '\0')
		return;
	run->at = at;
	if (is_64_bit(run)) {
		run->done = true;
		uc_emu_stop(uc);
		return;
	}
	if (run->state->insns++ == STARTUP_INSNS_MAX)
		refuse(run, "not in 64-bit mode after instructions:",
		    STARTUP_INSNS_MAX);
	check_insn(run, size);
}

static void
on_interrupt(uc_engine *uc, uint32_t vector, void *arg)
{
	(void)uc;
	refuse(arg, "interrupt or exception", vector);
}

static int
on_cpuid(uc_engine *uc, void *arg)
{
	struct run *run = arg;
	uint32_t out[4];

	(void)uc;
	run->cpuid(run->arg, (uint32_t)get(run, UC_X86_REG_EAX),
	    (uint32_t)get(run, UC_X86_REG_ECX), out);
	set(run, UC_X86_REG_EAX, out[0]);
	set(run, UC_X86_REG_EBX, out[1]);
	set(run, UC_X86_REG_ECX, out[2]);
	set(run, UC_X86_REG_EDX, out[3]);
	return 1; /* the engine has no CPUID of its own to do */
}

static uint32_t
on_in(uc_engine *uc, uint32_t port, int size, void *arg)
{
	(void)uc;
	(void)size;
	refuse(arg, "port", port);
	return UINT32_MAX;
}

static void
on_out(uc_engine *uc, uint32_t port, int size, uint32_t value, void *arg)
{
	(void)uc;
	(void)size;
	(void)value;
	refuse(arg, "port", port);
}

/* Unicorn takes callbacks as object pointers; POSIX permits the conversion. */
typedef void (*callback)(void);

static bool
add_hook(struct run *run, int type, callback function, int insn)
{
	void *pointer;
	uc_hook hook;

	memcpy(&pointer, &function, sizeof(pointer));
	return uc_hook_add(run->uc, &hook, type, pointer, run, (uint64_t)1,
		   (uint64_t)0, insn) == UC_ERR_OK;
}

static bool
make_engine(struct run *run, uint8_t *ram)
{
	return uc_open(UC_ARCH_X86, UC_MODE_16, &run->uc) == UC_ERR_OK &&
	    uc_ctl_set_cpu_model(run->uc, UC_CPU_X86_IVYBRIDGE) == UC_ERR_OK &&
	    uc_ctl_exits_enable(run->uc) == UC_ERR_OK &&
	    uc_mem_map_ptr(run->uc, 0, run->ram_bytes, UC_PROT_ALL, ram) ==
	    UC_ERR_OK &&
	    add_hook(run, UC_HOOK_CODE, (callback)on_insn, 0) &&
	    add_hook(run, UC_HOOK_INTR, (callback)on_interrupt, 0) &&
	    add_hook(run, UC_HOOK_INSN, (callback)on_cpuid, UC_X86_INS_CPUID) &&
	    add_hook(run, UC_HOOK_INSN, (callback)on_in, UC_X86_INS_IN) &&
	    add_hook(run, UC_HOOK_INSN, (callback)on_out, UC_X86_INS_OUT);
}

static void
read_state(const struct run *run)
{
	static const int gpr[] = { UC_X86_REG_EAX, UC_X86_REG_ECX,
		UC_X86_REG_EDX, UC_X86_REG_EBX, UC_X86_REG_ESP, UC_X86_REG_EBP,
		UC_X86_REG_ESI, UC_X86_REG_EDI };
	struct startup_state *state = run->state;
	uc_x86_mmr gdt = { .base = 0 }, idt = { .base = 0 };

	for (size_t i = 0; i < TZ_ARRAY_LEN(gpr); i++)
		state->gpr[i] = get(run, gpr[i]);
	state->rip = run->at;
	state->rflags = get(run, UC_X86_REG_EFLAGS);
	state->cr0 = get(run, UC_X86_REG_CR0);
	state->cr3 = get(run, UC_X86_REG_CR3);
	state->cr4 = get(run, UC_X86_REG_CR4);
	state->efer = efer(run);
	TZ_ASSERT(uc_reg_read(run->uc, UC_X86_REG_GDTR, &gdt) == UC_ERR_OK);
	TZ_ASSERT(uc_reg_read(run->uc, UC_X86_REG_IDTR, &idt) == UC_ERR_OK);
	state->gdt.base = gdt.base;
	state->gdt.limit = gdt.limit;
	state->idt.base = idt.base;
	state->idt.limit = idt.limit;
	state->cs = (uint16_t)get(run, UC_X86_REG_CS);
	state->ss = (uint16_t)get(run, UC_X86_REG_SS);
	state->ds = (uint16_t)get(run, UC_X86_REG_DS);
	state->es = (uint16_t)get(run, UC_X86_REG_ES);
	state->fs = (uint16_t)get(run, UC_X86_REG_FS);
	state->gs = (uint16_t)get(run, UC_X86_REG_GS);
}

/* SDM vol. 3, 10.1.1 "Processor State After Reset": EDX has the processor's signature. */
static void
begin(const struct run *run, uint8_t vector)
{
	uint32_t out[4];

	run->cpuid(run->arg, 1, 0, out);
	set(run, UC_X86_REG_EDX, out[0]);
	set(run, UC_X86_REG_CS, (uint64_t)vector << 8);
}

int
startup_run(uint8_t *ram, uint64_t ram_bytes, uint8_t vector,
    startup_cpuid_fn cpuid, void *arg, struct startup_state *state,
    struct tz_error *err)
{
	struct run run = { .ram = ram,
		.ram_bytes = ram_bytes,
		.cpuid = cpuid,
		.arg = arg,
		.state = state };
	uc_err why = UC_ERR_OK;
	int error = 0;

	*state = (struct startup_state){ .insns = 0 };
	if (make_engine(&run, ram)) {
		begin(&run, vector);
		why = uc_emu_start(run.uc, (uint64_t)vector << 12, 0, 0, 0);
		if (run.done)
			read_state(&run);
	} else {
		error = tz_error(err, TZ_EIO,
		    "the engine for code in real mode cannot be made");
	}
	if (error == 0 && !run.done)
		error = tz_error(err, TZ_EFORMAT,
		    "start-up code, at %#" PRIx64 ": %s", run.at,
		    run.why[0] != '\0'     ? run.why
			: why == UC_ERR_OK ? "it halts before 64-bit mode"
					   : uc_strerror(why));
	if (run.uc != NULL)
		uc_close(run.uc);
	return error;
}
