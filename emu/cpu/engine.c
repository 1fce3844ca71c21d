#include "emu/cpu/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MSR_EFER   0xc0000080u
#define EFER_BOOT  0xd01u      /* SCE LME LMA NXE */
#define CR0_BOOT   0x80010033u /* PG WP NE ET MP PE */
#define CR4_BOOT   0x620u      /* PAE OSFXSR OSXMMEXCPT */
#define MMIO_BYTES 0x1000

/* What a program sees and a change of privilege must not lose. */
#define VECTOR_REGS 16
#define X87_REGS    8
#define TABLE_REGS  4

struct engine {
	uc_engine *uc;
	uc_context *ring0;   /* kept at CPL 0 */
	uc_context *scratch; /* for copies */
	struct engine_ops ops;
	unsigned vector;
	bool excepted, stopped;
	char text[128];
};

static const int reg_ids[ENGINE_REG_COUNT] = {
	[ENGINE_RAX] = UC_X86_REG_RAX,
	[ENGINE_RCX] = UC_X86_REG_RCX,
	[ENGINE_RDX] = UC_X86_REG_RDX,
	[ENGINE_RBX] = UC_X86_REG_RBX,
	[ENGINE_RSP] = UC_X86_REG_RSP,
	[ENGINE_RBP] = UC_X86_REG_RBP,
	[ENGINE_RSI] = UC_X86_REG_RSI,
	[ENGINE_RDI] = UC_X86_REG_RDI,
	[ENGINE_R8] = UC_X86_REG_R8,
	[ENGINE_R9] = UC_X86_REG_R9,
	[ENGINE_R10] = UC_X86_REG_R10,
	[ENGINE_R11] = UC_X86_REG_R11,
	[ENGINE_R12] = UC_X86_REG_R12,
	[ENGINE_R13] = UC_X86_REG_R13,
	[ENGINE_R14] = UC_X86_REG_R14,
	[ENGINE_R15] = UC_X86_REG_R15,
	[ENGINE_RIP] = UC_X86_REG_RIP,
	[ENGINE_RFLAGS] = UC_X86_REG_EFLAGS,
	[ENGINE_CS] = UC_X86_REG_CS,
	[ENGINE_SS] = UC_X86_REG_SS,
	[ENGINE_CR0] = UC_X86_REG_CR0,
	[ENGINE_CR2] = UC_X86_REG_CR2,
	[ENGINE_CR3] = UC_X86_REG_CR3,
	[ENGINE_CR4] = UC_X86_REG_CR4,
	[ENGINE_FS_BASE] = UC_X86_REG_FS_BASE,
	[ENGINE_GS_BASE] = UC_X86_REG_GS_BASE,
};

static void
on_exception(uc_engine *uc, uint32_t vector, void *arg)
{
	struct engine *engine = arg;

	engine->excepted = true;
	engine->vector = vector;
	uc_emu_stop(uc);
}

/* Engines before 2.1.4 report vector 6 as well; both ways end up here. */
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

/* Unicorn takes callbacks as object pointers; POSIX makes the two alike. */
typedef void (*callback)(void);

static bool
add_hook(struct engine *engine, int type, callback function, void *arg,
    uint64_t begin, uint64_t end)
{
	uc_hook hook;
	void *pointer;

	memcpy(&pointer, &function, sizeof(pointer));
	return uc_hook_add(engine->uc, &hook, type, pointer, arg, begin, end) ==
	    UC_ERR_OK;
}

static bool
add_hooks(struct engine *engine, uint64_t mmio_pa, bool step)
{
	uint64_t none = 1, all = 0; /* begin > end: everywhere */

	return add_hook(engine, UC_HOOK_INTR, (callback)on_exception, engine,
		   none, all) &&
	    add_hook(engine, UC_HOOK_INSN_INVALID, (callback)on_invalid, engine,
		none, all) &&
	    uc_mmio_map(engine->uc, mmio_pa, MMIO_BYTES, on_mmio_read, engine,
		on_mmio_write, engine) == UC_ERR_OK &&
	    (engine->ops.code == NULL ||
		add_hook(engine, step ? UC_HOOK_CODE : UC_HOOK_BLOCK,
		    (callback)engine->ops.code, engine->ops.arg, none, all));
}

