/*
 * The clocks of a CPU: the core clock, by which everything is scheduled, and the
 * TSC and the crystal clock, which are computed from it exactly.  All of them begin
 * at 0.  The core clock is the cost of what has retired, a cycle an instruction or that
 * of emu/cpu/cost/run.h, and the cycles that passed without an instruction.
 *
 * A block that begins a run of the cost model is priced once.  One that continues a run
 * is priced anew at each exit: its cost depends on the code before it.
 *
 * Model choices: the core clock runs at one ratio to the TSC, that of the CBR
 * values, and does not stop while the CPU is halted: HLT is C1, and by SDM vol. 3,
 * 33.8.3 "Performance Monitoring and Timing" clocks stop in deep C-states.
 */
#include "emu/cpu/state.h"

#include <string.h>

#include <xxhash.h>

#define EDGE_BYTES 32
#define CYC_BYTES  8
#define LIMIT_MAX  (UINT64_C(1) << 50)

uint64_t
cpu_cycles(const struct cpu *cpu)
{
	return cpu_count_units(cpu) / COST_UNITS + cpu->clock.idle_cycles;
}

/* True if each instruction takes one cycle. */
static bool
is_plain(const struct cpu *cpu)
{
	return !cpu->config.profile->cost;
}

/* Adds INSN, at VA, to RUN; NULL: it is not known.  Returns the units that it completes. */
static uint64_t
price_insn(struct cpu *cpu, struct cost_run *run, const struct cost_insn *insn,
    uint64_t va)
{
	if (insn == NULL)
		return COST_UNITS;
	if (insn->uops == NULL && cpu->clock.unknown_form[0] == '\0')
		memcpy(cpu->clock.unknown_form, insn->facts.form,
		    sizeof(cpu->clock.unknown_form));
	return cost_run_add(run, insn, va);
}

/* Adds the first COUNT instructions of BLOCK to RUN.  Returns what is to be charged. */
static uint64_t
price_block(struct cpu *cpu, const struct block *block, unsigned count,
    struct cost_run *run)
{
	uint8_t memory[BLOCK_BYTES_MAX + INSN_BYTES_MAX];
	const struct block_insn *last = &block->insn[count - 1];
	/* It may have overwritten what it has executed. */
	struct cost_code code = { block->va,
		block->bytes != NULL ? block->bytes : memory,
		(size_t)last->at + last->length, count };
	struct cost_run before;
	uint64_t units = 0;

	/* Its page is gone. */
	if (code.bytes == memory &&
	    !walk_read(&cpu->space, (struct gva){ block->va }, memory,
		code.size, NULL))
		return (uint64_t)count * COST_UNITS;
	if (!cost_run_goes_on(run, block->va))
		cost_run_begin(run, run->sum.model);
	if (cost_cache_find_run(cpu->clock.known, run, &code, &units))
		return units;
	before = *run;
	for (unsigned i = 0; i < count; i++) {
		const struct block_insn *insn = &block->insn[i];
		uint64_t va = block->va + insn->at;

		units += price_insn(cpu, run,
		    cost_cache_bytes(cpu->clock.known, code.bytes + insn->at,
			insn->length, va),
		    va);
	}
	units += cost_run_charge(run);
	cost_cache_keep_run(cpu->clock.known, &before, &code, run, units);
	return units;
}

/*
 * cost_chain() of RUN, which is within a page but for its
 * last instruction; 0: it is gone.
 */
static uint64_t
chain_of(struct cpu *cpu, const struct cost_run *run)
{
	uint8_t bytes[COST_RUN_MAX * INSN_BYTES_MAX];
	struct cost_code code = { run->begin, bytes,
		(size_t)(run->next - run->begin), run->count };
	struct cost_insn insn[COST_RUN_MAX];
	uint64_t units;
	size_t at = 0;

	if (code.size > sizeof(bytes) ||
	    !walk_read(&cpu->space, (struct gva){ run->begin }, bytes,
		code.size, NULL))
		return 0;
	if (cost_cache_find_chain(cpu->clock.known, &code, &units))
		return units;
	for (size_t i = 0; i < code.count; i++) {
		const struct cost_insn *known = cost_cache_insn(
		    cpu->clock.known, bytes + at, code.size - at,
		    run->begin + at);

		if (known == NULL)
			return 0;
		insn[i] = *known;
		at += known->facts.length;
	}
	if (at != code.size)
		return 0;
	units = cost_chain(run->sum.model, insn, code.count);
	cost_cache_keep_chain(cpu->clock.known, &code, units);
	return units;
}

