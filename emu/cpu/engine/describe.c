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

/* The search for the 16-byte operands of a block that has no other sites. */
struct find_wide {
	struct describe *describe;
	struct access_flow flow;
	bool has_sites;
	bool unknown; /* an address does not follow from the registers at the entry */
};

static bool
is_same(const struct block_wide *a, const struct block_wide *b)
{
	return a->add == b->add && a->base == b->base && a->index == b->index &&
	    a->scale == b->scale && a->aligned == b->aligned;
}

/* False: BLOCK has no room for it. */
static bool
add_wide(struct block *block, const struct block_wide *wide)
{
	for (unsigned i = 0; i < block->wide_count; i++) {
		if (is_same(&block->wide[i], wide))
			return true;
	}
	if (block->wide_count == BLOCK_WIDE_MAX)
		return false;
	block->wide[block->wide_count++] = *wide;
	return true;
}

/* False: the operand of ACCESS is not a 16-byte one, or its address is not known. */
static bool
make_wide(
    const struct block_access *access, bool aligned, struct block_wide *wide)
{
	struct insn_access at;

	if (access->at.bytes != 16 || !access_flow_at_begin(access, &at) ||
	    at.segment != INSN_NO_REG)
		return false;
	*wide = (struct block_wide){
		.add = (uint16_t)(at.disp % (aligned ? 16 : TZ_PAGE_BYTES)),
		.base = at.base,
		.index = at.index,
		.scale = at.scale,
		.aligned = aligned,
	};
	return true;
}

static bool
find_wide(void *arg, uint64_t va, unsigned index, const struct insn *insn,
    const uint8_t *bytes)
{
	static const struct insn_regs none = { .rflags = 0 };
	struct find_wide *find = arg;
	struct block_insn *to = &find->describe->insn[index];
	struct block_access access[INSN_ACCESSES_MAX];
	struct insn_memory memory;
	struct block_wide wide;
	unsigned count = access_flow_insn(
	    &find->flow, bytes, insn->length, va, access);

	if (to->class != INSN_CHECKED)
		return true;
	if (count != 1 ||
	    !insn_memory_operand(bytes, insn->length, va, &none, &memory) ||
	    !make_wide(&access[0], memory.aligned, &wide)) {
		find->unknown = true;
	} else if (wide.base != INSN_NO_REG || wide.index != INSN_NO_REG) {
		find->has_sites = true;
		find->unknown = !add_wide(find->describe->block, &wide);
	} else if (block_wide_is_right(&wide, wide.add)) {
		to->class = INSN_PLAIN;
	} else {
		find->unknown = true;
	}
	return !find->unknown;
}

/* True if the sites of BLOCK, if any, are of the class INSN_CHECKED. */
static bool
has_checks_alone(const struct block *block)
{
	for (unsigned i = 0; i < block->insns; i++) {
		const struct block_insn *insn = &block->insn[i];

		if (insn->audit_site ||
		    (insn->class >= INSN_SITE_FIRST &&
			insn->class != INSN_CHECKED))
			return false;
	}
	return block->has_sites && !block->ambiguous;
}

static void
describe_wide(struct describe *describe, const struct walk_space *space,
    struct insn_cache *known)
{
	struct block *block = describe->block;
	struct find_wide find = { .describe = describe };

	block->wide_count = 0;
	if (!has_checks_alone(block))
		return;
	access_flow_begin(&find.flow);
	block_visit(block, space, known, find_wide, &find);
	if (find.unknown)
		block->wide_count = 0;
	else
		block->has_sites = find.has_sites;
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
	block->units = BLOCK_UNPRICED;
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
	describe_wide(&describe, space, known);
}
