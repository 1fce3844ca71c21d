/*
 * MOVS, STOS, CMPS and SCAS with a REP prefix.  The engine enters such an instruction anew
 * for each iteration; here the CPU does many of them at once.  Only the host's time depends
 * on it: those iterations end before a counter is looked at, report nothing, cannot fault,
 * because the engine has done the one before them in the same pages, and are not the
 * last one, which sets the flags.
 */
#include "emu/cpu/state.h"

#include <string.h>

#define RFLAGS_DF TZ_BIT(10)

/* With fewer, the engine is as fast. */
#define ITERATIONS_MIN 4

static uint64_t
lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Operands of BYTES bytes from VA to the end of its page; 0 if the one before VA is not in
 * that page.
 */
static uint64_t
room_at(uint64_t va, unsigned bytes)
{
	uint64_t offset = va % TZ_PAGE_BYTES;

	return offset < bytes ? 0 : (TZ_PAGE_BYTES - offset) / bytes;
}

/* The byte at VA; NULL: it is not in RAM. */
static uint8_t *
ram_at(const struct cpu *cpu, uint64_t va)
{
	struct walk walk;

	if (!walk_page(&cpu->space, (struct gva){ va }, &walk) ||
	    walk.pa.u >= cpu->space.ram_bytes)
		return NULL;
	return cpu->space.ram + walk.pa.u;
}

/* True if AT is in the same page of RAM as the byte at VA. */
static bool
is_in_page_of(const struct cpu *cpu, const uint8_t *at, uint64_t va)
{
	const uint8_t *other = ram_at(cpu, va);

	return other != NULL &&
	    (at - cpu->space.ram) / TZ_PAGE_BYTES ==
	    (other - cpu->space.ram) / TZ_PAGE_BYTES;
}

/*
 * True if the COUNT bytes at TO, in one page, can be stored to before FROM is loaded: they
 * are not loaded again, and are not the instruction at VA itself.
 */
static bool
can_store(const struct cpu *cpu, const struct insn *insn, uint64_t va,
    const uint8_t *to, const uint8_t *from, uint64_t count)
{
	return !is_in_page_of(cpu, to, va) &&
	    !is_in_page_of(cpu, to, va + insn->length - 1) &&
	    (from == NULL || to <= from || to >= from + count);
}

/* Stores the low BYTES bytes of VALUE at TO again and again, COUNT bytes in all. */
static void
fill(uint8_t *to, uint64_t value, unsigned bytes, uint64_t count)
{
	uint64_t done = bytes, more;

	memcpy(to, &value, bytes);
	for (; done < count; done += more) {
		more = lesser(done, count - done);
		memcpy(to + done, to, more);
	}
}

/* How many of COUNT comparisons, from the first one on, let STRING go on. */
static uint64_t
count_going_on(const struct insn_string *string, const uint8_t *a,
    const uint8_t *from, uint64_t rax, uint64_t count)
{
	const uint8_t *b = from != NULL ? from : (const uint8_t *)&rax;
	unsigned step = from != NULL ? string->bytes : 0;
	uint64_t n = 0;

	while (n < count &&
	    (memcmp(a, b, string->bytes) == 0) == string->while_equal) {
		a += string->bytes;
		b += step;
		n++;
	}
	return n;
}

void
cpu_repeat(struct cpu *cpu, struct block *block, uint64_t units)
{
	const struct insn *insn = &block->last;
	const struct insn_string *string = &insn->string;
	struct engine *engine = cpu->active;
	uint64_t left = engine_get(engine, ENGINE_RCX);
	uint64_t count, bytes, rax, rdi, rsi = 0;
	uint8_t *to, *from = NULL;

	if (left <= ITERATIONS_MIN || cpu_is_stepping(cpu) ||
	    (engine_get(engine, ENGINE_RFLAGS) & RFLAGS_DF) != 0)
		return;
	rdi = engine_get(engine, ENGINE_RDI);
	count = lesser(left - 1, room_at(rdi, string->bytes));
	to = ram_at(cpu, rdi);
	if (string->source) {
		rsi = engine_get(engine, ENGINE_RSI);
		count = lesser(count, room_at(rsi, string->bytes));
		from = ram_at(cpu, rsi);
	}
	count = lesser(count, cpu_iterations_left(cpu, block, units));
	bytes = count * string->bytes;
	if (count < ITERATIONS_MIN || to == NULL ||
	    (string->source && from == NULL) ||
	    (insn->stores && !can_store(cpu, insn, block->va, to, from, bytes)))
		return;
	rax = engine_get(engine, ENGINE_RAX);
	if (!insn->stores)
		count = count_going_on(string, to, from, rax, count);
	else if (string->source)
		memmove(to, from, bytes);
	else
		fill(to, rax, string->bytes, bytes);
	cpu_pass_iterations(cpu, block, count);
	engine_set(engine, ENGINE_RCX, left - count);
	engine_set(engine, ENGINE_RDI, rdi + count * string->bytes);
	if (string->source)
		engine_set(engine, ENGINE_RSI, rsi + count * string->bytes);
}
