#include "emu/cpu/engine/engine_state.h"
#include "emu/cpu/engine/startup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MSR_EFER                  0xc0000080u
#define EFER_BOOT                 0xd01u      /* SCE LME LMA NXE */
#define CR0_BOOT                  0x80010033u /* PG WP NE ET MP PE */
#define FCW_INIT                  0x37fu
#define MXCSR_INIT                0x1f80u
#define X87_EXCEPTIONS            0x3fu
#define X87_ES_B                  0x8080u
#define CR4_BOOT                  0x620u /* PAE OSFXSR OSXMMEXCPT */
#define MMIO_BYTES                0x1000

#define MSR_KERNEL_GS_BASE        0xc0000102u

#define ENGINE_REG(name, unicorn) [ENGINE_##name] = UC_X86_REG_##unicorn,
static const int reg_ids[ENGINE_REG_COUNT] = {
#include "emu/cpu/engine/engine_reg.def"
};
#undef ENGINE_REG

/* LGDT and the like do not end a block, so their execution is not noticed. */
static const int table_ids[TABLE_REGS] = { UC_X86_REG_GDTR, UC_X86_REG_IDTR,
	UC_X86_REG_LDTR, UC_X86_REG_TR };

static bool
is_kept(int reg)
{
	return reg == ENGINE_RIP || reg == ENGINE_CS || reg == ENGINE_SS ||
	    (reg >= ENGINE_CR0 && reg <= ENGINE_CR4);
}

static void
list_reg(struct engine *engine, unsigned *count, int id, void *at)
{
	engine->ids[*count] = id;
	engine->at[*count] = at;
	++*count;
}

/* One call for all of them costs less than one for each. */
static void
list_regs(struct engine *engine)
{
	struct program_state *state = &engine->program;
	unsigned count = 0;

	for (int r = 0; r < ENGINE_REG_COUNT; r++) {
		if (!is_kept(r))
			list_reg(engine, &count, reg_ids[r], &state->reg[r]);
	}
	for (int t = 0; t < TABLE_REGS; t++)
		list_reg(engine, &count, table_ids[t], &state->table[t]);
	state->kernel_gs_base.rid = MSR_KERNEL_GS_BASE;
	list_reg(engine, &count, UC_X86_REG_MSR, &state->kernel_gs_base);
	TZ_ASSERT(count == FX_FIRST);
	list_reg(engine, &count, UC_X86_REG_MXCSR, &state->mxcsr);
	list_reg(engine, &count, UC_X86_REG_FPCW, &state->fpcw);
	list_reg(engine, &count, UC_X86_REG_FPSW, &state->fpsw);
	list_reg(engine, &count, UC_X86_REG_FPTAG, &state->fptag);
	for (int i = 0; i < VECTOR_REGS; i++)
		list_reg(engine, &count, UC_X86_REG_YMM0 + i, state->vector[i]);
	for (int i = 0; i < X87_REGS; i++)
		list_reg(engine, &count, UC_X86_REG_FP0 + i, state->x87[i]);
	TZ_ASSERT(count == WRITTEN_REGS);
	for (int r = 0; r < ENGINE_REG_COUNT; r++) {
		if (is_kept(r))
			list_reg(engine, &count, reg_ids[r], &state->reg[r]);
	}
	TZ_ASSERT(count == LISTED_REGS);
}

static void
read_program(struct engine *engine)
{
	TZ_ASSERT(uc_reg_read_batch(engine->uc, engine->ids, engine->at,
		      LISTED_REGS) == UC_ERR_OK);
}

/* The same of the registers of FXSAVE alone. */
static void
read_fx(struct engine *engine)
{
	TZ_ASSERT(uc_reg_read_batch(engine->uc, &engine->ids[FX_FIRST],
		      &engine->at[FX_FIRST], FX_REGS) == UC_ERR_OK);
}

static void
on_exception(uc_engine *uc, uint32_t vector, void *arg)
{
	struct engine *engine = arg;

	engine->excepted = true;
	engine->vector = vector;
	uc_emu_stop(uc);
}

