/*
 * The XSAVE feature set: XCR0, and the instructions that save and restore state
 * components: x87, SSE and, by XSAVES and XRSTORS, PT.  SDM vol. 1, chapter 13
 * "Managing State Using the XSAVE Feature Set".
 *
 * Model choices: XINUSE of x87 and SSE says whether the state differs from its initial
 * configuration, that of PT is always 1; the modified optimization is not used; the x87
 * pointers and the opcode are 0, as in float.c.
 */
#include "emu/cpu/execute/fxsave.h"
#include "emu/cpu/state.h"

#include <string.h>

#define CR0_TS        TZ_BIT(3)
#define CR0_WP        TZ_BIT(16)
#define CR4_OSXSAVE   TZ_BIT(18)

#define XSTATE_X87    TZ_BIT(0)
#define XSTATE_SSE    TZ_BIT(1)
#define XSTATE_PT     TZ_BIT(8)
#define XSTATE_LEGACY (XSTATE_X87 | XSTATE_SSE)
#define XCOMP_COMPACT TZ_BIT(63)

/* SDM vol. 1, 13.4 "XSAVE Area": offsets; the legacy region is that of FXSAVE. */
#define AREA_HEADER   512
#define AREA_EXTENDED 576
#define AREA_ALIGN    64
#define HEADER_WORDS  8

#define FCW_INIT      0x037f
#define MXCSR_INIT    0x1f80u

/* One execution: what is asked for, and where. */
struct xsave {
	uint64_t rfbm, area;
	bool compact, supervisor;
};

static uint64_t
get(struct cpu *cpu, enum engine_reg reg)
{
	return engine_get(cpu->active, reg);
}

static uint64_t
edx_eax(struct cpu *cpu)
{
	return get(cpu, ENGINE_RDX) << 32 | (uint32_t)get(cpu, ENGINE_RAX);
}

static bool
osxsave(struct cpu *cpu)
{
	return (get(cpu, ENGINE_CR4) & CR4_OSXSAVE) != 0;
}

static bool
is_zero(const uint8_t *bytes, size_t count)
{
	while (count > 0 && *bytes == 0) {
		bytes++;
		count--;
	}
	return count == 0;
}

static void
put_initial_x87(uint8_t *fx)
{
	static const uint16_t control = FCW_INIT;

	memset(fx, 0, FX_MXCSR);
	memcpy(fx, &control, sizeof(control));
	memset(fx + FX_ST(0), 0, FX_XMM - FX_ST(0));
}

/* XINUSE of x87 and of the XMM registers (SDM vol. 1, 13.6). */
static uint64_t
in_use(const uint8_t *fx)
{
	uint8_t initial[ENGINE_FX_BYTES];
	uint64_t bits = 0;

	put_initial_x87(initial);
	if (memcmp(fx, initial, FX_MXCSR) != 0 ||
	    !is_zero(fx + FX_ST(0), FX_XMM - FX_ST(0)))
		bits |= XSTATE_X87;
	if (!is_zero(fx + FX_XMM, FX_XMM_END - FX_XMM))
		bits |= XSTATE_SSE;
	return bits;
}

/* The same where MXCSR is part of the SSE state: in the compacted format. */
static uint64_t
in_use_compact(const uint8_t *fx)
{
	return in_use(fx) | (fx_mxcsr(fx) != MXCSR_INIT ? XSTATE_SSE : 0);
}

enum fault
cpu_do_xgetbv(struct cpu *cpu)
{
	uint32_t index = (uint32_t)get(cpu, ENGINE_RCX);
	uint8_t fx[ENGINE_FX_BYTES];
	uint64_t value = cpu->msrs.xcr0;

	if (!osxsave(cpu))
		return FAULT_UD;
	if (index > 1 ||
	    (index == 1 &&
		!(cpu->config.profile->xsave1_eax & PROFILE_XSAVE1_XGETBV)))
		return FAULT_GP;
	if (index == 1) {
		engine_get_fx(cpu->active, fx);
		value &= in_use_compact(fx);
	}
	engine_set(cpu->active, ENGINE_RAX, (uint32_t)value);
	engine_set(cpu->active, ENGINE_RDX, value >> 32);
	return FAULT_NONE;
}

