/*
 * Page tables: the kernel's own, whose upper half is shared by all address
 * spaces, and page walks.  SDM vol. 3, 4.5 "4-Level Paging".  Tables of the
 * upper half are never freed.
 */
#include "harness/guest/internal.h"

#define PTE_PRESENT   UINT64_C(1)
#define PTE_WRITE     UINT64_C(2)
#define PTE_USER      UINT64_C(4)
#define PTE_UNCACHED  UINT64_C(0x18) /* PWT, PCD */
#define PTE_ACCESSED  UINT64_C(0x20)
#define PTE_DIRTY     UINT64_C(0x40)
#define PTE_LARGE     UINT64_C(0x80)
#define PTE_NX        (UINT64_C(1) << 63)
#define PTE_ADDRESS   UINT64_C(0x000ffffffffff000)
#define LARGE_BYTES   UINT64_C(0x200000)
#define CLEAR_AT_ONCE 32
#define LAPIC_PA      UINT64_C(0xfee00000)

uint64_t kernel_cr3;
static uint64_t
    low_directory; /* of paging_map_low(), shared by all spaces; 0: none */

static struct spin paging_lock = SPIN_INIT("paging");

extern const char kernel_text_begin[], kernel_text_end[];
extern const char kernel_rodata_begin[], kernel_rodata_end[];
extern const char kernel_data_begin[], kernel_data_end[];

bool
is_kernel_image(const void *at)
{
	return (uintptr_t)at >= (uintptr_t)kernel_text_begin &&
	    (uintptr_t)at < (uintptr_t)kernel_data_end;
}

bool
is_kernel_text(uint64_t va)
{
	return va >= (uintptr_t)kernel_text_begin &&
	    va < (uintptr_t)kernel_text_end;
}

static unsigned
index_of(uint64_t va, unsigned level)
{
	return (unsigned)(va >> (12 + 9 * level)) & 511;
}

static uint64_t *
table_at(uint64_t pa)
{
	return phys_to_virt(pa & PTE_ADDRESS);
}

/* The entry for VA at LEVEL (0: 4 KiB pages); NULL: no frame for a table. */
static uint64_t *
make_entry(uint64_t cr3, uint64_t va, unsigned level)
{
	uint64_t *table = table_at(cr3);

	for (unsigned at = 3; at > level; at--) {
		uint64_t *entry = &table[index_of(va, at)];

		if ((*entry & PTE_PRESENT) == 0) {
			uint64_t pa = frame_alloc();

			if (pa == FRAME_NONE)
				return NULL;
			memset(phys_to_virt(pa), 0, PAGE_BYTES);
			*entry = pa | PTE_PRESENT | PTE_WRITE | PTE_ACCESSED |
			    ((va >> 63) != 0 ? 0 : PTE_USER);
		}
		table = table_at(*entry);
	}
	return &table[index_of(va, level)];
}

/* The last entry on the way to VA, with its level; NULL: not present. */
static uint64_t *
find_entry(uint64_t cr3, uint64_t va, unsigned *level)
{
	uint64_t *table = table_at(cr3);

	for (unsigned at = 3;; at--) {
		uint64_t *entry = &table[index_of(va, at)];

		if ((*entry & PTE_PRESENT) == 0)
			return NULL;
		*level = at;
		if (at == 0 || (at < 3 && (*entry & PTE_LARGE) != 0))
			return entry;
		table = table_at(*entry);
	}
}

/* No code reads these bits.  Set at once, they do not distinguish states. */
static uint64_t
entry_bits(unsigned flags)
{
	return PTE_PRESENT | PTE_ACCESSED |
	    ((flags & MAP_WRITE) != 0 ? PTE_WRITE | PTE_DIRTY : 0) |
	    ((flags & MAP_USER) != 0 ? PTE_USER : 0) |
	    ((flags & MAP_UNCACHED) != 0 ? PTE_UNCACHED : 0) |
	    ((flags & MAP_EXEC) != 0 ? 0 : PTE_NX);
}

/* Adds CHANGE to the mapping count of ENTRY's frame.  paging_lock is held. */
static void
count_mapping(uint64_t entry, int change)
{
	struct frame *frame = frame_of(entry & PTE_ADDRESS);

	if ((entry & PTE_USER) != 0 && frame != NULL)
		frame->mapped += (uint64_t)change;
}

