/*
 * The execution log of a CPU: its begin, its pauses, and the instructions that the CPU
 * executes itself.
 */
#include "emu/cpu/state.h"

/*
 * Begins or goes on: all that the log cannot know from before.  A log without gaps counts
 * instructions from its own beginning.
 */
static void
log_begin(struct cpu *cpu)
{
	if (exec_log_allows_gaps(cpu->exec_log))
		exec_log_retired(cpu->exec_log, cpu_count_insns(cpu));
	exec_log_context(cpu->exec_log, cpu->mode.cpl, cpu->space.cr3);
	if (cpu_logs_time(cpu))
		exec_log_time(cpu->exec_log, cpu_cycles(cpu));
}

void
cpu_set_exec_log(struct cpu *cpu, struct exec_log *exec_log)
{
	cpu->resting_log = NULL;
	/* The words of successors belong to the previous log. */
	if (exec_log != cpu->exec_log)
		block_cache_forget_edges(cpu->code.blocks);
	cpu->exec_log = exec_log;
	if (exec_log != NULL)
		log_begin(cpu);
}

void
cpu_log_wake(struct cpu *cpu)
{
	if (cpu->resting_log == NULL)
		return;
	cpu->exec_log = cpu->resting_log;
	cpu->resting_log = NULL;
	/* Successors were learnt without words. */
	block_cache_forget_edges(cpu->code.blocks);
	log_begin(cpu);
}

/* True if a trace, a record, a counter or a PMI needs to know what the CPU does. */
static bool
is_observed(const struct cpu *cpu)
{
	return cpu_trace_on(cpu) || (cpu->ds.debugctl & DS_DEBUGCTL_BTS) != 0 ||
	    pmu_counting(&cpu->pmu) != 0 || cpu->interrupts.nmis != 0 ||
	    cpu->interrupts.nmi_blocked;
}

void
cpu_log_rest(struct cpu *cpu)
{
	if (cpu->exec_log == NULL || !exec_log_allows_gaps(cpu->exec_log) ||
	    is_observed(cpu))
		return;
	cpu->resting_log = cpu->exec_log;
	cpu->exec_log = NULL;
}

/* Records a block of which the log has no word; not inline, as CODE is large. */
static __attribute__((noinline)) void
log_block(struct cpu *cpu, struct block *block)
{
	uint8_t code[BLOCK_BYTES_MAX];
	bool known = exec_log_keeps_code(cpu->exec_log) &&
	    walk_read(&cpu->space, (struct gva){ block->va }, code, block->size,
		NULL);

	block->word = exec_log_run_code(
	    cpu->exec_log, block->va, block->size, known ? code : NULL);
}

void
cpu_log_time(struct cpu *cpu)
{
	/* Without the cost model, the time follows from the instructions. */
	if (cpu->config.profile->cost && cpu->exec_log != NULL)
		exec_log_time(cpu->exec_log, cpu_cycles(cpu));
}

void
cpu_log_entry(struct cpu *cpu, struct block *block, bool again)
{
	/* A record between would end the string instruction. */
	if (!again && pt_unit_fast(cpu->unit)->timed)
		cpu_log_time(cpu);
	if (block->word != 0)
		exec_log_again(cpu->exec_log, block->word);
	else
		log_block(cpu, block);
}

void
cpu_log_step_of(
    struct cpu *cpu, uint64_t rip, const uint8_t *code, uint32_t count)
{
	if (cpu->exec_log == NULL)
		return;
	if (count > 0 && exec_log_keeps_code(cpu->exec_log))
		exec_log_code(cpu->exec_log, code, count);
	exec_log_step(cpu->exec_log, rip);
}

void
cpu_log_step(struct cpu *cpu, uint64_t rip)
{
	uint8_t code[INSN_BYTES_MAX];
	uint32_t count = (uint32_t)(TZ_PAGE_BYTES - rip % TZ_PAGE_BYTES);

	if (cpu->exec_log == NULL || !exec_log_keeps_code(cpu->exec_log)) {
		cpu_log_step_of(cpu, rip, NULL, 0);
		return;
	}
	if (count > sizeof(code) ||
	    walk_read(
		&cpu->space, (struct gva){ rip }, code, sizeof(code), NULL))
		count = sizeof(code);
	if (!walk_read(&cpu->space, (struct gva){ rip }, code, count, NULL))
		count = 0;
	cpu_log_step_of(cpu, rip, code, count);
}
