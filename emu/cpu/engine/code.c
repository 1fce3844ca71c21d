/*
 * Translated code: what the engines have translated must be what memory holds.
 * The engines miss writes to code, so blocks are compared with memory, and where
 * they differ both engines translate the page anew.
 */
#include "emu/cpu/engine/stale.h"
#include "emu/cpu/state.h"

static void
forget_later(struct cpu *cpu, struct code_forget forget)
{
	TZ_ASSERT(cpu->code.forget_count < FORGET_MAX);
	cpu->code.forget[cpu->code.forget_count++] = forget;
}

void
cpu_forget_code(struct cpu *cpu, uint64_t va, uint64_t bytes)
{
	forget_later(cpu, (struct code_forget){ .va = va, .bytes = bytes });
}

/*
 * May the engine look VA up as code?  If it may not, it records a page fault
 * (old_exception), and the next one would be a double fault.
 */
static bool
may_fetch(struct cpu *cpu, uint64_t va)
{
	struct walk walk;

	return walk_page(&cpu->space, (struct gva){ va }, &walk) &&
	    walk.executable && walk.user == (cpu->mode.cpl == 3);
}

void
cpu_drop_translations(struct cpu *cpu)
{
	for (unsigned i = 0; i < cpu->code.forget_count; i++) {
		const struct code_forget *forget = &cpu->code.forget[i];

		if (forget->is_page && !may_fetch(cpu, forget->va))
			engine_forget_frame(cpu->active, forget->pa);
		else
			engine_forget(cpu->active, forget->va, forget->bytes);
	}
	cpu->code.forget_count = 0;
}

bool
cpu_forget_changes(struct cpu *cpu)
{
	struct engine *other = cpu->active == cpu->engines.stepper
	    ? cpu->engines.main
	    : cpu->engines.stepper;
	struct code_change change;
	bool any = false;

	while (block_cache_take_change(cpu->code.blocks, &change)) {
		forget_later(cpu,
		    (struct code_forget){ .va = change.va,
			.bytes = TZ_PAGE_BYTES,
			.is_page = true,
			.pa = change.pa });
		if (other != NULL)
			engine_forget_frame(other, change.pa);
		any = true;
	}
	return any;
}

static struct code_written
what_was_written(struct cpu *cpu)
{
	struct code_written written = { .pages = NULL };

	if (cpu->config.port.written != NULL)
		written.pages = cpu->config.port.written(
		    cpu->config.port.arg, &written.epoch);
	return written;
}

static void
verify_code(struct cpu *cpu)
{
	struct code_written written = what_was_written(cpu);

	cpu->code.unsure = cpu->code.others_ran = false;
	block_cache_verify(cpu->code.blocks, &cpu->space, &written);
	cpu_forget_changes(cpu);
}

void
cpu_check_code(struct cpu *cpu)
{
	if (cpu->code.unsure)
		verify_code(cpu);
}

void
cpu_see_others(struct cpu *cpu)
{
	cpu->code.others_ran = true;
}

void
cpu_serialize(struct cpu *cpu)
{
	if (cpu->code.others_ran)
		verify_code(cpu);
}

void
cpu_select_code(struct cpu *cpu)
{
	struct code_written written = what_was_written(cpu);

	block_cache_select(cpu->code.blocks, &cpu->space, &written);
	cpu_forget_changes(cpu);
}

void
cpu_see_writes(struct cpu *cpu)
{
	cpu->code.unsure = true;
}

void
cpu_see_tables(struct cpu *cpu)
{
	cpu->engines.tlb_unsure = true;
	block_cache_reselect(cpu->code.blocks, &cpu->space);
}

struct block *
cpu_find_block(struct cpu *cpu, uint64_t va, uint32_t size)
{
	struct block *block = block_find(
	    cpu->code.blocks, &cpu->space, va, size);

	if (block == NULL) {
		block_cache_flush(cpu->code.blocks);
		block = block_find(cpu->code.blocks, &cpu->space, va, size);
		TZ_ASSERT(block != NULL);
	}
	return block;
}

void
cpu_step_enter(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg)
{
	struct cpu *cpu = arg;

	(void)uc;
	cpu->code.entered.va = va;
	cpu->code.entered.size = size;
	cpu->code.entered.block = NULL;
}

/*
 * The engine translates several instructions at once.  Each of them is checked when
 * it is about to run, because an instruction before it may have overwritten it.
 */
bool
cpu_is_translation_old(struct cpu *cpu, uint64_t va, uint32_t size)
{
	uint64_t begin = cpu->code.entered.va;
	const struct block *block = cpu->code.entered.block;

	TZ_ASSERT(va >= begin && va < begin + cpu->code.entered.size);
	if (block == NULL) {
		cpu->code.entered.block = cpu_find_block(
		    cpu, begin, cpu->code.entered.size);
		cpu->code.entered.age = block_cache_age(cpu->code.blocks);
		return false;
	}
	return cpu->code.entered.age != block_cache_age(cpu->code.blocks) ||
	    block_is_part_stale(
		block, (uint32_t)(va - begin), (uint32_t)(va - begin) + size);
}
