#include "emu/cpu/engine/code_page.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t
code_page_hash(const struct walk_space *space, uint64_t pa)
{
	if (pa + TZ_PAGE_BYTES > space->ram_bytes)
		return 0;
	return XXH3_64bits(space->ram + pa, TZ_PAGE_BYTES);
}

/* True if PAGE was not written since its hash was last computed or checked. */
static bool
is_unwritten(const struct code_page *page, const struct code_written *written)
{
	uint64_t frame = page->pa / TZ_PAGE_BYTES;

	return written->pages != NULL && page->epoch == written->epoch &&
	    !(written->pages[frame / 64] >> frame % 64 & 1);
}

bool
code_page_differs(struct code_page *page, const struct walk_space *space,
    const struct code_written *written)
{
	if (page->pa + TZ_PAGE_BYTES > space->ram_bytes ||
	    is_unwritten(page, written))
		return false;
	page->epoch = written->epoch;
	return code_page_hash(space, page->pa) != page->hash;
}

enum code_placement
code_page_placement(
    const struct code_page *page, const struct walk_space *space)
{
	struct walk walk;

	if (!walk_page(space, (struct gva){ page->va }, &walk))
		return CODE_UNMAPPED;
	return code_page_moved(page, &walk) ? CODE_MOVED : CODE_STAYED;
}
