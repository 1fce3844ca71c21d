#include "driver/insntrace/core/buffer/topa.h"

#include <stddef.h>

/*
 * SDM vol. 3, 33.2.7.2 "Table of Physical Addresses (ToPA)", table "ToPA Table
 * Entry Fields": the base is a page number at bit 12; a region is aligned to
 * its size; the base of an END entry is that of the next table.
 */
#define ENTRY_END        (UINT64_C(1) << 0)
#define ENTRY_INT        (UINT64_C(1) << 2)
#define ENTRY_STOP       (UINT64_C(1) << 4)
#define ENTRY_SIZE_SHIFT 6
#define ENTRY_BASE_SHIFT 12

/* SDM vol. 3, 33.2.8.8 "IA32_RTIT_OUTPUT_MASK_PTRS MSR": the number of the
 * entry at bit 7, the offset in its region at bit 32. */
#define PTRS_ENTRY_SHIFT  7
#define PTRS_ENTRY_MASK   UINT64_C(0x1ffffff)
#define PTRS_OFFSET_SHIFT 32

static uint64_t
data_entry(uint64_t pa, uint32_t order)
{
	uint64_t page = pa / TOPA_PAGE_BYTES;

	return page << ENTRY_BASE_SHIFT | (uint64_t)order << ENTRY_SIZE_SHIFT;
}

static uint64_t
end_entry(uint64_t table_pa)
{
	uint64_t page = table_pa / TOPA_PAGE_BYTES;

	return page << ENTRY_BASE_SHIFT | ENTRY_END;
}

static uint64_t
entry_pa(uint64_t entry)
{
	return entry >> ENTRY_BASE_SHIFT << ENTRY_BASE_SHIFT;
}

static uint64_t
table_pages(uint32_t chunk_count)
{
	uint64_t bytes = (chunk_count + UINT64_C(1)) * sizeof(uint64_t);

	return (bytes + TOPA_PAGE_BYTES - 1) / TOPA_PAGE_BYTES;
}

static uint64_t
chunk_pages(const struct topa *topa)
{
	return UINT64_C(1) << topa->chunk_order;
}

uint64_t
topa_chunk_bytes(const struct topa *topa)
{
	return TOPA_PAGE_BYTES << topa->chunk_order;
}

uint64_t
topa_bytes(const struct topa *topa)
{
	return topa->chunk_count * topa_chunk_bytes(topa);
}

/* The private copies list the chunks: freeing and mapping do not depend on
 * memory that the hardware uses. */
static uint64_t *
chunk_entry(const struct topa *topa, uint32_t index)
{
	const struct topa_table *table =
	    &topa->table[index / TOPA_TABLE_CHUNKS];

	return &table->own[index % TOPA_TABLE_CHUNKS];
}

uint64_t
topa_chunk_pa(const struct topa *topa, uint32_t index)
{
	return entry_pa(*chunk_entry(topa, index));
}

static bool
build_tables(struct topa *topa, const struct topa_memory *memory)
{
	uint32_t left = topa->chunk_count;

	while (left != 0) {
		uint32_t count = left < TOPA_TABLE_CHUNKS ? left
							  : TOPA_TABLE_CHUNKS;
		uint64_t pages = table_pages(count);
		struct topa_table *table = &topa->table[topa->table_count];

		*table = (struct topa_table){
			.entry = memory->alloc(memory->arg, pages, 1),
			.chunk_count = count,
		};
		if (table->entry == NULL)
			return false;
		table->pa = memory->va_to_pa(memory->arg, table->entry);
		topa->table_count++;
		table->own = memory->alloc(memory->arg, pages, 1);
		if (table->own == NULL)
			return false;
		left -= count;
	}
	return true;
}

static bool
build_chunks(struct topa *topa, const struct topa_memory *memory)
{
	uint64_t pages = chunk_pages(topa);

	for (uint32_t i = 0; i < topa->chunk_count; i++) {
		uint64_t pa;

		if (memory->chunk != NULL) {
			pa = memory->chunk(memory->arg, i);
		} else {
			void *chunk = memory->alloc(memory->arg, pages, pages);

			if (chunk == NULL)
				return false;
			pa = memory->va_to_pa(memory->arg, chunk);
		}
		*chunk_entry(topa, i) = data_entry(pa, topa->chunk_order);
	}
	return true;
}

/* Each table ends with a link to the next, the last with one to the first. */
static void
link_tables(struct topa *topa)
{
	for (uint32_t i = 0; i < topa->table_count; i++) {
		const struct topa_table *table = &topa->table[i];
		uint32_t next = (i + 1) % topa->table_count;

		table->own[table->chunk_count] = end_entry(
		    topa->table[next].pa);
	}
}