/* Engines before 2.1.4 report vector 6 as well; both cases end up here. */
static bool
on_invalid(uc_engine *uc, void *arg)
{
	struct engine *engine = arg;

	(void)uc;
	engine->excepted = true;
	engine->vector = 6;
	return false;
}

static uint64_t
on_mmio_read(uc_engine *uc, uint64_t offset, unsigned bytes, void *arg)
{
	struct engine *engine = arg;

	(void)uc;
	return engine->ops.mmio_read(engine->ops.arg, offset, bytes);
}

static void
on_mmio_write(
    uc_engine *uc, uint64_t offset, unsigned bytes, uint64_t value, void *arg)
{
	struct engine *engine = arg;

	(void)uc;
	engine->ops.mmio_write(engine->ops.arg, offset, bytes, value);
}

/* Unicorn takes callbacks as object pointers; POSIX permits the conversion. */
typedef void (*callback)(void);

static bool
add_hook_in(struct engine *engine, int type, callback function, void *arg,
    struct engine_site *site)
{
	void *pointer;

	memcpy(&pointer, &function, sizeof(pointer));
	return uc_hook_add(engine->uc, &site->hook, type, pointer, arg,
		   site->va, site->last_va) == UC_ERR_OK;
}

static bool
add_hook(struct engine *engine, int type, callback function, void *arg)
{
	/* .va > .last_va: everywhere. */
	struct engine_site everywhere = { .va = 1, .last_va = 0 };

	return add_hook_in(engine, type, function, arg, &everywhere);
}

static bool
add_hooks(struct engine *engine, uint64_t mmio_pa, bool step)
{
	if (step && engine->ops.enter != NULL &&
	    !add_hook(engine, UC_HOOK_BLOCK, (callback)engine->ops.enter,
		engine->ops.arg))
		return false;
	return add_hook(engine, UC_HOOK_INTR, (callback)on_exception, engine) &&
	    add_hook(
		engine, UC_HOOK_INSN_INVALID, (callback)on_invalid, engine) &&
	    uc_mmio_map(engine->uc, mmio_pa, MMIO_BYTES, on_mmio_read, engine,
		on_mmio_write, engine) == UC_ERR_OK &&
	    (engine->ops.code == NULL ||
		add_hook(engine, step ? UC_HOOK_CODE : UC_HOOK_BLOCK,
		    (callback)engine->ops.code, engine->ops.arg));
}

static bool
make_contexts(struct engine *engine)
{
	if (uc_context_alloc(engine->uc, &engine->ring0) != UC_ERR_OK ||
	    uc_context_alloc(engine->uc, &engine->scratch) != UC_ERR_OK ||
	    uc_context_save(engine->uc, engine->ring0) != UC_ERR_OK ||
	    uc_context_save(engine->uc, engine->scratch) != UC_ERR_OK)
		return false;
	engine->fresh = malloc(engine_context_bytes(engine));
	return engine->fresh != NULL &&
	    memcpy(
		engine->fresh, engine->scratch, engine_context_bytes(engine));
}

struct engine *
engine_create(uint8_t *ram, uint64_t ram_bytes, uint64_t mmio_pa,
    const struct engine_ops *ops, bool step, struct tz_error *err)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	unsigned major, minor;

	TZ_ASSERT(ram_bytes % MMIO_BYTES == 0 && ram_bytes <= mmio_pa);
	TZ_ASSERT(ops->mmio_read != NULL && ops->mmio_write != NULL);
	if (engine == NULL)
		return tz_error(err, TZ_EIO, "out of memory"), NULL;
	engine->ops = *ops;
	list_regs(engine);
	uc_version(&major, &minor);
	if (major < 2 || (major == 2 && minor < 1)) {
		tz_error(err, TZ_EIO, "Unicorn %u.%u is too old: 2.1.1 needed",
		    major, minor);
		goto fail;
	}
	if (uc_open(UC_ARCH_X86, UC_MODE_64, &engine->uc) != UC_ERR_OK ||
	    uc_ctl_set_cpu_model(engine->uc, UC_CPU_X86_IVYBRIDGE) !=
		UC_ERR_OK ||
	    uc_ctl_exits_enable(engine->uc) != UC_ERR_OK ||
	    uc_mem_map_ptr(engine->uc, 0, ram_bytes, UC_PROT_ALL, ram) !=
		UC_ERR_OK ||
	    !add_hooks(engine, mmio_pa, step) || !make_contexts(engine)) {
		tz_error(err, TZ_EIO, "Unicorn refuses to make an engine");
		goto fail;
	}
	return engine;
