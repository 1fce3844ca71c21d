#include "driver/insntrace/core/buffer/buffer.h"

#include "driver/insntrace/core/services.h"

static void *
memory_alloc(void *arg, uint64_t pages, uint64_t align_pages)
{
	(void)arg;
	return os_pages_alloc(pages, align_pages);
}

static void
memory_free(void *arg, uint64_t pa, uint64_t pages)
{
	(void)arg;
	os_pages_free(pa, pages);
}

static uint64_t
memory_va_to_pa(void *arg, const void *va)
{
	(void)arg;
	return os_physical(va);
}

static uint64_t
memory_chunk(void *arg, uint32_t index)
{
	const struct buffer_pages *pages = arg;

	return pages->page(pages->arg, index);
}

/* PAGES are used while tables are built. */
static struct topa_memory
memory_of(const struct buffer *buffer, const struct buffer_pages *pages)
{
	return (struct topa_memory){
		.arg = (void *)(uintptr_t)pages,
		.alloc = memory_alloc,
		.free = memory_free,
		.va_to_pa = memory_va_to_pa,
		.chunk = buffer->given ? memory_chunk : NULL,
	};
}

struct buffer *
buffer_create(uint32_t descriptor, const struct insntrace_config *config,
    bool moves, const struct buffer_pages *pages)
{
	struct buffer *buffer = os_alloc(sizeof(*buffer));
	struct topa_memory memory;

	if (buffer == NULL)
		return NULL;
	buffer->descriptor = descriptor;
	buffer->config = *config;
	buffer->given = pages != NULL;
	memory = memory_of(buffer, pages);
	if (moves) {
		buffer->xstate = os_pages_alloc(1, 1);
		if (buffer->xstate == NULL) {
			os_free(buffer);
			return NULL;
		}
	}
	if (!topa_build(&buffer->topa, config->chunk_count, config->chunk_order,
		config->stop_on_full != 0, &memory)) {
		buffer_destroy_all(buffer);
		return NULL;
	}
	buffer->state.size_bytes = topa_bytes(&buffer->topa);
	buffer->state_status = INSNTRACE_OK;
	return buffer;
}

void
buffer_destroy_all(struct buffer *list)
{
	while (list != NULL) {
		const struct topa_memory memory = memory_of(list, NULL);
		struct buffer *next = list->next;

		topa_free(&list->topa, &memory);
		if (list->xstate != NULL)
			os_pages_free(os_physical(list->xstate), 1);
		os_free(list);
		list = next;
	}
}

/* Sets all fields from the configuration; none is left from before. */
void
buffer_setup(
    const struct buffer *buffer, uint32_t range_count, struct hw_setup *setup)
{
	const struct insntrace_config *config = &buffer->config;

	*setup = (struct hw_setup){
		.ctl = config->ctl | PT_CTL_TOPA | PT_CTL_TRACEEN,
		.output_base = buffer->topa.table[0].pa,
		.cr3_match = config->cr3_match,
	};
	for (uint32_t i = 0; i < range_count; i++) {
		const struct insntrace_range *range = &config->range[i];

		if (range->bytes == 0)
			continue;
		setup->addr_a[i] = range->start;
		setup->addr_b[i] = range_last(range);
	}
}

uint64_t
buffer_map_offset(const struct buffer *buffer, uint64_t offset)
{
	return ((uint64_t)buffer->descriptor << INSNTRACE_MAP_SHIFT) + offset;
}

uint64_t
buffer_frame(const struct buffer *buffer, uint64_t offset)
{
	uint64_t chunk_bytes = topa_chunk_bytes(&buffer->topa);
	uint64_t index = offset / chunk_bytes;

	return topa_chunk_pa(&buffer->topa, (uint32_t)index) +
	    offset % chunk_bytes / OS_PAGE_BYTES * OS_PAGE_BYTES;
}
