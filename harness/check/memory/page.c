/*
 * Maps frames to pages of trace buffers: a sorted array.  Freed pages stay in it,
 * without a stream, until the frame is allocated again: they still contain trace.
 */
#include "harness/check/internal.h"

#include <string.h>

/* The index of the first page with a frame of FRAME or above. */
static uint32_t
page_lower(const struct check *check, uint64_t frame)
{
	uint32_t low = 0, high = check->core.page_count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (check->page[mid].frame < frame)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
page_set_frame(struct check *check, uint32_t frame, bool on)
{
	uint64_t bit = TZ_BIT(frame % 64);

	if (frame >= check->config.ram_bytes / CHECK_PAGE_BYTES)
		return;
	if (on)
		check->trace_frames[frame / 64] |= bit;
	else
		check->trace_frames[frame / 64] &= ~bit;
}

const struct check_page *
page_find(const struct check *check, uint64_t pa)
{
	uint64_t frame = pa / CHECK_PAGE_BYTES;
	uint32_t at = page_lower(check, frame);
	const struct check_page *page = &check->page[at];

	if (at == check->core.page_count || page->frame != frame ||
	    page->stream == CHECK_NO_STREAM)
		return NULL;
	return page;
}

bool
page_name(struct check *check, uint64_t pa, unsigned stream, uint32_t index)
{
	uint32_t frame = (uint32_t)(pa / CHECK_PAGE_BYTES);
	uint32_t at = page_lower(check, frame);
	uint32_t count = check->core.page_count;

	TZ_ASSERT(index < CHECK_BUFFER_MAX);
	if (at == count || check->page[at].frame != frame) {
		if (count == CHECK_PAGES_MAX)
			return false;
		memmove(&check->page[at + 1], &check->page[at],
		    (count - at) * sizeof(check->page[0]));
		check->core.page_count++;
	}
	check->page[at] = (struct check_page){
		.frame = frame,
		.index = (uint16_t)index,
		.stream = (uint8_t)stream,
	};
	page_set_frame(check, frame, true);
	return true;
}

void
page_forget_stream(struct check *check, unsigned stream)
{
	for (uint32_t i = 0; i < check->core.page_count; i++) {
		struct check_page *page = &check->page[i];

		if (page->stream == stream) {
			page->stream = CHECK_NO_STREAM;
			page->index = 0;
		}
	}
}

void
page_reuse(struct check *check, uint64_t pa, uint64_t bytes)
{
	uint64_t last = (pa + bytes - 1) / CHECK_PAGE_BYTES;
	uint32_t from = page_lower(check, pa / CHECK_PAGE_BYTES);
	uint32_t to = from;

	while (to < check->core.page_count && check->page[to].frame <= last)
		page_set_frame(check, check->page[to++].frame, false);
	if (to == from)
		return;
	memmove(&check->page[from], &check->page[to],
	    (check->core.page_count - to) * sizeof(check->page[0]));
	check->core.page_count -= to - from;
}

void
page_set_frames(struct check *check, bool on)
{
	for (uint32_t i = 0; i < check->core.page_count; i++)
		page_set_frame(check, check->page[i].frame, on);
}
