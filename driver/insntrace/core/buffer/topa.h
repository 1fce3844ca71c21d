/*
 * The Table of Physical Addresses of one trace buffer: its chunks, the chained
 * tables that give them to the hardware, and the conversion of the hardware's
 * pointers to a position.  Pure: memory comes from the caller, no MSR is
 * accessed.
 *
 * The chain is always a ring.  If tracing is to stop when the buffer is full,
 * the last chunk stops it and raises a PMI.  Else the last chunk of each
 * quarter raises a PMI, so that the driver reads the position four times a
 * round: it misses a round only if four of them merge.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_BUFFER_TOPA_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_BUFFER_TOPA_H

#include <stdbool.h>
#include <stdint.h>

#define TOPA_PAGE_BYTES    UINT64_C(4096)
#define TOPA_TABLE_ENTRIES 2048u /* 16 KiB: data entries and the END entry */
#define TOPA_TABLE_CHUNKS  (TOPA_TABLE_ENTRIES - 1)
#define TOPA_CHUNKS_MAX    4096u
#define TOPA_ORDER_MAX     15u
#define TOPA_PMIS          4u /* in each round; fewer with fewer chunks */
#define TOPA_TABLES_MAX \
 ((TOPA_CHUNKS_MAX + TOPA_TABLE_CHUNKS - 1) / TOPA_TABLE_CHUNKS)

struct topa_memory {
	void *arg;
	/* PAGES contiguous physical pages, aligned to ALIGN_PAGES, zeroed;
	 * NULL: none. */
	void *(*alloc)(void *arg, uint64_t pages, uint64_t align_pages);
	void (*free)(void *arg, uint64_t pa, uint64_t pages);
	uint64_t (*va_to_pa)(void *arg, const void *va);
	/* The physical address of chunk INDEX, which is and stays the caller's; NULL:
	 * chunks are allocated. */
	uint64_t (*chunk)(void *arg, uint32_t index);
};

struct topa {
	uint32_t chunk_count, chunk_order;
	uint32_t pmi_count; /* of a round */
	uint32_t table_count;
	struct topa_table {
		uint64_t *entry; /* read by the hardware */
		uint64_t *own;   /* private copy */
		uint64_t pa;
		uint32_t chunk_count; /* of this table; the END entry follows */
	} table[TOPA_TABLES_MAX];
};

/*
 * Allocates CHUNK_COUNT (1..TOPA_CHUNKS_MAX) chunks of 1 << ORDER pages and the
 * tables.  False: no memory; nothing stays allocated.
 */
bool topa_build(struct topa *topa, uint32_t chunk_count, uint32_t chunk_order,
    bool stop_on_full, const struct topa_memory *memory);
void topa_free(struct topa *topa, const struct topa_memory *memory);

/* True if every entry is as it was built. */
bool topa_intact(const struct topa *topa);

uint64_t topa_chunk_bytes(const struct topa *topa);
uint64_t topa_bytes(const struct topa *topa);
/* INDEX < chunk_count. */
uint64_t topa_chunk_pa(const struct topa *topa, uint32_t index);

/* True if the output raises a PMI on its way from FROM to TO, FROM <= TO <= topa_bytes. */
bool topa_raises_pmi(const struct topa *topa, uint64_t from, uint64_t to);

/*
 * Converts IA32_RTIT_OUTPUT_BASE and _MASK_PTRS, read with TraceEn = 0, to a
 * position in 0..topa_bytes.  False: they are not in these tables.
 */
bool topa_position(const struct topa *topa, uint64_t base, uint64_t mask_ptrs,
    uint64_t *position);

#endif