fail:
	engine_destroy(engine);
	return NULL;
}

void
engine_destroy(struct engine *engine)
{
	if (engine == NULL)
		return;
	if (engine->ring0 != NULL)
		uc_context_free(engine->ring0);
	if (engine->scratch != NULL)
		uc_context_free(engine->scratch);
	if (engine->uc != NULL)
		uc_close(engine->uc);
	free(engine->fresh);
	free(engine);
}

uint64_t
engine_get(struct engine *engine, enum engine_reg reg)
{
	uint64_t value = 0;

	TZ_ASSERT(reg < ENGINE_REG_COUNT);
	TZ_ASSERT(uc_reg_read(engine->uc, reg_ids[reg], &value) == UC_ERR_OK);
	return value;
}

void
engine_get_general(struct engine *engine, uint64_t gpr[16], uint64_t *fs_base,
    uint64_t *gs_base, uint64_t *rflags)
{
	const uint64_t *reg = engine->program.reg;

	/* These are the first registers of the list. */
	TZ_ASSERT(uc_reg_read_batch(engine->uc, engine->ids, engine->at,
		      ENGINE_REG_COUNT - KEPT_REGS) == UC_ERR_OK);
	memcpy(gpr, &reg[ENGINE_RAX], 16 * sizeof(gpr[0]));
	*fs_base = reg[ENGINE_FS_BASE];
	*gs_base = reg[ENGINE_GS_BASE];
	*rflags = reg[ENGINE_RFLAGS];
}

void
engine_set(struct engine *engine, enum engine_reg reg, uint64_t value)
{
	uint64_t cr3 = reg == ENGINE_CR2 ? engine_get(engine, ENGINE_CR3) : 0;

	TZ_ASSERT(reg < ENGINE_REG_COUNT);
	TZ_ASSERT(uc_reg_write(engine->uc, reg_ids[reg], &value) == UC_ERR_OK);
	/* 2.1.1 writes a value for CR2 to CR3 as well. */
	if (reg == ENGINE_CR2 && engine_get(engine, ENGINE_CR3) != cr3)
		engine_set(engine, ENGINE_CR3, cr3);
}

/* SDM vol. 1, 10.5.1.1 "x87 State": one bit for each physical register, 1: not empty. */
static uint8_t
short_tags(uint16_t tags)
{
	uint8_t bits = 0;

	for (int i = 0; i < X87_REGS; i++)
		bits |= (uint8_t)(((tags >> 2 * i & 3) != 3) << i);
	return bits;
}

void
engine_get_fx(struct engine *engine, uint8_t image[ENGINE_FX_BYTES])
{
	const struct program_state *state = &engine->program;
	uint8_t tags;

	read_fx(engine);
	tags = short_tags(state->fptag);
	memset(image, 0, ENGINE_FX_BYTES);
	memcpy(image, &state->fpcw, 2);
	memcpy(image + 2, &state->fpsw, 2);
	memcpy(image + 4, &tags, 1);
	memcpy(image + 24, &state->mxcsr, 4);
	for (int i = 0; i < X87_REGS; i++) {
		int reg = (i + (state->fpsw >> 11)) % X87_REGS;

		memcpy(image + 32 + 16 * i, state->x87[reg], 10);
	}
	for (int i = 0; i < VECTOR_REGS; i++)
		memcpy(image + 160 + 16 * i, state->vector[i], 16);
}

/*
 * STATUS with ES and B as processors load it: set if an exception is flagged that CONTROL
 * does not mask (SDM vol. 1, 8.1.3.3 "x87 FPU Floating-Point Exception Flags").
 */
