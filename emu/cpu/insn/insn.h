/*
 * The properties of one instruction that the CPU model needs, decoded from its
 * bytes.  In emu/, only the files of this folder use Zydis. 64-bit mode only.
 */
#ifndef TOPAZ_EMU_CPU_INSN_INSN_H
#define TOPAZ_EMU_CPU_INSN_INSN_H

#include "emu/base/base.h"

#define INSN_BYTES_MAX 15

/*
 * Classes from INSN_TRAP_FIRST on never run on the engine: the machine executes
 * them.  INSN_UNMODELLED ends the run.  INSN_CHECKED runs on the engine if its
 * memory operand does not fault: on a fault, the engine would lose RFLAGS or tags,
 * do half of a store, or not fault at all.  INSN_CMPXCHG32 also runs on the engine,
 * unless the engine might clear bits 63:32 of RAX.
 */
enum insn_class {
	INSN_PLAIN,
	INSN_REP,  /* string instruction with a REP prefix */
	INSN_COND, /* Jcc, JrCXZ, LOOPcc */
	INSN_JMP_DIRECT,
	INSN_CALL_DIRECT,
	INSN_JMP_INDIRECT,
	INSN_CALL_INDIRECT,
	INSN_RET,
	INSN_FAR, /* far JMP, CALL, RET */
	INSN_IRET,
	INSN_SYSRET,
	INSN_MOV_CR3,
	INSN_SYSTEM, /* LMSW, CLTS */
	INSN_INVLPG,
	INSN_STI,
	INSN_POPF,
	INSN_SITE_FIRST,
	INSN_CHECKED = INSN_SITE_FIRST,
	INSN_CMPXCHG32, /* CMPXCHG of 32 bits of memory */
	INSN_TRAP_FIRST,
	INSN_SYSCALL = INSN_TRAP_FIRST,
	INSN_RDMSR,
	INSN_WRMSR,
	INSN_CPUID,
	INSN_RDTSC,
	INSN_RDTSCP,
	INSN_RDPMC,
	INSN_XGETBV,
	INSN_XSETBV,
	INSN_XSAVE,
	INSN_XSAVEOPT,
	INSN_XSAVEC,
	INSN_XSAVES,
	INSN_XRSTOR,
	INSN_XRSTORS,
	INSN_HLT,
	INSN_PAUSE,
	INSN_OUT,
	INSN_IN,
	INSN_PTWRITE,
	INSN_CMPXCHG32_REG, /* CMPXCHG of a 32-bit register */
	INSN_CMPXCHG_PAIR,  /* CMPXCHG8B, CMPXCHG16B */
	INSN_FLOAT,         /* x87, MMX, and SSE floating-point arithmetic */
	INSN_MOV_DR,        /* MOV to and from a debug register */
	INSN_MOV_CR8,
	INSN_MOV_CR, /* MOV to CR0 and CR4 */
	INSN_INT1,
	INSN_BREAKPOINT, /* no instruction: #DB in place of one */
	INSN_CLI,        /* runs on the engine unless Event Trace exists */
	INSN_ABSENT,     /* from an extension that no profile announces:
			       #UD */
	INSN_UNMODELLED,
	INSN_CLASS_COUNT
};

/*
 * MOVS, STOS, CMPS or SCAS with a REP prefix and 64-bit addresses in flat segments: all
 * use [RDI], MOVS and STOS store to it.
 */
struct insn_string {
	uint8_t bytes;    /* of an operand; 0: it is no such instruction */
	bool source;      /* MOVS, CMPS: the other operand is [RSI], not RAX */
	bool while_equal; /* CMPS, SCAS: REPE, not REPNE */
};

struct insn {
	enum insn_class class;
	uint8_t length;
	bool stores; /* to memory other than the stack through RSP */
	struct insn_string string;
	uint64_t target; /* direct branches: the address when taken */
};

/*
 * Decodes the instruction at VA from COUNT bytes.  False: the bytes are not an
 * instruction, or too few.
 */
bool insn_decode(
    const uint8_t *bytes, size_t count, uint64_t va, struct insn *insn);

/* Writes "mov rax, [rbx]" to TEXT, or the bytes in hex if they are not an instruction. */
void insn_format(const uint8_t *bytes, size_t count, uint64_t va, char *text,
    size_t text_size);

/* True if CLASS changes no state of the CPU except its registers and RIP. */
static inline bool insn_is_simple(enum insn_class class)
{
	return class <= INSN_RET;
}

/* True if the class ends a run of sequential instructions: every class of branch. */
static inline bool insn_is_transfer(enum insn_class class)
{
	return class >= INSN_COND && class <= INSN_SYSRET;
}

/* Register file for effective addresses, in the order of the encoding. */
struct insn_regs {
	uint64_t gpr[16];
	uint64_t fs_base, gs_base;
	uint64_t rflags;
};

/* True if the conditional branch at BYTES is taken with the RCX and RFLAGS of REGS. */
bool insn_cond_taken(
    const uint8_t *bytes, size_t count, const struct insn_regs *regs);

/*
 * The explicit memory operand of the instruction at BYTES, with the registers REGS:
 * its address, its size and whether the instruction writes it.  False: it has none.
 */
struct insn_memory {
	uint64_t va;
	unsigned bytes;
	bool read, written;
	bool stack;   /* in SS: not canonical is #SS, not #GP */
	bool aligned; /* #GP unless its address is a multiple of 16 */
};
bool insn_memory_operand(const uint8_t *bytes, size_t count, uint64_t va,
    const struct insn_regs *regs, struct insn_memory *memory);

/*
 * True if the instruction at BYTES uses no memory except through RSP (stack
 * operations, operands based on RSP), no device, MSR, port or control register,
 * changes the interrupt flag only by CLI, and is not atomic.
 */
