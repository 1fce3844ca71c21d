/*
 * Builds the descriptor of a stretch of code from its bytes: its instructions and,
 * if it is audited, its loads and stores.
 */
#include "emu/cpu/engine/block.h"

/*
 * Reads the code bytes of [va, va + size) and up to one more instruction on the
 * same page: an engine that does not know an instruction may announce only a part
 * of it.
 */
static size_t
read_code(const struct walk_space *space, uint64_t va, uint32_t size,
    uint8_t bytes[BLOCK_BYTES_MAX + INSN_BYTES_MAX])
{
	uint64_t end = va + size;
	size_t more = (size_t)(-end % TZ_PAGE_BYTES);

	TZ_ASSERT(size <= BLOCK_BYTES_MAX);
	if (!walk_read(space, (struct gva){ va }, bytes, size, NULL))
		return 0;
	if (more > INSN_BYTES_MAX)
		more = INSN_BYTES_MAX;
	if (more != 0 &&
	    walk_read(space, (struct gva){ end }, bytes + size, more, NULL))
		return size + more;
	return size;
}

void
block_visit(const struct block *block, const struct walk_space *space,
    struct insn_cache *known, block_visit_fn visit, void *arg)
{
	uint8_t bytes[BLOCK_BYTES_MAX + INSN_BYTES_MAX];
	size_t count = read_code(space, block->va, block->size, bytes);
	struct insn insn;
	unsigned index = 0;

	for (size_t at = 0; at < count && at < block->size; at += insn.length) {
		uint64_t va = block->va + at;

		if (known == NULL
			? !insn_decode(bytes + at, count - at, va, &insn)
			: !insn_cache_decode(
			      known, bytes + at, count - at, va, &insn))
			return;
		if (!visit(arg, va, index++, &insn, bytes + at))
			return;
	}
}

/* A block that is being described, and where its instructions and accesses go. */
struct describe {
	struct block *block;
	struct block_insn *insn;
	struct block_access *access; /* NULL: it is not audited */
	struct access_flow flow;
	bool cut; /* the rest of it does not run */
	bool has_cmpxchg32;
};

static void
describe_accesses(struct describe *describe, uint64_t va,
    const struct insn *insn, const uint8_t *bytes)
{
	struct block *block = describe->block;
	struct block_access *access = &describe->access[block->access_count];

	/* An instruction that the machine executes ends the block. */
	describe->cut |= insn->class >= INSN_TRAP_FIRST &&
	    insn->class != INSN_CLI;
	if (!describe->cut)
		block->access_count = (uint16_t)(block->access_count +
		    access_flow_insn(
			&describe->flow, bytes, insn->length, va, access));
}

static bool
describe_insn(void *arg, uint64_t va, unsigned index, const struct insn *insn,
    const uint8_t *bytes)
{
	struct describe *describe = arg;
	struct block *block = describe->block;

	describe->insn[index] = (struct block_insn){
		.at = (uint16_t)(va - block->va),
		.length = insn->length,
		.class = (uint8_t)insn->class,
	};
	block->insns = (uint16_t)(index + 1);
	block->last = *insn;
	block->last_va = va;
	block->next_va = va + insn->length;
	block->has_sites |= insn->class >= INSN_SITE_FIRST;
	describe->has_cmpxchg32 |= insn->class == INSN_CMPXCHG32;
	if (insn->stores && block->first_store > index)
		block->first_store = (uint16_t)index;
	if (describe->access != NULL)
		describe_accesses(describe, va, insn, bytes);
	return true;
}

/* All accesses are known: decides which registers are read for them, and when. */
static void
end_accesses(struct describe *describe, const struct audit *audit)
{
	struct block *block = describe->block;
	struct block_access *access = describe->access;
	uint64_t places = 0;

	access_flow_end(&describe->flow, access, block->access_count);
	for (unsigned i = 0; i < block->access_count; i++) {
		if (access[i].site)
			describe->insn[access[i].insn].audit_site = true;
		else
			places |= access_places(&access[i]);
		/* For other accesses, RBP is read when the block is left. */
		if (!access[i].site && access[i].frame.place < INSN_REGS)
			places |= TZ_BIT(access[i].frame.place);
		block->has_sites |= access[i].site;
	}
	block->reads_first = (uint32_t)(places & (TZ_BIT(INSN_REGS) - 1));
	block->reads_last = (uint32_t)(places >> ACCESS_AT_END);
	block->access = access;
	block->calls = block->last.class == INSN_CALL_INDIRECT ||
	    block->last.class == INSN_JMP_INDIRECT ||
	    ((block->last.class == INSN_CALL_DIRECT ||
		 block->last.class == INSN_JMP_DIRECT ||
		 block->last.class == INSN_COND) &&
		audit_has_function(audit, block->last.target));
	block->calls &= !describe->cut;
	block->audited = block->calls || block->access_count > 0;
}

/* What is known of RAX within a block. */
struct small_rax {
	struct describe *describe;
	bool small, has_sites;
};

/* The engine runs a CMPXCHG of 32 bits while RAX is below 2^32: often the code says so. */
static bool
find_small_rax(void *arg, uint64_t va, unsigned index, const struct insn *insn,
    const uint8_t *bytes)
{
	struct small_rax *rax = arg;
	struct block_insn *to = &rax->describe->insn[index];

	(void)va;
	if (to->class == INSN_CMPXCHG32 && rax->small)
		to->class = INSN_PLAIN;
	rax->has_sites |= to->class >= INSN_SITE_FIRST;
	rax->small = insn_keeps_rax_small(bytes, insn->length, rax->small);
	return true;
}

void
block_describe(struct block *block, const struct walk_space *space,
    const struct audit *audit, struct insn_cache *known,
    struct block_insn *insn, struct block_access *access)
{
	struct describe describe = { .block = block, .insn = insn };

	if (audit_has(audit, block->va)) {
		describe.access = access;
		access_flow_begin(&describe.flow);
	}
	block->successor[0].key = block->successor[1].key = EDGE_UNUSED;
	block->word = 0;
	block->next_va = block->va;
	block->insn = insn;
	block->first_store = UINT16_MAX;
	block_visit(block, space, known, describe_insn, &describe);
	if (describe.has_cmpxchg32) {
		struct small_rax rax = { .describe = &describe };

		block_visit(block, space, known, find_small_rax, &rax);
		block->has_sites = rax.has_sites;
	}
	if (block->first_store > block->insns)
		block->first_store = block->insns;
	block->ambiguous = block->last.class == INSN_COND &&
	    block->last.target == block->next_va;
	block->has_sites |= block->ambiguous;
	if (describe.access != NULL)
		end_accesses(&describe, audit);
}