/* What is added if RUN, which has ended with LAST and is charged, goes to NEXT. */
static uint64_t
repeat_units(struct cpu *cpu, const struct cost_run *run,
    const struct insn *last, uint64_t next)
{
	if ((last->class != INSN_COND && last->class != INSN_JMP_DIRECT) ||
	    next != last->target || next != run->begin)
		return 0;
	return cost_run_repeat(run, chain_of(cpu, run));
}

/* The instruction INDEX of BLOCK with its cost; NULL: it cannot be read any more. */
static const struct cost_insn *
insn_of(struct cpu *cpu, const struct block *block, unsigned index)
{
	const struct block_insn *insn = &block->insn[index];
	uint64_t va = block->va + insn->at;
	uint8_t bytes[INSN_BYTES_MAX];

	if (block->bytes != NULL)
		memcpy(bytes, block->bytes + insn->at, insn->length);
	else if (!walk_read(&cpu->space, (struct gva){ va }, bytes,
		     insn->length, NULL))
		return NULL;
	return cost_cache_bytes(cpu->clock.known, bytes, insn->length, va);
}

/* The cost of BLOCK if it begins a run. */
static void
price_alone(struct cpu *cpu, struct block *block)
{
	const struct cost_insn *insn;
	struct cost_run run;
	uint64_t units, repeat;

	block->units = 0;
	if (block->insns == 0)
		return;
	cost_run_begin(&run, cpu->config.profile->uarch->cost);
	units = price_block(cpu, block, block->insns, &run);
	block->ends_run = !cost_run_goes_on(&run, block->next_va);
	repeat = repeat_units(cpu, &run, &block->last, block->last.target);
	TZ_ASSERT(units < BLOCK_UNPRICED && repeat < BLOCK_UNPRICED);
	block->units = (uint32_t)units;
	block->repeat = (uint32_t)repeat;
	insn = insn_of(cpu, block, 0);
	block->begins_run = insn != NULL && cost_run_is_alone(insn);
	insn = insn_of(cpu, block, block->insns - 1u);
	block->iteration = insn == NULL ? 0 : insn->iteration;
}

uint64_t
cpu_units_of(struct cpu *cpu, struct block *block)
{
	if (is_plain(cpu))
		return (uint64_t)block->insns * COST_UNITS;
	if (block->units == BLOCK_UNPRICED)
		price_alone(cpu, block);
	return (uint64_t)block->units + block->repeat + block->iteration;
}

bool
cpu_continues_run(struct cpu *cpu, struct block *block)
{
	if (block->insns == 0 || !cost_run_goes_on(&cpu->clock.run, block->va))
		return false;
	(void)cpu_units_of(cpu, block);
	return !block->begins_run;
}

/* The cost of the first COUNT instructions of BLOCK, which go on to NEXT. */
static uint64_t
block_units(struct cpu *cpu, struct block *block, unsigned count, uint64_t next)
{
	struct cost_run *run = &cpu->clock.run;
	uint64_t units;

	/* .repeat of a block that may be overwritten is only as it was. */
	if (!cpu_continues_run(cpu, block) && count == block->insns &&
	    !block->writable) {
		(void)cpu_units_of(cpu, block);
		if (block->ends_run) {
			run->count = 0;
			return block->units +
			    (next == block->last.target ? block->repeat : 0);
		}
	}
	units = price_block(cpu, block, count, run);
	if (count == block->insns)
		units += repeat_units(cpu, run, &block->last, next);
	return units;
}

void
cpu_retire_block(
    struct cpu *cpu, struct block *block, unsigned count, uint64_t next)
{
	uint64_t units = is_plain(cpu) ? (uint64_t)count * COST_UNITS
	    : count == 0               ? 0
				       : block_units(cpu, block, count, next);

	cpu->time.left -= (int64_t)count;
	cpu->time.units_left -= (int64_t)units;
}

void
cpu_pass_iterations(struct cpu *cpu, struct block *block, uint64_t count)
{
	if (is_plain(cpu))
		return;
	(void)cpu_units_of(cpu, block);
	cpu->time.units_left -= (int64_t)(count * block->iteration);
}

void
cpu_retire_one(struct cpu *cpu, uint64_t rip)
{
	struct cost_run *run = &cpu->clock.run;
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = sizeof(bytes);
	uint64_t units = COST_UNITS;

	if (!is_plain(cpu)) {
		while (count > 0 &&
		    !walk_read(
			&cpu->space, (struct gva){ rip }, bytes, count, NULL))
			count--;
		units = price_insn(cpu, run,
		    cost_cache_insn(cpu->clock.known, bytes, count, rip), rip);
		units += cost_run_charge(run);
	}
	cpu->time.left--;
	cpu->time.units_left -= (int64_t)units;
}