bool insn_is_local(const uint8_t *bytes, size_t count);

/* Numbers of registers: 0 to 15 in the order of the encoding, and two more. */
enum { INSN_REG_FS_BASE = 16, INSN_REG_GS_BASE, INSN_REGS };
#define INSN_NO_REG       0xff
#define INSN_RCX          1
#define INSN_RBP          5
#define INSN_ACCESSES_MAX 2

/*
 * A load or store: an explicit operand, or the operand of a string instruction.  A
 * REP accesses one element each iteration, and none if RCX is 0. XSAVES and XRSTORS
 * access the header and component 8. Not included: hidden operands of other
 * instructions (PUSH, CALL and LEAVE on the stack, XLAT, MASKMOVQ); prefetches and
 * cache control, which access nothing.
 */
struct insn_access {
	uint64_t disp;
	uint32_t bytes;
	uint8_t base, index, segment; /* registers, or INSN_NO_REG */
	uint8_t bits; /* register with a bit number that may exceed the operand,
			 or INSN_NO_REG */
	uint8_t scale; /* of .index */
	bool write;    /* a store; it may load as well */
	bool rep;
	bool small; /* 32-bit address */
};

/*
 * The loads and stores of the instruction at BYTES, and what it does to registers:
 * .to becomes .from + .add (.from INSN_NO_REG: .add; .to INSN_NO_REG: no such
 * register); those in .written (one bit each) get an unknown value.
 */
struct insn_uses {
	struct insn_access access[INSN_ACCESSES_MAX];
	unsigned access_count;
	uint32_t written;
	uint8_t to, from;
	uint64_t add;
};
void insn_uses(
    const uint8_t *bytes, size_t count, uint64_t va, struct insn_uses *uses);

/* The address of ACCESS, whose registers are indexes of VALUE. */
uint64_t insn_access_va(
    const struct insn_access *access, const uint64_t *value);

/* The memory of ACCESS with the registers REGS, over all iterations of a REP. */
struct insn_extent {
	uint64_t va, bytes;
};
void insn_access_extent(const struct insn_access *access,
    const struct insn_regs *regs, struct insn_extent *extent);

/*
 * True if the instruction loads and stores one operand of 1, 2, 4 or 8 bytes in two
 * steps between which another CPU can access it: no LOCK, no XCHG, no string
 * instruction, not through RSP.
 */
bool insn_is_split(const uint8_t *bytes, size_t count);

/*
 * The instruction's access to the page of PAGE_VA, hidden operands included.  An
 * operand that is only read comes before one that is written (MOVS, PUSH, POP).
 */
struct insn_page {
	bool written;
	bool read_first;
};
struct insn_page insn_page(const uint8_t *bytes, size_t count, uint64_t va,
    const struct insn_regs *regs, uint64_t page_va);

/*
 * True if an operand refers to an address in [begin, end): relative to RIP,
 * absolute, or as an immediate value.
 */
bool insn_refers_to(const uint8_t *bytes, size_t count, uint64_t va,
    uint64_t begin, uint64_t end);

/* The x87 functions whose result is an approximation. */
enum insn_function {
	INSN_NO_FUNCTION,
	INSN_F2XM1,
	INSN_FYL2X,
	INSN_FYL2XP1,
	INSN_FPATAN,
	INSN_FPTAN,
	INSN_FSIN,
	INSN_FCOS,
	INSN_FSINCOS,
};

/*
 * An INSN_FLOAT in a form that the host's CPU can run anywhere: a memory operand is
 * at the address in RAX, and a general register, except AX of FNSTSW, is RCX.
 */
struct insn_float {
	uint8_t code[INSN_BYTES_MAX];
	unsigned length;
	int gpr;     /* register whose value RCX holds; -1: none */
	bool memory; /* see insn_memory_operand() */
	bool x87, sse;
	bool waits; /* x87 or MMX: #MF where an x87 exception is pending */
	bool simd;  /* it raises SIMD floating-point exceptions */
	bool loads_mxcsr; /* LDMXCSR */
	bool loads_fx;    /* FXRSTOR */
	enum insn_function function;
	uint16_t undefined; /* condition codes that it leaves undefined */
};
void insn_float(const uint8_t *bytes, size_t count, struct insn_float *out);

/* The operands of MOV to (STORE) or from DR0 to DR7 or CR8; GPR as in insn_regs. */
struct insn_special {
	unsigned number, gpr;
	bool store;
};
struct insn_special insn_special_operands(const uint8_t *bytes, size_t count);

/* True if RAX is below 2^32 after the instruction; SMALL: it was before. */
bool insn_keeps_rax_small(const uint8_t *bytes, size_t count, bool small);

/* The general registers of a CMPXCHG; *DEST -1: that operand is in memory. */
void insn_cmpxchg_operands(
    const uint8_t *bytes, size_t count, int *dest, int *source);

/* INT n, INT3, INT1: the vector it raises, else -1. */
int insn_software_vector(const uint8_t *bytes, size_t count);

/* True for UD0, UD1 and UD2, which are invalid by definition. */
bool insn_is_ud(const uint8_t *bytes, size_t count);

/* The operands of IN or OUT: the port, or -1 if DX holds it, and the size in bytes. */
void insn_port_operands(
    const uint8_t *bytes, size_t count, int *port, unsigned *bytes_out);

/*
 * What the PTWRITE at BYTES writes: the number of a general register, or -1 for its
 * memory operand; 4 or 8 bytes.  False: a prefix makes it #UD.
 */
bool insn_ptwrite_source(
    const uint8_t *bytes, size_t count, int *gpr, unsigned *bytes_out);

#endif
