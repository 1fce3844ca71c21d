#include "traces/memory/log_memory.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/rtit.h"
#include "traces/bundle/exec_log_read.h"
#include "traces/decode/vector.h"

#define NO_INSN 0x06 /* PUSH ES: invalid in 64-bit mode */

struct log_memory {
	struct exec_log_file *logs[BUNDLE_CPUS_MAX];
	bool *traced[BUNDLE_CPUS_MAX]; /* of the logs' blocks */
	unsigned log_count;
	uint64_t *va; /* of pages; ascending after make_pages() */
	size_t count, room;
	uint8_t *pages;
};

/* Marks the blocks that were executed while TraceEn was 1. */
static void
mark_traced(const struct exec_log_file *log, bool *traced)
{
	bool on = false;

	for (size_t i = 0; i < log->steps.count; i++) {
		uint32_t step = step_list_at(&log->steps, i);
		uint32_t index = step >> EXEC_LOG_FILE_BITS;
		uint32_t kind = step & ((1u << EXEC_LOG_FILE_BITS) - 1);

		if (kind == EXEC_LOG_FILE_BLOCK)
			traced[index] |= on;
		else if (kind == EXEC_LOG_FILE_MSR &&
		    log->msrs[index].msr == MSR_RTIT_CTL)
			on = (log->msrs[index].value & CTL_TRACE_EN) != 0;
	}
}

static int
read_logs(struct log_memory *memory, const struct bundle *bundle,
    struct tz_error *err)
{
	struct code *code = code_create(bundle->images, bundle->image_count);
	int error = code != NULL ? 0 : tz_error(err, TZ_EIO, "out of memory");

	for (unsigned cpu = 0; error == 0 && cpu < bundle->info.cpu_count;
	     cpu++) {
		char name[BUNDLE_NAME_BYTES];
		FILE *file;

		error = bundle_open_exec_log(bundle, cpu, name, &file, err);
		if (error != 0)
			break;
		error = exec_log_read_packed(
		    name, file, code, &memory->logs[cpu], err);
		fclose(file);
		if (error != 0)
			break;
		memory->log_count = cpu + 1;
		memory->traced[cpu] = calloc(
		    memory->logs[cpu]->block_count + 1, sizeof(bool));
		if (memory->traced[cpu] == NULL)
			error = tz_error(
			    err, TZ_EIO, "%s: out of memory", name);
		else
			mark_traced(memory->logs[cpu], memory->traced[cpu]);
	}
	code_destroy(code);
	return error;
}

static void
free_logs(struct log_memory *memory)
{
	for (unsigned cpu = 0; cpu < memory->log_count; cpu++) {
		exec_log_file_free(memory->logs[cpu]);
		free(memory->traced[cpu]);
	}
	memory->log_count = 0;
}

/* Calls EACH with the blocks that were traced, in the order of the logs. */
static bool
each_block(struct log_memory *memory,
    bool (*each)(struct log_memory *memory, const struct exec_log_block *block,
	const uint8_t *code))
{
	for (unsigned cpu = 0; cpu < memory->log_count; cpu++) {
		const struct exec_log_file *log = memory->logs[cpu];

		for (size_t i = 0; i < log->block_count; i++) {
			const struct exec_log_block *block = &log->blocks[i];

			/* A damaged log may go on after the last address. */
			if (memory->traced[cpu][i] &&
			    block->code != EXEC_LOG_NO_CODE &&
			    block->va + block->bytes > block->va &&
			    !each(memory, block, &log->code[block->code]))
				return false;
		}
	}
	return true;
}

static bool
note_pages(struct log_memory *memory, const struct exec_log_block *block,
    const uint8_t *code)
{
	uint64_t last = block->va + (block->bytes - 1);

	(void)code;
	for (uint64_t page = block->va / MEMORY_IMAGE_PAGE;
	     page <= last / MEMORY_IMAGE_PAGE; page++) {
		uint64_t va = page * MEMORY_IMAGE_PAGE;

		if (memory->count != 0 && memory->va[memory->count - 1] == va)
			continue;
		if (!GROW(memory->va, memory->room, memory->count + 1))
			return false;
		memory->va[memory->count++] = va;
	}
	return true;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Each page once, with no instruction in it. */
static bool
make_pages(struct log_memory *memory)
{
	size_t kept = 0;

	if (memory->count != 0)
		qsort(memory->va, memory->count, sizeof(*memory->va), compare);
	for (size_t i = 0; i < memory->count; i++)
		if (kept == 0 || memory->va[kept - 1] != memory->va[i])
			memory->va[kept++] = memory->va[i];
	memory->count = kept;
	memory->pages = malloc(kept * MEMORY_IMAGE_PAGE + 1);
	if (memory->pages != NULL)
		memset(memory->pages, NO_INSN, kept * MEMORY_IMAGE_PAGE);
	return memory->pages != NULL;
}

static bool
fill_pages(struct log_memory *memory, const struct exec_log_block *block,
    const uint8_t *code)
{
	for (uint32_t done = 0; done < block->bytes;) {
		uint64_t va = block->va + done;
		uint64_t within = va % MEMORY_IMAGE_PAGE, page = va - within;
		const uint64_t *found = bsearch(
		    &page, memory->va, memory->count, sizeof(page), compare);
		uint32_t part = (uint32_t)(MEMORY_IMAGE_PAGE - within);

		TZ_ASSERT(found != NULL);
		if (part > block->bytes - done)
			part = block->bytes - done;
		memcpy(memory->pages +
			(size_t)(found - memory->va) * MEMORY_IMAGE_PAGE +
			within,
		    code + done, part);
		done += part;
	}
	return true;
}

int
log_memory_read(const struct bundle *bundle, struct log_memory **result,
    struct tz_error *err)
{
	struct log_memory *memory = calloc(1, sizeof(*memory));
	int error = memory != NULL ? read_logs(memory, bundle, err)
				   : tz_error(err, TZ_EIO, "out of memory");

	if (error == 0 &&
	    !(each_block(memory, note_pages) && make_pages(memory) &&
		each_block(memory, fill_pages)))
		error = tz_error(
		    err, TZ_EIO, "%s: out of memory", bundle->path);
	if (error != 0) {
		log_memory_free(memory);
		return error;
	}
	free_logs(memory);
	*result = memory;
	return 0;
}

void
log_memory_free(struct log_memory *memory)
{
	if (memory == NULL)
		return;
	free_logs(memory);
	free(memory->va);
	free(memory->pages);
	free(memory);
}

int
log_memory_add(const struct log_memory *memory, struct memory_image *image,
    struct tz_error *err)
{
	return memory_image_add_pages(image, "the execution log", memory->pages,
	    memory->va, memory->count, err);
}