uint64_t
cpu_cycles_before(struct cpu *cpu, const struct block *block, unsigned index)
{
	struct cost_run run = cpu->clock.run;
	uint64_t units = (uint64_t)index * COST_UNITS;

	if (!is_plain(cpu) && index > 0)
		units = price_block(cpu, block, index, &run);
	return (cpu_count_units(cpu) + units) / COST_UNITS +
	    cpu->clock.idle_cycles;
}

uint64_t
cpu_hash_cost(const struct cpu *cpu)
{
	const struct cost_run *run = &cpu->clock.run;
	uint64_t words[] = { cpu_count_units(cpu) % COST_UNITS, run->begin,
		run->count };

	if (is_plain(cpu))
		return 0;
	if (!cost_run_goes_on(run, engine_get(cpu->active, ENGINE_RIP)))
		words[1] = words[2] = 0;
	return XXH3_64bits(words, sizeof(words));
}

const char *
cpu_unknown_cost(const struct cpu *cpu)
{
	return cpu->clock.unknown_form[0] == '\0' ? NULL
						  : cpu->clock.unknown_form;
}

/* COUNT * FACTOR / DIVISOR, rounded down. */
static uint64_t
scale(uint64_t count, uint64_t factor, uint64_t divisor)
{
	TZ_ASSERT(divisor > 0);
	TZ_ASSERT(count < UINT64_C(1) << 50 && factor < 1 << 14);
	return count * factor / divisor;
}

/* The first value of a clock at which its product with FACTOR / DIVISOR reaches COUNT. */
static uint64_t
scale_back(uint64_t count, uint64_t factor, uint64_t divisor)
{
	TZ_ASSERT(factor > 0);
	TZ_ASSERT(count < UINT64_C(1) << 50 && divisor < 1 << 13);
	return (count * divisor + factor - 1) / factor;
}

static uint64_t
tsc_at(const struct cpu *cpu, uint64_t cycles)
{
	return scale(cycles, cpu->config.profile->cbr, cpu->config.core_cbr);
}

uint64_t
cpu_tsc(const struct cpu *cpu)
{
	return tsc_at(cpu, cpu_cycles(cpu));
}

/* SDM vol. 3, 20.7.3 "Determining the Processor Base Frequency": CPUID 15H. */
static struct pt_time
time_at(const struct cpu *cpu, uint64_t cycles)
{
	const struct profile *profile = cpu->config.profile;
	struct pt_time time = { .cycles = cycles };

	time.tsc = tsc_at(cpu, cycles);
	if (profile->tsc_num == 0)
		return time;
	time.art = scale(time.tsc, profile->tsc_den, profile->tsc_num);
	time.fc = (uint32_t)(time.tsc -
	    scale(time.art, profile->tsc_num, profile->tsc_den));
	return time;
}

/* The first cycle of crystal tick ART. */
static uint64_t
cycle_of_art(const struct cpu *cpu, uint64_t art)
{
	const struct profile *profile = cpu->config.profile;

	return scale_back(scale_back(art, profile->tsc_den, profile->tsc_num),
	    profile->cbr, cpu->config.core_cbr);
}

/*
 * SDM vol. 3, 11.5.4 "APIC Timer": its clock is the crystal if CPUID 15H enumerates
 * the ratio, else the bus clock, 100 MHz.
 */
void
cpu_set_apic_clock(struct cpu *cpu)
{
	const struct profile *profile = cpu->config.profile;
	uint32_t core = cpu->config.core_cbr;

	if (profile->tsc_num == 0)
		apic_set_board(&cpu->apic, core, 1);
	else
		apic_set_board(&cpu->apic, profile->tsc_num * core,
		    profile->tsc_den * profile->cbr);
}

/* A deadline that is out of reach is never. */
uint64_t
cpu_cycle_of_tsc(const struct cpu *cpu, uint64_t tsc)
{
	return tsc >= UINT64_C(1) << 50
	    ? APIC_NEVER
	    : scale_back(tsc, cpu->config.profile->cbr, cpu->config.core_cbr);
}

/* The cycle at which the next MTC is due; UINT64_MAX: none is. */
static uint64_t
next_mtc(const struct cpu *cpu)
{
	uint64_t art = pt_unit_mtc_due(cpu->unit);

	return art == UINT64_MAX || cpu->config.profile->tsc_num == 0
	    ? UINT64_MAX
	    : cycle_of_art(cpu, art);
}

uint64_t
cpu_next_edge(const struct cpu *cpu)
{
	uint64_t mtc = next_mtc(cpu), due = pt_unit_due(cpu->unit);

	return mtc < due ? mtc : due;
}

void
cpu_sync_clock(struct cpu *cpu)
{
	uint64_t now = cpu_cycles(cpu), successor;
	struct pt_time time;

	while ((successor = cpu_next_edge(cpu)) <= now) {
		time = time_at(cpu, successor);
		pt_unit_time(cpu->unit, &time);
	}
	time = time_at(cpu, now);
	pt_unit_time(cpu->unit, &time);
}

