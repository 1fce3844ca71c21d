#include "emu/cpu/cost/run.h"

void
cost_run_begin(struct cost_run *run, const struct profile_cost *model)
{
	*run = (struct cost_run){ .count = 0 };
	cost_sum_begin(&run->sum, model);
}

bool
cost_run_goes_on(const struct cost_run *run, uint64_t va)
{
	return run->count > 0 && !run->over && run->count < COST_RUN_MAX &&
	    va == run->next && va / TZ_PAGE_BYTES == run->begin / TZ_PAGE_BYTES;
}

bool
cost_run_is_alone(const struct cost_insn *insn)
{
	return insn->serial > 0 || insn->facts.class == INSN_REP;
}

uint64_t
cost_run_add(struct cost_run *run, const struct cost_insn *insn, uint64_t va)
{
	uint64_t units = 0;

	if (cost_run_is_alone(insn) || !cost_run_goes_on(run, va)) {
		units = cost_run_charge(run);
		cost_run_begin(run, run->sum.model);
		run->begin = va;
	}
	cost_sum_add(&run->sum, insn);
	if (insn->uops == NULL)
		run->unknown += COST_UNITS;
	run->count++;
	run->next = va + insn->facts.length;
	run->over = cost_run_is_alone(insn) ||
	    insn_is_transfer(insn->facts.class);
	return units;
}

uint64_t
cost_run_charge(struct cost_run *run)
{
	uint64_t units;

	if (run->count == 0)
		return 0;
	units = cost_sum_units(&run->sum) + run->unknown - run->charged;
	run->charged += units;
	return units;
}

uint64_t
cost_run_repeat(const struct cost_run *run, uint64_t chain)
{
	return chain > run->charged ? chain - run->charged : 0;
}

bool
cost_run_same(const struct cost_run *a, const struct cost_run *b)
{
	return a->begin == b->begin && a->next == b->next &&
	    a->unknown == b->unknown && a->charged == b->charged &&
	    a->count == b->count && a->over == b->over &&
	    cost_sum_same(&a->sum, &b->sum);
}
