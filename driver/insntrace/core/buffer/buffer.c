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

static const struct topa_memory memory = {
	.alloc = memory_alloc,
	.free = memory_free,
	.va_to_pa = memory_va_to_pa,
};

struct buffer *
buffer_create(
    uint32_t descriptor, const struct insntrace_config *config, bool thread)
{
	struct buffer *buffer = os_alloc(sizeof(*buffer));

	if (buffer == NULL)
		return NULL;
	buffer->descriptor = descriptor;
	buffer->config = *config;
	if (thread) {
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
		struct buffer *next = list->next;

		topa_free(&list->topa, &memory);
		if (list->xstate != NULL)
			os_pages_free(os_physical(list->xstate), 1);
		os_free(list);
		list = next;
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
