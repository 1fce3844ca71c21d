#include "emu/cpu/access/walk.h"

#include <string.h>

#define PTE_P       TZ_BIT(0)
#define PTE_W       TZ_BIT(1)
#define PTE_U       TZ_BIT(2)
#define PTE_A       TZ_BIT(5)
#define PTE_D       TZ_BIT(6)
#define PTE_PS      TZ_BIT(7)
#define PTE_NX      TZ_BIT(63)
#define PTE_ADDRESS UINT64_C(0x000ffffffffff000)

bool
walk_page(const struct walk_space *space, struct gva va, struct walk *walk)
{
	uint64_t table = space->cr3 & PTE_ADDRESS;
	uint64_t pte = 0;

	if (!tz_is_canonical(va.u))
		return false;
	*walk = (struct walk){ .writable = true,
		.user = true,
		.executable = true,
		.accessed = true };
	for (unsigned shift = 39;; shift -= 9) {
		uint64_t low = TZ_BIT(shift) - 1;

		walk->entry_pa = table + tz_bits(va.u, shift + 8, shift) * 8;
		if (walk->entry_pa + 8 > space->ram_bytes)
			return false;
		memcpy(&pte, space->ram + walk->entry_pa, sizeof(pte));
		if (!(pte & PTE_P))
			return false;
		walk->writable &= (pte & PTE_W) != 0;
		walk->user &= (pte & PTE_U) != 0;
		walk->executable &= (pte & PTE_NX) == 0;
		walk->accessed &= (pte & PTE_A) != 0;
		table = pte & PTE_ADDRESS;
		if (shift == 12 || (shift < 39 && (pte & PTE_PS))) {
			walk->pa.u = (table & ~low) | (va.u & low);
			walk->dirty = (pte & PTE_D) != 0;
			return true;
		}
	}
}

/* Bytes from VA to its page's end, at most COUNT. */
static size_t
span(uint64_t va, size_t count)
{
	size_t rest = TZ_PAGE_BYTES - va % TZ_PAGE_BYTES;

	return rest < count ? rest : count;
}

static bool
in_ram(const struct walk_space *space, struct gpa pa, size_t count)
{
	return pa.u < space->ram_bytes && count <= space->ram_bytes - pa.u;
}

bool
walk_read(const struct walk_space *space, struct gva va, void *bytes,
    size_t count, struct gva *fault_va)
{
	uint8_t *to = bytes;
	struct walk walk;

	while (count > 0) {
		size_t n = span(va.u, count);

		if (!walk_page(space, va, &walk) ||
		    !in_ram(space, walk.pa, n)) {
			if (fault_va != NULL)
				*fault_va = va;
			return false;
		}
		memcpy(to, space->ram + walk.pa.u, n);
		to += n;
		va.u += n;
		count -= n;
	}
	return true;
}

bool
walk_write(const struct walk_space *space, struct gva va, const void *bytes,
    size_t count, struct gva *fault_va)
{
	const uint8_t *from = bytes;
	struct walk walk;

	while (count > 0) {
		size_t n = span(va.u, count);

		if (!walk_page(space, va, &walk) || !walk.writable ||
		    !in_ram(space, walk.pa, n)) {
			if (fault_va != NULL)
				*fault_va = va;
			return false;
		}
		space->ram[walk.entry_pa] |= (uint8_t)PTE_D;
		memcpy(space->ram + walk.pa.u, from, n);
		from += n;
		va.u += n;
		count -= n;
	}
	return true;
}

/* SDM vol. 3, 4.6.1 "Determination of Access Rights". */
static bool
is_allowed(const struct walk *walk, const struct walk_access *access)
{
	if (access->user)
		return walk->user && (walk->writable || !access->write);
	return !access->write || walk->writable || !access->protect;
}

/* SDM vol. 3, 4.8 "Accessed and Dirty Flags". */
static void
set_flags(const struct walk_space *space, struct gva va, bool write)
{
	uint64_t table = space->cr3 & PTE_ADDRESS;
	uint64_t pte, entry_pa;
	bool last;

	for (unsigned shift = 39;; shift -= 9) {
		entry_pa = table + tz_bits(va.u, shift + 8, shift) * 8;
		TZ_ASSERT(entry_pa + 8 <= space->ram_bytes);
		memcpy(&pte, space->ram + entry_pa, sizeof(pte));
		TZ_ASSERT(pte & PTE_P);
		last = shift == 12 || (shift < 39 && (pte & PTE_PS));
		pte |= PTE_A | (last && write ? PTE_D : 0);
		memcpy(space->ram + entry_pa, &pte, sizeof(pte));
		if (last)
			return;
		table = pte & PTE_ADDRESS;
	}
}

enum walk_end
walk_access(const struct walk_space *space, struct gva va, size_t count,
    const struct walk_access *access, struct walk_bytes *bytes,
    struct gva *fault_va)
{
	struct gva at[2] = { va, { (va.u | (TZ_PAGE_BYTES - 1)) + 1 } };
	size_t length[2] = { span(va.u, count), 0 };
	bool flagged[2];
	struct walk walk;

	TZ_ASSERT(count > 0 && count <= 512);
	length[1] = count - length[0];
	*bytes = (struct walk_bytes){ .split = length[0] };
	for (unsigned i = 0; i < 2 && length[i] > 0; i++) {
		if (!walk_page(space, at[i], &walk) ||
		    !is_allowed(&walk, access)) {
			*fault_va = at[i];
			return WALK_FAULT;
		}
		if (!in_ram(space, walk.pa, length[i]))
			return WALK_NO_RAM;
		bytes->part[i] = space->ram + walk.pa.u;
		flagged[i] = walk.accessed && (walk.dirty || !access->write);
	}
	for (unsigned i = 0; i < 2 && length[i] > 0; i++)
		if (!flagged[i])
			set_flags(space, at[i], access->write);
	return WALK_DONE;
}