static uint16_t
summarized(uint16_t status, uint16_t control)
{
	uint32_t flagged = status & ~(uint32_t)control & X87_EXCEPTIONS;

	return (uint16_t)((status & ~X87_ES_B) | (flagged != 0 ? X87_ES_B : 0));
}

void
engine_set_fx(struct engine *engine, const uint8_t image[ENGINE_FX_BYTES])
{
	struct program_state *state = &engine->program;

	/* For the upper halves of the vector registers. */
	read_fx(engine);
	memcpy(&state->fpcw, image, 2);
	memcpy(&state->fpsw, image + 2, 2);
	state->fpsw = summarized(state->fpsw, state->fpcw);
	memcpy(&state->mxcsr, image + 24, 4);
	state->fptag = 0;
	for (int i = 0; i < X87_REGS; i++) {
		int reg = (i + (state->fpsw >> 11)) % X87_REGS;

		memcpy(state->x87[reg], image + 32 + 16 * i, 10);
		if (!(image[4] >> i & 1))
			state->fptag |= (uint16_t)(3u << 2 * i);
	}
	for (int i = 0; i < VECTOR_REGS; i++)
		memcpy(state->vector[i], image + 160 + 16 * i, 16);
	TZ_ASSERT(uc_reg_write_batch(engine->uc, &engine->ids[FX_FIRST],
		      &engine->at[FX_FIRST], FX_REGS) == UC_ERR_OK);
}

void
engine_get_table(struct engine *engine, enum engine_table table, uint64_t *base,
    uint32_t *limit)
{
	static const int ids[] = {
		[ENGINE_GDTR] = UC_X86_REG_GDTR,
		[ENGINE_IDTR] = UC_X86_REG_IDTR,
		[ENGINE_TR] = UC_X86_REG_TR,
	};
	uc_x86_mmr mmr = { 0 };

	TZ_ASSERT(uc_reg_read(engine->uc, ids[table], &mmr) == UC_ERR_OK);
	*base = mmr.base;
	*limit = mmr.limit;
}

uint64_t
engine_get_msr(struct engine *engine, uint32_t msr)
{
	uc_x86_msr value = { .rid = msr };

	TZ_ASSERT(uc_reg_read(engine->uc, UC_X86_REG_MSR, &value) == UC_ERR_OK);
	return value.value;
}

void
engine_set_msr(struct engine *engine, uint32_t msr, uint64_t value)
{
	uc_x86_msr write = { .rid = msr, .value = value };

	TZ_ASSERT(
	    uc_reg_write(engine->uc, UC_X86_REG_MSR, &write) == UC_ERR_OK);
}

void
engine_reset(struct engine *engine, uint64_t cr3)
{
	static const uint16_t control = FCW_INIT;
	static const uint32_t mxcsr = MXCSR_INIT;
	uint8_t fx[ENGINE_FX_BYTES];

	engine_set(engine, ENGINE_CR4, CR4_BOOT);
	engine_set(engine, ENGINE_CR3, cr3);
	engine_set_msr(engine, MSR_EFER, EFER_BOOT);
	engine_set(engine, ENGINE_CR0, CR0_BOOT);
	engine_set(engine, ENGINE_RFLAGS, 2);
	memset(fx, 0, sizeof(fx));
	memcpy(fx, &control, sizeof(control));
	memcpy(fx + 24, &mxcsr, sizeof(mxcsr));
	engine_set_fx(engine, fx);
	engine_keep_ring0(engine);
}

static void
set_table(struct engine *engine, int id, uint64_t base, uint32_t limit)
{
	uc_x86_mmr table = { .base = base, .limit = limit };

	TZ_ASSERT(uc_reg_write(engine->uc, id, &table) == UC_ERR_OK);
}