/* Only x87, always on, and SSE: the profiles offer no other components. */
enum fault
cpu_do_xsetbv(struct cpu *cpu)
{
	uint64_t value = edx_eax(cpu);

	if (!osxsave(cpu))
		return FAULT_UD;
	if (cpu->mode.cpl != 0 || (uint32_t)get(cpu, ENGINE_RCX) != 0 ||
	    (value & XSTATE_X87) == 0 || (value & ~XSTATE_LEGACY) != 0)
		return FAULT_GP;
	cpu->msrs.xcr0 = value;
	return FAULT_NONE;
}

static bool
exists(const struct cpu *cpu)
{
	static const uint32_t needs[INSN_CLASS_COUNT] = {
		[INSN_XSAVEOPT] = PROFILE_XSAVE1_OPT,
		[INSN_XSAVEC] = PROFILE_XSAVE1_XSAVEC,
		[INSN_XSAVES] = PROFILE_XSAVE1_XSAVES,
		[INSN_XRSTORS] = PROFILE_XSAVE1_XSAVES,
	};
	uint32_t need = needs[cpu->trap.insn.class];

	return cpu->config.profile->xsave &&
	    (cpu->config.profile->xsave1_eax & need) == need;
}

/* What is asked for; a fault if the state or the operand forbids it. */
static enum fault
begin(struct cpu *cpu, struct xsave *xsave)
{
	enum insn_class class = cpu->trap.insn.class;
	uint8_t bytes[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct insn_regs regs;

	*xsave = (struct xsave){
		.rfbm = edx_eax(cpu) & cpu->msrs.xcr0,
		.compact = class == INSN_XSAVEC || class == INSN_XSAVES,
		.supervisor = class == INSN_XSAVES || class == INSN_XRSTORS,
	};
	if (!osxsave(cpu) || !exists(cpu))
		return FAULT_UD;
	if (get(cpu, ENGINE_CR0) & CR0_TS)
		return FAULT_NM;
	if (xsave->supervisor) {
		if (cpu->mode.cpl != 0)
			return FAULT_GP;
		xsave->rfbm |= edx_eax(cpu) & cpu->msrs.xss;
	}
	cpu_read_regs(cpu, &regs);
	TZ_ASSERT(walk_read(&cpu->space, (struct gva){ cpu->trap.rip }, bytes,
	    cpu->trap.insn.length, NULL));
	TZ_ASSERT(insn_memory_operand(
	    bytes, cpu->trap.insn.length, cpu->trap.rip, &regs, &memory));
	xsave->area = memory.va;
	if (memory.va % AREA_ALIGN != 0 || !tz_is_canonical(memory.va))
		return memory.stack ? FAULT_SS : FAULT_GP;
	return FAULT_NONE;
}

/* The bytes from FIRST to END of the area, as the guest's code would access them. */
static enum fault
check_area(struct cpu *cpu, const struct xsave *xsave, uint64_t first,
    uint64_t end, bool write, uint64_t *bad)
{
	bool protect = (get(cpu, ENGINE_CR0) & CR0_WP) != 0;
	bool user = cpu->mode.cpl == 3;

	for (uint64_t va = xsave->area + first; va < xsave->area + end;
	     va = (va | (TZ_PAGE_BYTES - 1)) + 1) {
		struct walk walk;

		if (!walk_page(&cpu->space, (struct gva){ va }, &walk) ||
		    (user && !walk.user) ||
		    (write && !walk.writable && (user || protect))) {
			*bad = va;
			return FAULT_PF;
		}
		if (walk.pa.u >= cpu->space.ram_bytes) {
			cpu_end_run(cpu, CPU_OVER_UNMODELLED,
			    "an XSAVE area that is not RAM, at 0x%llx",
			    (unsigned long long)cpu->trap.rip);
			return FAULT_NONE;
		}
	}
	return FAULT_NONE;
}

/* The bytes that an access for the components BITS needs, beside the header. */
static enum fault
check_parts(struct cpu *cpu, const struct xsave *xsave, uint64_t bits,
    bool write, uint64_t *bad)
{
	return check_area(cpu, xsave, bits & XSTATE_LEGACY ? 0 : AREA_HEADER,
	    bits & XSTATE_PT ? AREA_EXTENDED + PT_XSTATE_BYTES : AREA_EXTENDED,
	    write, bad);
}

/* After check_area(). */
static void
load(struct cpu *cpu, const struct xsave *xsave, uint64_t at, void *bytes,
    size_t count)
{
	TZ_ASSERT(walk_read(
	    &cpu->space, (struct gva){ xsave->area + at }, bytes, count, NULL));
}

static void
store(struct cpu *cpu, const struct xsave *xsave, uint64_t at,
    const void *bytes, size_t count)
{
	TZ_ASSERT(walk_write(
	    &cpu->space, (struct gva){ xsave->area + at }, bytes, count, NULL));
}

/* BITS: the components that are written; MXCSR: whether it is, too. */
static void
store_legacy(struct cpu *cpu, const struct xsave *xsave, const uint8_t *fx,
    uint64_t bits, bool mxcsr)
{
	const uint32_t control[2] = { fx_mxcsr(fx), FX_MXCSR_MASK };

	if (bits & XSTATE_X87) {
		store(cpu, xsave, 0, fx, FX_MXCSR);
		store(cpu, xsave, FX_ST(0), fx + FX_ST(0), FX_XMM - FX_ST(0));
	}
	if (mxcsr)
		store(cpu, xsave, FX_MXCSR, control, sizeof(control));
	if (bits & XSTATE_SSE)
		store(cpu, xsave, FX_XMM, fx + FX_XMM, FX_XMM_END - FX_XMM);
}

/*
 * Records a trace MSR that XSAVES or XRSTORS has changed, in the execution log and
 * as an event.
 */
static void
record_msr(struct cpu *cpu, uint32_t msr, uint64_t value)
{
	if (cpu->exec_log != NULL)
		exec_log_msr(cpu->exec_log, msr, value);
	cpu_emit(cpu, EVENT_MSR_WRITE, msr, value, 0);
}

static void
store_pt(struct cpu *cpu, const struct xsave *xsave)
{
	struct pt_context at = cpu_context(cpu, cpu->trap.rip);
	uint8_t image[PT_XSTATE_BYTES];
	uint64_t ctl = 0;

	TZ_ASSERT(pt_unit_rdmsr(cpu->unit, MSR_RTIT_CTL, &ctl) == FAULT_NONE);
	record_msr(cpu, MSR_RTIT_CTL, ctl & ~CTL_TRACE_EN);
	pt_unit_xsaves(cpu->unit, image, &at);
	store(cpu, xsave, AREA_EXTENDED, image, sizeof(image));
	for (unsigned i = 0; i < 2; i++) {
		uint64_t va = xsave->area + AREA_EXTENDED + i * AREA_PART;

		TZ_ASSERT(cpu_translate(
		    cpu, (struct gva){ va }, &cpu->faults.xsaves_pa[i]));
	}
	cpu_emit(
	    cpu, EVENT_XSAVES, cpu->faults.xsaves_pa[0], ctl, cpu->trap.rip);
}

/*
 * SDM vol. 1, 13.7 "Operation of XSAVE" to 13.11 "Operation of XSAVES".  All but
 * XSAVE leave out a component in its initial configuration.
 */
enum fault
cpu_do_xsave(struct cpu *cpu, uint64_t *fault_va)
{
	uint8_t fx[ENGINE_FX_BYTES];
	uint64_t header[2], used = XSTATE_PT, bits;
	struct xsave xsave;
	enum fault fault = begin(cpu, &xsave);

	if (fault == FAULT_NONE)
		fault = check_parts(cpu, &xsave, xsave.rfbm, true, fault_va);
	if (fault != FAULT_NONE || cpu->stop.over)
		return fault;
	if (xsave.rfbm & XSTATE_LEGACY) {
		engine_get_fx(cpu->active, fx);
		used |= xsave.compact ? in_use_compact(fx) : in_use(fx);
	}
	bits = cpu->trap.insn.class == INSN_XSAVE ? xsave.rfbm
						  : xsave.rfbm & used;
	load(cpu, &xsave, AREA_HEADER, header, sizeof(header));
	if (xsave.compact) {
		header[0] = bits;
		header[1] = xsave.rfbm | XCOMP_COMPACT;
	} else {
		header[0] = (header[0] & ~xsave.rfbm) | (used & xsave.rfbm);
	}
	store(cpu, &xsave, AREA_HEADER, header, sizeof(header));
	if (xsave.rfbm & XSTATE_LEGACY)
		store_legacy(cpu, &xsave, fx, bits,
		    ((xsave.compact ? bits : xsave.rfbm) & XSTATE_SSE) != 0);
	if (bits & XSTATE_PT)
		store_pt(cpu, &xsave);
	return FAULT_NONE;
}

/*
 * SDM vol. 1, 13.8 "Operation of XRSTOR", 13.12 "Operation of XRSTORS": headers that raise
 * #GP.
 */
static bool
header_is_valid(const struct cpu *cpu, const struct xsave *xsave,
    const uint64_t header[HEADER_WORDS])
{
	uint64_t enabled = cpu->msrs.xcr0 |
	    (xsave->supervisor ? cpu->msrs.xss : 0);

	if (!xsave->compact)
		return !xsave->supervisor && (header[0] & ~enabled) == 0 &&
		    header[1] == 0 && header[2] == 0;
	/* Of XRSTOR, the compacted format comes with XSAVEC. */
	if ((!xsave->supervisor &&
		!(cpu->config.profile->xsave1_eax & PROFILE_XSAVE1_XSAVEC)) ||
	    (header[1] & ~XCOMP_COMPACT & ~enabled) != 0 ||
	    (header[0] & ~header[1]) != 0)
		return false;
	for (int i = 2; i < HEADER_WORDS; i++) {
		if (header[i] != 0)
			return false;
	}
	return true;
}

/* SDM vol. 1, 13.8.1 and 13.8.2: x87, XMM and MXCSR as the area has them. */
static enum fault
load_legacy(
    struct cpu *cpu, const struct xsave *xsave, uint64_t bits, uint8_t *fx)
{
	static const uint32_t initial = MXCSR_INIT;
	uint8_t area[ENGINE_FX_BYTES];

	load(cpu, xsave, 0, area, sizeof(area));
	engine_get_fx(cpu->active, fx);
	if (xsave->rfbm & XSTATE_SSE) {
		if (!xsave->compact || (bits & XSTATE_SSE))
			memcpy(fx + FX_MXCSR, area + FX_MXCSR, 4);
		else
			memcpy(fx + FX_MXCSR, &initial, 4);
		if (fx_mxcsr(fx) & ~FX_MXCSR_MASK)
			return FAULT_GP;
		if (!(bits & XSTATE_SSE))
			memset(area + FX_XMM, 0, FX_XMM_END - FX_XMM);
		memcpy(fx + FX_XMM, area + FX_XMM, FX_XMM_END - FX_XMM);
	}
	if (xsave->rfbm & XSTATE_X87) {
		if (!(bits & XSTATE_X87))
			put_initial_x87(area);
		memcpy(fx, area, FX_MXCSR);
		memcpy(fx + FX_ST(0), area + FX_ST(0), FX_XMM - FX_ST(0));
	}
	return FAULT_NONE;
}

static void
record_restored(struct cpu *cpu)
{
	static const uint32_t msrs[PT_XSTATE_MSRS] = { MSR_RTIT_OUTPUT_BASE,
		MSR_RTIT_OUTPUT_MASK_PTRS, MSR_RTIT_STATUS, MSR_RTIT_CR3_MATCH,
		MSR_RTIT_ADDR_A(0), MSR_RTIT_ADDR_B(0), MSR_RTIT_ADDR_A(1),
		MSR_RTIT_ADDR_B(1), MSR_RTIT_CTL };

	for (size_t i = 0; i < TZ_ARRAY_LEN(msrs); i++) {
		uint64_t value = 0;

		if (pt_unit_rdmsr(cpu->unit, msrs[i], &value) == FAULT_NONE)
			record_msr(cpu, msrs[i], value);
	}
}

/* IMAGE NULL: the initial state, whatever the area holds. */
static void
note_xrstors(struct cpu *cpu, uint64_t area, const uint8_t *image)
{
	uint64_t pa = 0, ctl = 0;
	bool there = cpu_translate(
	    cpu, (struct gva){ area + AREA_EXTENDED }, &pa);

	TZ_ASSERT(there || image == NULL);
	if (image != NULL)
		memcpy(&ctl, image, sizeof(ctl));
	cpu_emit(cpu, EVENT_XRSTORS, pa, ctl, cpu->trap.rip);
}

/* The initial state is not in the area: nothing of the area is read. */
static enum fault
load_pt(struct cpu *cpu, const struct xsave *xsave, uint64_t bits)
{
	struct pt_context at = cpu_context(cpu, cpu->trap.rip);
	uint8_t image[PT_XSTATE_BYTES];
	const uint8_t *loaded = NULL;
	enum fault fault;

	if (bits & XSTATE_PT) {
		load(cpu, xsave, AREA_EXTENDED, image, sizeof(image));
		loaded = image;
	}
	if (cpu->faults.xrstors_gp) {
		cpu->faults.xrstors_gp = false;
		return FAULT_GP;
	}
	fault = pt_unit_xrstors(
	    cpu->unit, loaded, &at, cpu->trap.rip + cpu->trap.insn.length);
	if (fault == FAULT_NONE) {
		record_restored(cpu);
		note_xrstors(cpu, xsave->area, loaded);
	}
	return fault;
}

enum fault
cpu_do_xrstor(struct cpu *cpu, uint64_t *fault_va)
{
	uint8_t fx[ENGINE_FX_BYTES];
	uint64_t header[HEADER_WORDS], bits;
	struct xsave xsave;
	enum fault fault = begin(cpu, &xsave);

	if (fault == FAULT_NONE)
		fault = check_parts(cpu, &xsave, 0, false, fault_va);
	if (fault != FAULT_NONE || cpu->stop.over)
		return fault;
	load(cpu, &xsave, AREA_HEADER, header, sizeof(header));
	xsave.compact = (header[1] & XCOMP_COMPACT) != 0;
	if (!header_is_valid(cpu, &xsave, header))
		return FAULT_GP;
	bits = header[0] & xsave.rfbm;
	fault = check_parts(cpu, &xsave,
	    (bits & XSTATE_PT) | (xsave.rfbm & XSTATE_LEGACY), false, fault_va);
	if (fault != FAULT_NONE || cpu->stop.over)
		return fault;
	if (xsave.rfbm & XSTATE_LEGACY)
		fault = load_legacy(cpu, &xsave, bits, fx);
	if (fault == FAULT_NONE && (xsave.rfbm & XSTATE_PT))
		fault = load_pt(cpu, &xsave, bits);
	if (fault == FAULT_NONE && (xsave.rfbm & XSTATE_LEGACY))
		engine_set_fx(cpu->active, fx);
	return fault;
}
