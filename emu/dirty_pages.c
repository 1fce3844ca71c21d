/*
 * Finds the pages of a private mapping that were copied on write, from the host's
 * page tables.  These are read only if the thread has taken a page fault since the
 * last read.
 */
#define _GNU_SOURCE
#include "emu/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define ENTRY_PRESENT TZ_BIT(63)
#define ENTRY_SWAPPED TZ_BIT(62)
#define ENTRY_FILE    TZ_BIT(61)
#define ENTRIES       512
#define REGIONS       512

/* Linux 6.7 and later, Documentation/admin-guide/mm/pagemap.rst: PAGEMAP_SCAN. */
#define SCAN_FILE    TZ_BIT(2)
#define SCAN_PRESENT TZ_BIT(3)
#define SCAN_SWAPPED TZ_BIT(4)

struct scan_region {
	uint64_t start, end, categories;
};

struct scan_request {
	uint64_t size, flags, start, end, walk_end, regions, region_count;
	uint64_t pages_max, inverted, all_of, any_of, returned;
};

#define SCAN _IOWR('f', 16, struct scan_request)

bool
memory_add_hot(struct memory *memory, uint64_t page)
{
	uint64_t *bits = &memory->hot_bits[page / 64];

	if (*bits >> page % 64 & 1)
		return true;
	if (memory->hot_count == memory->hot_max) {
		size_t max = memory->hot_max * 2 + 256;
		struct hot_page *hot = realloc(memory->hot, max * sizeof(*hot));

		if (hot == NULL)
			return false;
		memory->hot = hot;
		memory->hot_max = max;
	}
	*bits |= TZ_BIT(page % 64);
	memory->hot[memory->hot_count++] =
	    (struct hot_page){ .page = (uint32_t)page };
	return true;
}

static bool
read_entries(struct memory *memory)
{
	uint64_t pages = memory->bytes / TZ_PAGE_BYTES;
	uint64_t first = (uint64_t)(uintptr_t)memory->ram / TZ_PAGE_BYTES;
	uint64_t entry[ENTRIES];

	for (uint64_t at = 0; at < pages; at += ENTRIES) {
		uint64_t count = pages - at < ENTRIES ? pages - at : ENTRIES;
		ssize_t bytes = (ssize_t)(count * sizeof(entry[0]));

		if (pread(memory->pagemap, entry, (size_t)bytes,
			(off_t)((first + at) * sizeof(entry[0]))) != bytes)
			return false;
		for (uint64_t i = 0; i < count; i++) {
			if ((entry[i] & (ENTRY_PRESENT | ENTRY_SWAPPED)) != 0 &&
			    !(entry[i] & ENTRY_FILE) &&
			    !memory_add_hot(memory, at + i))
				return false;
		}
	}
	return true;
}

static bool
scan(struct memory *memory)
{
	uint64_t first = (uint64_t)(uintptr_t)memory->ram;
	struct scan_region region[REGIONS];
	struct scan_request arg = {
		.size = sizeof(arg),
		.start = first,
		.end = first + memory->bytes,
		.regions = (uint64_t)(uintptr_t)region,
		.region_count = REGIONS,
		.inverted = SCAN_FILE,
		.all_of = SCAN_FILE,
		.any_of = SCAN_PRESENT | SCAN_SWAPPED,
		.returned = SCAN_FILE,
	};

	while (arg.start < arg.end) {
		int count = ioctl(memory->pagemap, SCAN, &arg);

		if (count < 0)
			return false;
		for (int i = 0; i < count; i++) {
			uint64_t page = (region[i].start - first) /
			    TZ_PAGE_BYTES;
			uint64_t end = (region[i].end - first) / TZ_PAGE_BYTES;

			for (; page < end; page++) {
				if (!memory_add_hot(memory, page))
					return false;
			}
		}
		arg.start = arg.walk_end;
	}
	return true;
}

static long
count_faults(void)
{
	struct rusage usage;

	TZ_ASSERT(getrusage(RUSAGE_THREAD, &usage) == 0);
	return usage.ru_minflt + usage.ru_majflt;
}

/* The file shows the page tables of the process that opened it. */
void
memory_open_pagemap(struct memory *memory)
{
	volatile uint8_t *first = memory->ram;
	long before = count_faults();

	if (memory->pagemap >= 0)
		close(memory->pagemap);
	memory->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	memory->process = getpid();
	memory->thread = 0;
	if (memory->hot_count > 0 || memory->image != NULL)
		return;
	*first = *first;
	memory->counts_faults = count_faults() > before;
	memory->scans = memory->pagemap >= 0 && scan(memory) &&
	    memory->hot_count == 1;
	memory->thread = 0;
}

void
memory_ignore_faults(struct memory *memory)
{
	memory->faults = count_faults();
}

bool
memory_find_hot(struct memory *memory)
{
	pid_t thread = gettid();

	/* A child has another thread ID, so that the process need not be
	 * compared. */
	if (memory->counts_faults && memory->thread == thread &&
	    memory->faults == count_faults())
		return true;
	if (memory->process != getpid())
		memory_open_pagemap(memory);
	if (memory->pagemap < 0 ||
	    !(memory->scans ? scan(memory) : read_entries(memory)))
		return false;
	memory->thread = thread;
	memory_ignore_faults(memory);
	return true;
}