void
engine_set_segments(struct engine *engine, uint64_t gdt, uint32_t limit,
    uint16_t cs, uint16_t ds)
{
	static const int data[] = { UC_X86_REG_DS, UC_X86_REG_ES,
		UC_X86_REG_SS };

	set_table(engine, UC_X86_REG_GDTR, gdt, limit);
	TZ_ASSERT(uc_reg_write(engine->uc, UC_X86_REG_CS, &cs) == UC_ERR_OK);
	for (size_t i = 0; i < TZ_ARRAY_LEN(data); i++)
		TZ_ASSERT(uc_reg_write(engine->uc, data[i], &ds) == UC_ERR_OK);
	engine_keep_ring0(engine);
}

void
engine_set_startup(struct engine *engine, const struct startup_state *state)
{
	const struct {
		int id;
		uint16_t selector;
	} segments[] = {
		{ UC_X86_REG_CS, state->cs },
		{ UC_X86_REG_SS, state->ss },
		{ UC_X86_REG_DS, state->ds },
		{ UC_X86_REG_ES, state->es },
		{ UC_X86_REG_FS, state->fs },
		{ UC_X86_REG_GS, state->gs },
	};

	engine_set(engine, ENGINE_CR4, state->cr4);
	engine_set(engine, ENGINE_CR3, state->cr3);
	engine_set_msr(engine, MSR_EFER, state->efer);
	engine_set(engine, ENGINE_CR0, state->cr0);
	set_table(engine, UC_X86_REG_GDTR, state->gdt.base, state->gdt.limit);
	set_table(engine, UC_X86_REG_IDTR, state->idt.base, state->idt.limit);
	for (size_t i = 0; i < TZ_ARRAY_LEN(segments); i++)
		TZ_ASSERT(uc_reg_write(engine->uc, segments[i].id,
			      &segments[i].selector) == UC_ERR_OK);
	for (size_t i = 0; i < TZ_ARRAY_LEN(state->gpr); i++)
		engine_set(
		    engine, (enum engine_reg)(ENGINE_RAX + i), state->gpr[i]);
	engine_set(engine, ENGINE_RFLAGS, state->rflags);
	engine_set(engine, ENGINE_RIP, state->rip);
	engine_keep_ring0(engine);
}

enum engine_end
engine_run(struct engine *engine)
{
	uc_err error;

	engine->excepted = false;
	engine->stopped = false;
	error = uc_emu_start(
	    engine->uc, engine_get(engine, ENGINE_RIP), 0, 0, 0);
	if (engine->stopped)
		return ENGINE_STOPPED;
	if (engine->excepted)
		return ENGINE_EXCEPTION;
	snprintf(engine->text, sizeof(engine->text), "%s",
	    error == UC_ERR_OK ? "the engine stopped of itself"
			       : uc_strerror(error));
	return ENGINE_ERROR;
}

unsigned
engine_vector(const struct engine *engine)
{
	return engine->vector;
}

const char *
engine_text(const struct engine *engine)
{
	return engine->text;
}

/* Without the write of RIP, 2.1.1 restarts at the wrong instruction. */
void
engine_stop(struct engine *engine, uint64_t rip)
{
	engine->stopped = true;
	engine_set(engine, ENGINE_RIP, rip);
	TZ_ASSERT(uc_emu_stop(engine->uc) == UC_ERR_OK);
}

void
engine_keep_ring0(struct engine *engine)
{
	TZ_ASSERT(uc_context_save(engine->uc, engine->ring0) == UC_ERR_OK);
}

/*
 * After the ring 0 copy was restored: writes all registers except those that make
 * the privilege level.
 */
static void
write_program(struct engine *engine)
{
	const struct program_state *state = &engine->program;

	TZ_ASSERT(uc_reg_write_batch(engine->uc, engine->ids, engine->at,
		      WRITTEN_REGS) == UC_ERR_OK);
	/* Writing control registers flushes the engine's caches, so write only
	 * changed ones. */
	for (int r = ENGINE_CR0; r <= ENGINE_CR4; r++) {
		if (engine_get(engine, (enum engine_reg)r) != state->reg[r])
			engine_set(engine, (enum engine_reg)r, state->reg[r]);
	}
}