int
space_map_all(uint64_t cr3, uint64_t va, const uint64_t *pas, uint64_t count,
    unsigned flags)
{
	uint64_t bits = entry_bits(flags);
	uint64_t *entry = NULL;

	spin_lock(&paging_lock);
	for (uint64_t i = 0; i < count; i++, va += PAGE_BYTES) {
		/* Takes the next entry of the same table, or walks again. */
		if (entry == NULL || index_of(va, 0) == 0)
			entry = make_entry(cr3, va, 0);
		else
			entry++;
		if (entry == NULL)
			break;
		if ((*entry & PTE_PRESENT) != 0)
			kpanic("address %#lx is mapped already", va);
		*entry = pas[i] | bits;
		count_mapping(*entry, 1);
	}
	spin_unlock(&paging_lock);
	return count == 0 || entry != NULL ? 0 : KE_NOMEM;
}

int
space_map(uint64_t cr3, uint64_t va, uint64_t pa, unsigned flags)
{
	return space_map_all(cr3, va, &pa, 1, flags);
}

uint64_t
space_walk(uint64_t cr3, uint64_t va)
{
	unsigned level;
	const uint64_t *entry = find_entry(cr3, va, &level);
	uint64_t inside;

	if (entry == NULL)
		return 0;
	inside = (UINT64_C(1) << (12 + 9 * level)) - 1;
	return (*entry & PTE_ADDRESS & ~inside) | (va & inside);
}

void
space_clear(uint64_t cr3, uint64_t va, uint64_t count, uint64_t *pas)
{
	uint64_t *entry = NULL;
	unsigned level;

	spin_lock(&paging_lock);
	for (uint64_t i = 0; i < count; i++, va += PAGE_BYTES) {
		/* Takes the next entry of the same table, or walks again. */
		if (entry == NULL || index_of(va, 0) == 0) {
			entry = find_entry(cr3, va, &level);
			KERN_ASSERT(entry == NULL || level == 0);
		} else {
			entry++;
		}
		pas[i] = 0;
		if (entry != NULL && (*entry & PTE_PRESENT) != 0) {
			pas[i] = *entry & PTE_ADDRESS;
			count_mapping(*entry, -1);
			*entry = 0;
		}
	}
	spin_unlock(&paging_lock);
}

void
cpu_load_space(uint64_t cr3)
{
	bool enabled = intr_enabled();

	intr_disable();
	__atomic_store_n(&cpu_self()->cr3, cr3, __ATOMIC_SEQ_CST);
	write_cr3(cr3);
	if (enabled)
		intr_enable();
}

bool
space_clear_frame(uint64_t cr3, uint64_t va, uint64_t pa)
{
	unsigned level;
	uint64_t *entry;
	bool found;

	spin_lock(&paging_lock);
	entry = find_entry(cr3, va, &level);
	found = entry != NULL && level == 0 && (*entry & PTE_ADDRESS) == pa;
	if (found) {
		count_mapping(*entry, -1);
		*entry = 0;
	}
	spin_unlock(&paging_lock);
	return found;
}

uint64_t
virt_to_phys(const void *va)
{
	return space_walk(read_cr3(), (uintptr_t)va);
}

int
kva_map(uint64_t va, uint64_t pa, unsigned flags)
{
	return space_map(kernel_cr3, va, pa, flags & ~MAP_USER);
}

int
kva_map_all(uint64_t va, const uint64_t *pas, uint64_t count, unsigned flags)
{
	return space_map_all(kernel_cr3, va, pas, count, flags & ~MAP_USER);
}

void
kva_unmap(uint64_t va, uint64_t count)
{
	uint64_t pas[CLEAR_AT_ONCE];

	for (uint64_t done = 0; done < count; done += CLEAR_AT_ONCE)
		space_clear(kernel_cr3, va + done * PAGE_BYTES,
		    count - done < CLEAR_AT_ONCE ? count - done : CLEAR_AT_ONCE,
		    pas);
	flush_all_cpus(va, count);
}

static void
map_image(const char *begin, const char *end, unsigned flags)
{
	uint64_t last = (uintptr_t)end;

	for (uint64_t va = (uintptr_t)begin; va < last; va += PAGE_BYTES) {
		if (kva_map(va, va - ABI_KERNBASE, flags) != 0)
			kpanic("no memory for the kernel's page tables");
	}
}

void
paging_map_segment(const struct abi_module *module, unsigned segment)
{
	uint64_t flags = module->segment[segment].flags;
	const char *begin =
	    (const char *)(uintptr_t)module->segment[segment].va;

	map_image(begin, begin + module->segment[segment].bytes,
	    ((flags & ABI_SEG_WRITE) != 0 ? MAP_WRITE : 0) |
		((flags & ABI_SEG_EXEC) != 0 ? MAP_EXEC : 0));
}