struct engine *
engine_create(uint8_t *ram, uint64_t ram_bytes, uint64_t mmio_pa,
    const struct engine_ops *ops, bool step, struct tz_error *err)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	unsigned major, minor;

	TZ_ASSERT(ram_bytes % MMIO_BYTES == 0 && ram_bytes <= mmio_pa);
	TZ_ASSERT(ops->mmio_read != NULL && ops->mmio_write != NULL);
	if (engine == NULL) {
		tz_error(err, TZ_EIO, "out of memory for an engine");
		return NULL;
	}
	engine->ops = *ops;
	uc_version(&major, &minor);
	if (major < 2 || (major == 2 && minor < 1)) {
		tz_error(err, TZ_EIO, "Unicorn %u.%u is too old: 2.1.1 needed",
		    major, minor);
		goto fail;
	}
	if (uc_open(UC_ARCH_X86, UC_MODE_64, &engine->uc) != UC_ERR_OK ||
	    uc_ctl_set_cpu_model(engine->uc, UC_CPU_X86_SKYLAKE_CLIENT) !=
		UC_ERR_OK ||
	    uc_ctl_exits_enable(engine->uc) != UC_ERR_OK ||
	    uc_mem_map_ptr(engine->uc, 0, ram_bytes, UC_PROT_ALL, ram) !=
		UC_ERR_OK ||
	    !add_hooks(engine, mmio_pa, step) ||
	    uc_context_alloc(engine->uc, &engine->ring0) != UC_ERR_OK ||
	    uc_context_alloc(engine->uc, &engine->scratch) != UC_ERR_OK) {
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
engine_set(struct engine *engine, enum engine_reg reg, uint64_t value)
{
	uint64_t cr3 = reg == ENGINE_CR2 ? engine_get(engine, ENGINE_CR3) : 0;

	TZ_ASSERT(reg < ENGINE_REG_COUNT);
	TZ_ASSERT(uc_reg_write(engine->uc, reg_ids[reg], &value) == UC_ERR_OK);
	/* 2.1.1 puts what is written to CR2 into CR3 as well. */
	if (reg == ENGINE_CR2 && engine_get(engine, ENGINE_CR3) != cr3)
		engine_set(engine, ENGINE_CR3, cr3);
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
	engine_set(engine, ENGINE_CR4, CR4_BOOT);
	engine_set(engine, ENGINE_CR3, cr3);
	engine_set_msr(engine, MSR_EFER, EFER_BOOT);
	engine_set(engine, ENGINE_CR0, CR0_BOOT);
	engine_set(engine, ENGINE_RFLAGS, 2);
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

/* What engine_enter_ring0() carries over, beside vector and x87 registers. */
struct program_state {
	uint64_t reg[ENGINE_REG_COUNT + 1]; /* EFER, where it is wanted */
	uc_x86_mmr table[TABLE_REGS];
	uint64_t kernel_gs_base;
	uint32_t mxcsr;
	uint16_t fpcw, fpsw, fptag;
	uint8_t vector[VECTOR_REGS][32];
	uint8_t x87[X87_REGS][16];
};

#define MSR_KERNEL_GS_BASE 0xc0000102u

/* LGDT and the like end no block, so nobody notices them when they run. */
static const int table_ids[TABLE_REGS] = { UC_X86_REG_GDTR, UC_X86_REG_IDTR,
	UC_X86_REG_LDTR, UC_X86_REG_TR };

static void
read_program(struct engine *engine, struct program_state *state)
{
	uc_engine *uc = engine->uc;

	for (int r = 0; r < ENGINE_REG_COUNT; r++)
		state->reg[r] = engine_get(engine, (enum engine_reg)r);
	for (int t = 0; t < TABLE_REGS; t++)
		uc_reg_read(uc, table_ids[t], &state->table[t]);
	state->kernel_gs_base = engine_get_msr(engine, MSR_KERNEL_GS_BASE);
	uc_reg_read(uc, UC_X86_REG_MXCSR, &state->mxcsr);
	uc_reg_read(uc, UC_X86_REG_FPCW, &state->fpcw);
	uc_reg_read(uc, UC_X86_REG_FPSW, &state->fpsw);
	uc_reg_read(uc, UC_X86_REG_FPTAG, &state->fptag);
	for (int i = 0; i < VECTOR_REGS; i++)
		uc_reg_read(uc, UC_X86_REG_YMM0 + i, state->vector[i]);
	for (int i = 0; i < X87_REGS; i++)
		uc_reg_read(uc, UC_X86_REG_FP0 + i, state->x87[i]);
}

static void
write_program(struct engine *engine, const struct program_state *state)
{
	uc_engine *uc = engine->uc;

	for (int r = 0; r < ENGINE_REG_COUNT; r++) {
		if (r == ENGINE_CS || r == ENGINE_SS || r == ENGINE_RIP)
			continue;
		/* Control registers flush what the engine has cached. */
		if (r >= ENGINE_CR0 && r <= ENGINE_CR4 &&
		    engine_get(engine, (enum engine_reg)r) == state->reg[r])
			continue;
		engine_set(engine, (enum engine_reg)r, state->reg[r]);
	}
	for (int t = 0; t < TABLE_REGS; t++)
		uc_reg_write(uc, table_ids[t], &state->table[t]);
	engine_set_msr(engine, MSR_KERNEL_GS_BASE, state->kernel_gs_base);
	uc_reg_write(uc, UC_X86_REG_MXCSR, &state->mxcsr);
	uc_reg_write(uc, UC_X86_REG_FPCW, &state->fpcw);
	uc_reg_write(uc, UC_X86_REG_FPSW, &state->fpsw);
	uc_reg_write(uc, UC_X86_REG_FPTAG, &state->fptag);
	for (int i = 0; i < VECTOR_REGS; i++)
		uc_reg_write(uc, UC_X86_REG_YMM0 + i, state->vector[i]);
	for (int i = 0; i < X87_REGS; i++)
		uc_reg_write(uc, UC_X86_REG_FP0 + i, state->x87[i]);
}

/* Going back also clears the engine's memory of an exception (old_exception). */
void
engine_enter_ring0(struct engine *engine)
{
	struct program_state state;

	read_program(engine, &state);
	TZ_ASSERT(uc_context_restore(engine->uc, engine->ring0) == UC_ERR_OK);
	write_program(engine, &state);
}

uint64_t
engine_hash(struct engine *engine)
{
	struct program_state state;

	memset(&state, 0, sizeof(state));
	read_program(engine, &state);
	state.reg[ENGINE_REG_COUNT] = engine_get_msr(engine, MSR_EFER);
	return XXH3_64bits(&state, sizeof(state));
}

void
engine_copy(struct engine *to, struct engine *from)
{
	uc_context *kept = to->ring0;

	TZ_ASSERT(uc_context_save(from->uc, to->scratch) == UC_ERR_OK);
	TZ_ASSERT(uc_context_restore(to->uc, to->scratch) == UC_ERR_OK);
	/* Contexts belong to no engine: the copies may change owners. */
	to->ring0 = from->ring0;
	from->ring0 = kept;
	engine_flush_tlb(to);
}

void
engine_hook(struct engine *engine, uint64_t va)
{
	TZ_ASSERT(engine->ops.site != NULL);
	TZ_ASSERT(add_hook(engine, UC_HOOK_CODE, (callback)engine->ops.site,
	    engine->ops.arg, va, va));
}

void
engine_forget(struct engine *engine, uint64_t va, uint64_t size)
{
	TZ_ASSERT(size > 0);
	TZ_ASSERT(uc_ctl_remove_cache(engine->uc, va, va + size) == UC_ERR_OK);
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

struct engine_snapshot {
	uc_context *state, *ring0;
};

struct engine_snapshot *
engine_snapshot_take(struct engine *engine)
{
	struct engine_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot == NULL)
		return NULL;
	if (uc_context_alloc(engine->uc, &snapshot->state) != UC_ERR_OK ||
	    uc_context_alloc(engine->uc, &snapshot->ring0) != UC_ERR_OK) {
		engine_snapshot_free(snapshot);
		return NULL;
	}
	/* A context is copied by way of the engine. */
	TZ_ASSERT(uc_context_save(engine->uc, snapshot->state) == UC_ERR_OK);
	TZ_ASSERT(uc_context_restore(engine->uc, engine->ring0) == UC_ERR_OK);
	TZ_ASSERT(uc_context_save(engine->uc, snapshot->ring0) == UC_ERR_OK);
	TZ_ASSERT(uc_context_restore(engine->uc, snapshot->state) == UC_ERR_OK);
	engine_flush_tlb(engine);
	return snapshot;
}

void
engine_snapshot_free(struct engine_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	if (snapshot->state != NULL)
		uc_context_free(snapshot->state);
	if (snapshot->ring0 != NULL)
		uc_context_free(snapshot->ring0);
	free(snapshot);
}

void
engine_snapshot_apply(
    struct engine *engine, const struct engine_snapshot *snapshot)
{
	TZ_ASSERT(uc_context_restore(engine->uc, snapshot->ring0) == UC_ERR_OK);
	TZ_ASSERT(uc_context_save(engine->uc, engine->ring0) == UC_ERR_OK);
	TZ_ASSERT(uc_context_restore(engine->uc, snapshot->state) == UC_ERR_OK);
	engine_flush_tlb(engine);
}
