/*
 * One execution engine: with startup.c the only file that knows Unicorn.  It runs guest
 * code until something stops it, and reports the cause; it delivers nothing, models no
 * device and decides nothing.  Every difference between engine versions is handled here.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_ENGINE_H
#define TOPAZ_EMU_CPU_ENGINE_ENGINE_H

#include "emu/base/base.h"

struct engine;
struct uc_struct; /* opaque; the first argument of the engine's callbacks */

#define ENGINE_REG(name, unicorn) ENGINE_##name,
enum engine_reg {
#include "emu/cpu/engine/engine_reg.def"
	ENGINE_REG_COUNT
};
#undef ENGINE_REG

enum engine_table { ENGINE_GDTR, ENGINE_IDTR, ENGINE_TR };

/*
 * Code that is about to run.  In a block engine [va, va + size) is what runs next
 * without interruption, as the engine cuts it; in a step engine it is one
 * instruction.  It has not run yet, and after engine_stop() it does not run.
 */
typedef void (*engine_code_fn)(
    struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);

struct engine_ops {
	void *arg;
	engine_code_fn code;  /* every block (block engine) or instruction (step
				 engine); NULL: nothing is announced */
	engine_code_fn enter; /* code that a step engine has translated as one
				 unit, before .code of its first instruction */
	engine_code_fn site;  /* an address given to engine_hook() */
	/* Accesses to the local APIC's page, of 32 bits and of any other size. */
	uint64_t (*mmio_read)(void *arg, uint64_t offset, unsigned bytes);
	void (*mmio_write)(
	    void *arg, uint64_t offset, unsigned bytes, uint64_t value);
};

enum engine_end {
	ENGINE_STOPPED,   /* engine_stop() was called */
	ENGINE_EXCEPTION, /* engine_vector() returns which; RIP is the
			     instruction; #UD also for an instruction that only
			     the engine does not know */
	ENGINE_ERROR,     /* anything else: engine_text() */
};

/*
 * RAM becomes physical [0, ram_bytes); a page at MMIO_PA goes to the callbacks.
 * STEP makes an engine that calls .code before every instruction.  Returns NULL and
 * describes the cause: no memory, or an engine older than 2.1.1.
 */
struct engine *engine_create(uint8_t *ram, uint64_t ram_bytes, uint64_t mmio_pa,
    const struct engine_ops *ops, bool step, struct tz_error *err);
void engine_destroy(struct engine *engine);

enum engine_end engine_run(struct engine *engine);
unsigned engine_vector(const struct engine *engine);
const char *engine_text(const struct engine *engine);

/* Only from a callback: ends engine_run() with RIP = RIP. */
void engine_stop(struct engine *engine, uint64_t rip);

#define CR0_PG TZ_BIT(31)

uint64_t engine_get(struct engine *engine, enum engine_reg reg);
void engine_set(struct engine *engine, enum engine_reg reg, uint64_t value);
/* RAX to R15, the segment bases of effective addresses, and RFLAGS. */
void engine_get_general(struct engine *engine, uint64_t gpr[16],
    uint64_t *fs_base, uint64_t *gs_base, uint64_t *rflags);
void engine_get_table(struct engine *engine, enum engine_table table,
    uint64_t *base, uint32_t *limit);

/* x87, MMX and SSE state in the layout of FXSAVE64, without pointers and opcode. */
#define ENGINE_FX_BYTES 512
void engine_get_fx(struct engine *engine, uint8_t image[ENGINE_FX_BYTES]);
void engine_set_fx(struct engine *engine, const uint8_t image[ENGINE_FX_BYTES]);

/* MSRs that the engine itself uses (EFER, STAR, LSTAR, FMASK, KERNEL_GS_BASE). */
uint64_t engine_get_msr(struct engine *engine, uint32_t msr);
void engine_set_msr(struct engine *engine, uint32_t msr, uint64_t value);

/* Long mode with paging at CPL 0 and flat segments: see emu/guest_abi.h. */
void engine_reset(struct engine *engine, uint64_t cr3);

/* Sets the GDT, and the selectors alone of CS and of DS, ES and SS. */
void engine_set_segments(struct engine *engine, uint64_t gdt, uint32_t limit,
    uint16_t cs, uint16_t ds);

/* After engine_reset(): the state at which start-up code ended. */
struct startup_state;
void engine_set_startup(
    struct engine *engine, const struct startup_state *state);

/*
 * The engine cannot raise its privilege by writing CS.  engine_keep_ring0(), to be
 * called while at CPL 0 and after each change of the system registers, keeps a copy
 * of the whole state.  engine_enter_ring0() restores that copy, except all that a
 * program sees (general, flag, control and vector registers, FS, GS).
 */
void engine_keep_ring0(struct engine *engine);
void engine_enter_ring0(struct engine *engine);
/* True if the code and stack segments already are those of the copy. */
bool engine_is_ring0(struct engine *engine);

/*
 * Makes TO's architectural state equal to FROM's, kept ring 0 copy included.  The
 * TLB is not changed, here and when a snapshot is taken or applied: flush it.
 */
void engine_copy(struct engine *to, struct engine *from);

/* A hash of all registers, those of programs and the system registers. */
uint64_t engine_hash(struct engine *engine);

/* The architectural state, to be restored later; NULL: no memory. */
struct engine_snapshot;
struct engine_snapshot *engine_snapshot_take(struct engine *engine);
void engine_snapshot_apply(
    struct engine *engine, const struct engine_snapshot *snapshot);
void engine_snapshot_free(struct engine_snapshot *snapshot);

/*
 * A snapshot as engine_packed_bytes() bytes, for another process with the same version of
 * the engine: how it differs from the state of a new engine.  So no address of this
 * process is in it.  False, NULL: no memory.  The state of ENGINE does not change.
 */
size_t engine_packed_bytes(struct engine *engine);
bool engine_snapshot_pack(struct engine *engine,
    const struct engine_snapshot *snapshot, uint8_t *bytes);
struct engine_snapshot *engine_snapshot_unpack(
    struct engine *engine, const uint8_t *bytes);
/* The version of the engine, as one number. */
uint32_t engine_version(void);

/* The instructions in [.va, .last_va]. */
struct engine_site {
	uint64_t va, last_va;
	size_t hook; /* the engine's name of it */
};

/*
 * Calls engine_ops.site before each execution of an instruction of SITE, and sets .hook.
 * RFLAGS is correct only if no instruction between two hooked ones of a block is not
 * hooked: 2.1.1 updates the flags for the second hook only if another kind of instruction
 * has set them last.
 */
void engine_hook(struct engine *engine, struct engine_site *site);
/*
 * Takes the hooks of COUNT sites back.  What was translated with them may go on to call
 * engine_ops.site, or not: it must be dropped before it runs again.  The TLB is empty
 * afterwards.
 */
void engine_unhook(
    struct engine *engine, const struct engine_site *site, size_t count);

/* Drops translations of [va, va + size), so that new hooks take effect. */
void engine_forget(struct engine *engine, uint64_t va, uint64_t size);
/* The same for the frame at PA; the TLB is empty afterwards. */
void engine_forget_frame(struct engine *engine, uint64_t pa);
/* The same for all code: takes up to a second. */
void engine_forget_all(struct engine *engine);
void engine_flush_tlb(struct engine *engine);

#endif