void
cpu_tell_resume(struct cpu *cpu, uint64_t next)
{
	if (!pt_unit_overflows(cpu->unit))
		return;
	cpu_sync_clock(cpu);
	if (pt_unit_wants_ip(cpu->unit))
		pt_unit_resolve(cpu->unit, next);
}

void
cpu_set_limit(struct cpu *cpu, uint64_t insns, uint64_t cycles)
{
	uint64_t units = cpu_count_units(cpu);
	uint64_t left = cycles - cpu_cycles(cpu);

	TZ_ASSERT(cycles >= cpu_cycles(cpu));
	if (insns > LIMIT_MAX)
		insns = LIMIT_MAX;
	if (left > LIMIT_MAX)
		left = LIMIT_MAX;
	cpu->clock.limit_insns = cpu_count_insns(cpu) + insns;
	cpu->time.left = (int64_t)insns;
	if (left > 0)
		left = left * COST_UNITS - units % COST_UNITS;
	cpu->clock.limit_units = units + left;
	cpu->time.units_left = (int64_t)left;
}

void
cpu_pass_time(struct cpu *cpu, uint64_t cycles)
{
	bool logged = cpu_logs_time(cpu);

	/* With the cost model, the log does not say by itself when it began. */
	if (logged && !is_plain(cpu))
		exec_log_time(cpu->exec_log, cpu_cycles(cpu));
	cpu->clock.idle_cycles += cycles;
	if (cpu->mode.halted)
		cpu->counters.halted_cycles += cycles;
	if (logged)
		exec_log_time(cpu->exec_log, cpu_cycles(cpu));
}

/* True if a PMI wakes the CPU. */
static bool
hears_pmi(const struct cpu *cpu)
{
	uint64_t rflags = engine_get(cpu->active, ENGINE_RFLAGS);

	switch (apic_pmi_mode(&cpu->apic)) {
	case APIC_PMI_NMI:
		return !cpu->interrupts.nmi_blocked;
	case APIC_PMI_FIXED:
		return (rflags & RFLAGS_IF) != 0;
	case APIC_PMI_UNMODELLED:
		return true;
	case APIC_PMI_DROPPED:
	default:
		return false;
	}
}

/*
 * Upper bound, in bytes, of the output for one MTC of a sleeping CPU: MTC and CYC
 * with padding, and the CYCs of a counter that wraps.
 */
static uint64_t
bytes_an_edge(const struct cpu *cpu, uint64_t period)
{
	uint64_t wraps = period >> cpu->config.profile->uarch->cyc_bits;

	return EDGE_BYTES + (wraps + 1) * CYC_BYTES;
}

uint64_t
cpu_trace_wake_due(struct cpu *cpu)
{
	uint64_t due = pt_unit_due(cpu->unit), mtc = next_mtc(cpu);
	uint64_t art, period, bytes, successors;

	if (!pt_unit_fast(cpu->unit)->timed || !hears_pmi(cpu))
		return UINT64_MAX;
	bytes = pt_unit_bytes_to_intr(cpu->unit);
	if (mtc != UINT64_MAX && bytes != UINT64_MAX) {
		art = pt_unit_mtc_due(cpu->unit);
		period = pt_unit_mtc_period(cpu->unit);
		successors = bytes /
		    bytes_an_edge(cpu, cycle_of_art(cpu, period));
		mtc = cycle_of_art(cpu, art + successors * period);
		due = mtc < due ? mtc : due;
	}
	/* The interval includes that cycle itself. */
	return due == UINT64_MAX ? due : due + 1;
}

uint64_t
cpu_awake_cycles(const struct cpu *cpu)
{
	return cpu_cycles(cpu) - cpu->counters.halted_cycles;
}

/* Ticks of the TSC in CYCLES of the core, and of the bus clock, 100 MHz. */
static uint64_t
reference(const struct cpu *cpu, uint64_t cycles)
{
	return cycles * cpu->config.profile->cbr / cpu->config.core_cbr;
}

static uint64_t
bus(const struct cpu *cpu, uint64_t cycles)
{
	return cycles / cpu->config.core_cbr;
}

struct pmu_slice
cpu_unreported(const struct cpu *cpu)
{
	uint64_t from = cpu->counters.cycles, to = cpu_awake_cycles(cpu);
	struct pmu_slice slice = { { 0 } };

	slice.count[PMU_INSTRUCTIONS] = cpu_count_insns(cpu) -
	    cpu->counters.insns;
	slice.count[PMU_CYCLES] = to - from;
	slice.count[PMU_REFERENCE] = reference(cpu, to) - reference(cpu, from);
	slice.count[PMU_BUS] = bus(cpu, to) - bus(cpu, from);
	return slice;
}
