#include "driver/insntrace/buffer.h"

#include "harness/guest/kern.h"

static void *
memory_alloc(void *arg, uint64_t pages, uint64_t align_pages)
{
	uint64_t pa = module_frames_alloc(pages, align_pages);
	void *va;

	(void)arg;
	if (pa == FRAME_NONE)
		return NULL;
	va = phys_to_virt(pa);
	memset(va, 0, pages * PAGE_BYTES);
	return va;
}

static void
memory_free(void *arg, uint64_t pa, uint64_t pages)
{
	(void)arg;
	module_frames_free(pa, pages);
}

static uint64_t
memory_va_to_pa(void *arg, const void *va)
{
	(void)arg;
	return virt_to_phys(va);
}

static const struct topa_memory memory = {
	.alloc = memory_alloc,
	.free = memory_free,
	.va_to_pa = memory_va_to_pa,
};

struct buffer *
buffer_create(uint32_t descriptor, const struct insntrace_config *config)
{
	struct buffer *buffer = heap_alloc(sizeof(*buffer),
	    HEAP_NOWAIT | HEAP_ZERO, __builtin_return_address(0));

	if (buffer == NULL)
		return NULL;
	buffer->descriptor = descriptor;
	buffer->config = *config;
	if (!topa_build(&buffer->topa, config->chunk_count, config->chunk_order,
		config->stop_on_full != 0, &memory)) {
		heap_free(buffer, __builtin_return_address(0));
		return NULL;
	}
	buffer->state.size_bytes = topa_bytes(&buffer->topa);
	buffer->state_status = INSNTRACE_OK;
	return buffer;
}

static void
unmap(const struct buffer *buffer)
{
	uint64_t bytes = topa_bytes(&buffer->topa);

	for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
		process_unmap_frame(
		    buffer_frame(buffer, at), buffer_map_offset(buffer, at));
}

void
buffer_destroy_all(struct buffer *list)
{
	while (list != NULL) {
		struct buffer *next = list->next;

		if (list->mapped)
			unmap(list);
		topa_free(&list->topa, &memory);
		heap_free(list, __builtin_return_address(0));
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
	    offset % chunk_bytes / PAGE_BYTES * PAGE_BYTES;
}