static void
map_modules(void)
{
	const struct abi_module *module;

	for (uint64_t i = 0; (module = module_at(i)) != NULL; i++) {
		for (unsigned s = 0; s < 4; s++)
			paging_map_segment(module, s);
	}
}

static void
map_direct(void)
{
	for (uint64_t pa = 0; pa < boot_info->ram_bytes; pa += LARGE_BYTES) {
		uint64_t *entry = make_entry(kernel_cr3, ABI_DMAP + pa, 1);

		KERN_ASSERT(entry != NULL);
		*entry = pa | PTE_LARGE | entry_bits(MAP_WRITE);
	}
}

/* Runs on the boot page tables and uses their direct map. */
void
paging_init(void)
{
	kernel_cr3 = frame_alloc();
	memset(phys_to_virt(kernel_cr3), 0, PAGE_BYTES);
	map_direct();
	map_image(kernel_text_begin, kernel_text_end, MAP_EXEC);
	map_image(kernel_rodata_begin, kernel_rodata_end, 0);
	map_image(kernel_data_begin, kernel_data_end, MAP_WRITE);
	map_modules();
	if (kva_map(LAPIC_VA, LAPIC_PA, MAP_WRITE | MAP_UNCACHED) != 0)
		kpanic("no memory for the kernel's page tables");
	process_kernel.space.cr3 = kernel_cr3;
}

/* False: no frame for a table. */
static bool
share_low(uint64_t cr3)
{
	uint64_t *entry = make_entry(cr3, LOW_MAP, 2);

	if (entry == NULL)
		return false;
	*entry = low_directory | PTE_PRESENT | PTE_WRITE | PTE_ACCESSED;
	return true;
}

void
paging_map_low(void)
{
	KERN_ASSERT(
	    low_directory == 0 && boot_info->ram_bytes <= LOW_MAP_BYTES);
	low_directory = frame_alloc();
	KERN_ASSERT(low_directory != FRAME_NONE);
	memset(phys_to_virt(low_directory), 0, PAGE_BYTES);
	for (uint64_t pa = 0; pa < boot_info->ram_bytes; pa += LARGE_BYTES)
		table_at(low_directory)[index_of(LOW_MAP + pa, 1)] = pa |
		    PTE_LARGE | entry_bits(MAP_WRITE);
	KERN_ASSERT(share_low(kernel_cr3));
}

uint64_t
space_create(void)
{
	uint64_t cr3 = frame_alloc();

	if (cr3 == FRAME_NONE)
		return 0;
	memset(table_at(cr3), 0, PAGE_BYTES / 2);
	memcpy(table_at(cr3) + 256, table_at(kernel_cr3) + 256, PAGE_BYTES / 2);
	if (low_directory != 0 && !share_low(cr3)) {
		space_destroy(cr3);
		return 0;
	}
	return cr3;
}

/* The next entry at or after FROM that is not 0; END: there is none. */
static const uint64_t *
next_entry(const uint64_t *from, const uint64_t *end)
{
	uint64_t count = (uint64_t)(end - from);
	bool all_zero;

	if (count == 0)
		return end;
	__asm__ volatile("repe scasq"
			 : "+D"(from), "+c"(count), "=@cce"(all_zero)
			 : "a"(UINT64_C(0))
			 : "memory");
	return all_zero ? end : from - 1;
}

/* Frees the tables that the entries of the table at PA point to. */
static void
free_level_1(uint64_t pa)
{
	const uint64_t *end = table_at(pa) + 512;

	for (const uint64_t *at = next_entry(table_at(pa), end); at != end;
	     at = next_entry(at + 1, end)) {
		uint64_t table = *at & PTE_ADDRESS;

		frame_retire(&table, 1);
	}
}

static void
free_level_2(uint64_t pa)
{
	const uint64_t *end = table_at(pa) + 512;

	for (const uint64_t *at = next_entry(table_at(pa), end); at != end;
	     at = next_entry(at + 1, end)) {
		uint64_t table = *at & PTE_ADDRESS;

		if (table == low_directory)
			continue;
		free_level_1(table);
		frame_retire(&table, 1);
	}
}

void
space_destroy(uint64_t cr3)
{
	const uint64_t *end = table_at(cr3) + 256;

	for (const uint64_t *at = next_entry(table_at(cr3), end); at != end;
	     at = next_entry(at + 1, end)) {
		uint64_t table = *at & PTE_ADDRESS;

		free_level_2(table);
		frame_retire(&table, 1);
	}
	frame_retire(&cr3, 1);
}