/* The chunk behind the one that raises the NUMBER-th PMI of a round, from 1; with few
 * chunks 0 or the same as before. */
static uint32_t
pmi_chunk(const struct topa *topa, uint32_t number)
{
	return topa->chunk_count * number / topa->pmi_count;
}

/* SDM vol. 3, 33.2.7.2, "ToPA STOP": STOP alone stops silently; with INT too,
 * tracing stops first and the PMI follows. */
static void
mark_chunks(struct topa *topa, bool stop_on_full)
{
	for (uint32_t i = 1; i <= topa->pmi_count; i++) {
		uint32_t end = pmi_chunk(topa, i);

		if (end != 0)
			*chunk_entry(topa, end - 1) |= ENTRY_INT;
	}
	if (stop_on_full)
		*chunk_entry(topa, topa->chunk_count - 1) |= ENTRY_STOP;
}

bool
topa_raises_pmi(const struct topa *topa, uint64_t from, uint64_t to)
{
	for (uint32_t i = 1; i <= topa->pmi_count; i++) {
		uint64_t end = pmi_chunk(topa, i) * topa_chunk_bytes(topa);

		if (from < end && end <= to)
			return true;
	}
	return false;
}

static void
publish(struct topa *topa)
{
	for (uint32_t i = 0; i < topa->table_count; i++) {
		const struct topa_table *table = &topa->table[i];

		for (uint32_t j = 0; j <= table->chunk_count; j++)
			table->entry[j] = table->own[j];
	}
}

bool
topa_intact(const struct topa *topa)
{
	for (uint32_t i = 0; i < topa->table_count; i++) {
		const struct topa_table *table = &topa->table[i];

		for (uint32_t j = 0; j <= table->chunk_count; j++) {
			if (table->entry[j] != table->own[j])
				return false;
		}
	}
	return true;
}

bool
topa_build(struct topa *topa, uint32_t chunk_count, uint32_t chunk_order,
    bool stop_on_full, const struct topa_memory *memory)
{
	*topa = (struct topa){
		.chunk_count = chunk_count,
		.chunk_order = chunk_order,
		.pmi_count = stop_on_full ? 1 : TOPA_PMIS,
	};
	if (!build_tables(topa, memory) || !build_chunks(topa, memory)) {
		topa_free(topa, memory);
		return false;
	}
	link_tables(topa);
	mark_chunks(topa, stop_on_full);
	publish(topa);
	return true;
}

static void
free_table(
    const struct topa *topa, uint32_t index, const struct topa_memory *memory)
{
	const struct topa_table *table = &topa->table[index];
	uint64_t pages = table_pages(table->chunk_count);

	memory->free(memory->arg, table->pa, pages);
	if (table->own == NULL)
		return;
	for (uint32_t i = 0; i < table->chunk_count; i++) {
		uint64_t pa = entry_pa(table->own[i]);

		if (pa != 0 && memory->chunk == NULL)
			memory->free(memory->arg, pa, chunk_pages(topa));
	}
	memory->free(
	    memory->arg, memory->va_to_pa(memory->arg, table->own), pages);
}

/* Also frees a partial build: tables are zeroed, and no chunk is at 0. */
void
topa_free(struct topa *topa, const struct topa_memory *memory)
{
	for (uint32_t i = 0; i < topa->table_count; i++)
		free_table(topa, i, memory);
	*topa = (struct topa){ .chunk_count = 0 };
}

bool
topa_position(const struct topa *topa, uint64_t base, uint64_t mask_ptrs,
    uint64_t *position)
{
	uint64_t index = mask_ptrs >> PTRS_ENTRY_SHIFT & PTRS_ENTRY_MASK;
	uint64_t offset = mask_ptrs >> PTRS_OFFSET_SHIFT;
	uint64_t before = 0; /* chunks in the previous tables */

	for (uint32_t i = 0; i < topa->table_count; i++) {
		const struct topa_table *table = &topa->table[i];

		if (table->pa != base) {
			before += table->chunk_count;
			continue;
		}
		/* The hardware may point at the END entry before it follows it;
		 * no byte is written there. */
		if (index > table->chunk_count ||
		    offset > topa_chunk_bytes(topa) ||
		    (index == table->chunk_count && offset != 0))
			return false;
		*position = (before + index) * topa_chunk_bytes(topa) + offset;
		return true;
	}
	return false;
}