/* Restoring also clears the engine's record of an exception (old_exception). */
void
engine_enter_ring0(struct engine *engine)
{
	read_program(engine);
	TZ_ASSERT(uc_context_restore(engine->uc, engine->ring0) == UC_ERR_OK);
	write_program(engine);
}

static bool
is_in_copy(struct engine *engine, enum engine_reg reg)
{
	uint64_t value = 0;

	TZ_ASSERT(uc_context_reg_read(engine->ring0, reg_ids[reg], &value) ==
	    UC_ERR_OK);
	return value == engine_get(engine, reg);
}

bool
engine_is_ring0(struct engine *engine)
{
	return is_in_copy(engine, ENGINE_CS) && is_in_copy(engine, ENGINE_SS);
}

uint64_t
engine_hash(struct engine *engine)
{
	read_program(engine);
	engine->program.reg[ENGINE_REG_COUNT] = engine_get_msr(
	    engine, MSR_EFER);
	return XXH3_64bits(&engine->program, sizeof(engine->program));
}

void
engine_copy(struct engine *to, struct engine *from)
{
	uc_context *kept = to->ring0;

	TZ_ASSERT(uc_context_save(from->uc, to->scratch) == UC_ERR_OK);
	TZ_ASSERT(uc_context_restore(to->uc, to->scratch) == UC_ERR_OK);
	/* A context is not bound to an engine, so the engines can exchange
	 * theirs. */
	to->ring0 = from->ring0;
	from->ring0 = kept;
}

void
engine_hook(struct engine *engine, struct engine_site *site)
{
	TZ_ASSERT(engine->ops.site != NULL);
	TZ_ASSERT(add_hook_in(engine, UC_HOOK_CODE, (callback)engine->ops.site,
	    engine->ops.arg, site));
}

/*
 * Without paging a linear address is the physical one, and none that uc_hook_del() looks up
 * can fault.
 */
static void
leave_paging(struct engine *engine)
{
	uint64_t cr0 = CR0_BOOT & ~CR0_PG;

	TZ_ASSERT(uc_context_save(engine->uc, engine->scratch) == UC_ERR_OK);
	TZ_ASSERT(uc_reg_write(engine->uc, UC_X86_REG_CR0, &cr0) == UC_ERR_OK);
}

static void
return_to_paging(struct engine *engine)
{
	TZ_ASSERT(uc_context_restore(engine->uc, engine->scratch) == UC_ERR_OK);
	engine_flush_tlb(engine);
}

void
engine_unhook(
    struct engine *engine, const struct engine_site *site, size_t count)
{
	leave_paging(engine);
	for (size_t i = 0; i < count; i++)
		TZ_ASSERT(uc_hook_del(engine->uc, site[i].hook) == UC_ERR_OK);
	return_to_paging(engine);
}

void
engine_forget(struct engine *engine, uint64_t va, uint64_t size)
{
	uint64_t end = va + size;

	TZ_ASSERT(size > 0);
	/* The call assumes that the next page is in the next frame, so call it page
	 * by page. */
	for (uint64_t next; va < end; va = next) {
		next = (va | (TZ_PAGE_BYTES - 1)) + 1;
		TZ_ASSERT(uc_ctl_remove_cache(engine->uc, va,
			      next < end ? next : end) == UC_ERR_OK);
	}
}

/* uc_ctl_remove_cache() takes linear addresses: they are physical without paging. */
void
engine_forget_frame(struct engine *engine, uint64_t pa)
{
	TZ_ASSERT(pa % TZ_PAGE_BYTES == 0);
	leave_paging(engine);
	engine_forget(engine, pa, TZ_PAGE_BYTES);
	return_to_paging(engine);
}

void
engine_flush_tlb(struct engine *engine)
{
	TZ_ASSERT(uc_ctl_flush_tlb(engine->uc) == UC_ERR_OK);
}

void
engine_forget_all(struct engine *engine)
{
	TZ_ASSERT(uc_ctl_flush_tb(engine->uc) == UC_ERR_OK);
}

uint32_t
engine_version(void)
{
	return uc_version(NULL, NULL);
}
