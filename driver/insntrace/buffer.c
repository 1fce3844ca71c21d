#include "driver/insntrace/buffer.h"

#include "harness/guest/kern.h"

/* Runs are aligned to a page only: takes more and gives back what is over. */
static uint64_t
alloc_run(uint64_t pages, uint64_t align_pages)
{
	uint64_t taken = pages + align_pages - 1;
	uint64_t run = frame_alloc_run(taken);
	uint64_t align_bytes = align_pages * PAGE_BYTES;
	uint64_t begin;

	if (run == FRAME_NONE)
		return FRAME_NONE;
	begin = (run + align_bytes - 1) / align_bytes * align_bytes;
	for (uint64_t i = 0; i < taken; i++) {
		uint64_t pa = run + i * PAGE_BYTES;

		if (pa < begin || pa >= begin + pages * PAGE_BYTES)
			frame_free(pa);
	}
	return begin;
}

static void *
memory_alloc(void *arg, uint64_t pages, uint64_t align_pages)
{
	uint64_t pa = pages == 1 ? frame_alloc()
				 : alloc_run(pages, align_pages);
	void *va;

	(void)arg;
	if (pa == FRAME_NONE)
		return NULL;
	va = phys_to_virt(pa);
	host_alloc(va, pages * PAGE_BYTES, __builtin_return_address(0));
	memset(va, 0, pages * PAGE_BYTES);
	return va;
}

static void
memory_free(void *arg, uint64_t pa, uint64_t pages)
{
	(void)arg;
	host_free(phys_to_virt(pa), __builtin_return_address(0));
	for (uint64_t i = 0; i < pages; i++)
		frame_free(pa + i * PAGE_BYTES);
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
