#define _GNU_SOURCE
#include "emu/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* With more hot pages than this, restoring from the image is cheaper. */
#define HOT_PAGES_MAX 4096

struct page_copy {
	uint8_t bytes[TZ_PAGE_BYTES];
	uint32_t refs;
	uint64_t hash;          /* hash_bytes() of .bytes; 0: not known yet */
	struct page_copy *next; /* next spare copy */
};

/* .page: a page that differs from the image, or did once. */
struct memory_copy {
	uint32_t generation;
	size_t count;
	struct hot_page page[];
};

static uint8_t *
page_at(const struct memory *memory, uint64_t page)
{
	return memory->ram + page * TZ_PAGE_BYTES;
}

static const uint8_t *
image_at(const struct memory *memory, uint64_t page)
{
	return memory->image + page * TZ_PAGE_BYTES;
}

static bool
is_same(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, TZ_PAGE_BYTES) == 0;
}

static struct page_copy *
hold(struct page_copy *copy)
{
	if (copy != NULL)
		copy->refs++;
	return copy;
}

static void
release(struct memory *memory, struct page_copy *copy)
{
	if (copy == NULL || --copy->refs > 0)
		return;
	copy->next = memory->spare;
	memory->spare = copy;
}

static void
remember(struct memory *memory, struct hot_page *hot, struct page_copy *copy)
{
	hold(copy);
	release(memory, hot->copy);
	hot->copy = copy;
}

static struct page_copy *
make_copy(struct memory *memory, const uint8_t *bytes)
{
	struct page_copy *copy = memory->spare;

	if (copy != NULL)
		memory->spare = copy->next;
	else
		copy = malloc(sizeof(*copy));
	if (copy == NULL)
		return NULL;
	memcpy(copy->bytes, bytes, sizeof(copy->bytes));
	copy->refs = 0;
	copy->hash = 0;
	return copy;
}

/* A private mapping of FD, at AT or anywhere if AT is NULL.  NULL: the host refuses. */
static uint8_t *
map_private(int fd, uint64_t bytes, void *at)
{
	int flags = MAP_PRIVATE | MAP_NORESERVE | (at != NULL ? MAP_FIXED : 0);
	void *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int
make_file(uint64_t bytes)
{
	int fd = memfd_create("guest", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

bool
memory_create(struct memory *memory, uint64_t bytes)
{
	uint64_t words = (bytes / TZ_PAGE_BYTES + 63) / 64;

	*memory = (struct memory){
		.bytes = bytes,
		.fd = make_file(bytes),
		.hot_bits = calloc(words, sizeof(*memory->hot_bits)),
		.pagemap = -1,
	};
	if (memory->fd >= 0)
		memory->ram = map_private(memory->fd, bytes, NULL);
	if (memory->ram == NULL || memory->hot_bits == NULL) {
		memory_destroy(memory);
		return false;
	}
	memory_open_pagemap(memory);
	return true;
}

static void
forget_hot(struct memory *memory)
{
	for (size_t i = 0; i < memory->hot_count; i++)
		release(memory, memory->hot[i].copy);
	memset(memory->hot_bits, 0,
	    (memory->bytes / TZ_PAGE_BYTES + 63) / 64 *
		sizeof(*memory->hot_bits));
	memory->hot_count = 0;
	memory->generation++;
}

static void
unmap_image(struct memory *memory)
{
	/* This process made the mapping, so it may be changed. */
	if (memory->image != NULL)
		munmap((void *)(uintptr_t)memory->image, memory->bytes);
	memory->image = NULL;
}

void
memory_destroy(struct memory *memory)
{
	if (memory->hot_bits != NULL)
		forget_hot(memory);
	while (memory->spare != NULL) {
		struct page_copy *next = memory->spare->next;

		free(memory->spare);
		memory->spare = next;
	}
	unmap_image(memory);
	if (memory->ram != NULL)
		munmap(memory->ram, memory->bytes);
	if (memory->fd >= 0)
		close(memory->fd);
	if (memory->pagemap >= 0)
		close(memory->pagemap);
	free(memory->hot_bits);
	free(memory->hot);
}

/* COUNT bytes at FROM become those at AT of the file. */
static bool
write_bytes(int fd, uint64_t at, const uint8_t *from, uint64_t count)
{
	while (count > 0) {
		ssize_t n = pwrite(fd, from, count, (off_t)at);

		if (n <= 0)
			return false;
		from += n;
		at += (uint64_t)n;
		count -= (uint64_t)n;
	}
	return true;
}

static bool
write_out(const struct memory *memory, int fd, uint64_t at, uint64_t bytes)
{
	return write_bytes(fd, at, memory->ram + at, bytes);
}

/* Writes the current RAM to FD: the old image with the hot pages. */
static bool
write_image(const struct memory *memory, int fd)
{
	off_t end = 0;

	for (;;) {
		off_t at = lseek(memory->fd, end, SEEK_DATA);

		if (at < 0)
			break;
		end = lseek(memory->fd, at, SEEK_HOLE);
		if (end < at ||
		    !write_out(memory, fd, (uint64_t)at, (uint64_t)(end - at)))
			return false;
	}
	for (size_t i = 0; i < memory->hot_count; i++) {
		uint64_t page = memory->hot[i].page;

		if (!write_out(memory, fd, page * TZ_PAGE_BYTES, TZ_PAGE_BYTES))
			return false;
	}
	return true;
}

/* Makes a new file, because other processes may still use the old one. */
static bool
make_image(struct memory *memory)
{
	int fd = make_file(memory->bytes);
	void *image = MAP_FAILED;

	memory->thread = 0;
	if (fd >= 0 && memory_find_hot(memory) && write_image(memory, fd))
		image = mmap(NULL, memory->bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (image == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (map_private(fd, memory->bytes, memory->ram) == NULL) {
		munmap(image, memory->bytes);
		close(fd);
		return false;
	}
	unmap_image(memory);
	close(memory->fd);
	memory->fd = fd;
	memory->image = image;
	forget_hot(memory);
	return true;
}

bool
memory_fill(
    struct memory *memory, uint64_t page, uint64_t count, const uint8_t *bytes)
{
	TZ_ASSERT(memory->image == NULL);
	return write_bytes(
	    memory->fd, page * TZ_PAGE_BYTES, bytes, count * TZ_PAGE_BYTES);
}

bool
memory_filled(struct memory *memory)
{
	void *image = mmap(
	    NULL, memory->bytes, PROT_READ, MAP_SHARED, memory->fd, 0);

	if (image == MAP_FAILED)
		return false;
	memory->image = image;
	memory->thread = 0;
	/* A page that was touched (dirty_pages.c) is not yet that of the file. */
	TZ_ASSERT(madvise(memory->ram, memory->bytes, MADV_DONTNEED) == 0);
	forget_hot(memory);
	return true;
}

/*
 * Copies the content of the page, for several copies of RAM to share; false: no
 * memory.
 */
static bool
copy_page(struct memory *memory, struct hot_page *hot)
{
	const uint8_t *bytes = page_at(memory, hot->page);
	struct page_copy *copy = NULL;

	if (hot->copy != NULL && is_same(bytes, hot->copy->bytes))
		return true;
	if (!is_same(bytes, image_at(memory, hot->page))) {
		copy = make_copy(memory, bytes);
		if (copy == NULL)
			return false;
	}
	remember(memory, hot, copy);
	return true;
}

struct memory_copy *
memory_take(struct memory *memory)
{
	struct memory_copy *copy;

	if (memory->copies == 0 && !make_image(memory))
		return NULL;
	if (!memory_find_hot(memory))
		return NULL;
	copy = malloc(
	    sizeof(*copy) + memory->hot_count * sizeof(copy->page[0]));
	if (copy == NULL)
		return NULL;
	copy->generation = memory->generation;
	copy->count = 0;
	memory->copies++;
	for (size_t i = 0; i < memory->hot_count; i++) {
		struct hot_page *hot = &memory->hot[i];

		if (!copy_page(memory, hot)) {
			memory_free(memory, copy);
			return NULL;
		}
		copy->page[copy->count++] = *hot;
		hold(hot->copy);
	}
	memory_ignore_faults(memory);
	return copy;
}

void
memory_free(struct memory *memory, struct memory_copy *copy)
{
	if (copy == NULL)
		return;
	for (size_t i = 0; i < copy->count; i++)
		release(memory, copy->page[i].copy);
	free(copy);
	TZ_ASSERT(memory->copies > 0);
	memory->copies--;
}

static int
visit_pages(const struct memory *memory, uint64_t begin, uint64_t end,
    memory_page visit, void *arg)
{
	static const uint8_t zero[TZ_PAGE_BYTES];
	int result = 0;

	for (uint64_t page = begin / TZ_PAGE_BYTES;
	     result == 0 && page * TZ_PAGE_BYTES < end; page++) {
		if (!is_same(image_at(memory, page), zero))
			result = visit(arg, page, image_at(memory, page));
	}
	return result;
}

int
memory_visit(const struct memory *memory, const struct memory_copy *copy,
    memory_page visit, void *arg)
{
	off_t end = 0;
	int result = 0;

	TZ_ASSERT(copy->count == 0);
	/* Pages of holes are 0; reading them would allocate them. */
	while (result == 0) {
		off_t begin = lseek(memory->fd, end, SEEK_DATA);

		if (begin < 0)
			break;
		end = lseek(memory->fd, begin, SEEK_HOLE);
		TZ_ASSERT(end > begin);
		result = visit_pages(
		    memory, (uint64_t)begin, (uint64_t)end, visit, arg);
	}
	return result;
}

static void
put_back(struct memory *memory, struct hot_page *hot, struct page_copy *copy)
{
	memcpy(page_at(memory, hot->page),
	    copy != NULL ? copy->bytes : image_at(memory, hot->page),
	    TZ_PAGE_BYTES);
	remember(memory, hot, copy);
}

/* The copy's hot pages are the first of the current hot pages. */
static void
apply_in_order(struct memory *memory, const struct memory_copy *copy)
{
	for (size_t i = 0; i < memory->hot_count; i++)
		put_back(memory, &memory->hot[i],
		    i < copy->count ? copy->page[i].copy : NULL);
}

static void
apply_afresh(struct memory *memory, const struct memory_copy *copy)
{
	TZ_ASSERT(madvise(memory->ram, memory->bytes, MADV_DONTNEED) == 0);
	forget_hot(memory);
	for (size_t i = 0; i < copy->count; i++) {
		TZ_ASSERT(memory_add_hot(memory, copy->page[i].page));
		put_back(memory, &memory->hot[i], copy->page[i].copy);
	}
}

const uint64_t *
memory_apply(struct memory *memory, const struct memory_copy *copy)
{
	bool in_order = memory_find_hot(memory) &&
	    copy->generation == memory->generation &&
	    memory->hot_count <= HOT_PAGES_MAX;

	if (in_order)
		apply_in_order(memory, copy);
	else
		apply_afresh(memory, copy);
	memory_ignore_faults(memory);
	return in_order ? memory->hot_bits : NULL;
}

/*
 * A page is hot from its first write in a generation.  Where the host cannot list hot
 * pages, finding them takes longer than what the caller saves.
 */
const uint64_t *
memory_written(struct memory *memory, uint32_t *epoch)
{
	bool known = memory->image != NULL && memory->counts_faults &&
	    memory->scans && memory_find_hot(memory);

	*epoch = memory->generation;
	return known ? memory->hot_bits : NULL;
}

static void
clear_dead(uint8_t *bytes, uint64_t at, const struct memory_range *dead)
{
	uint64_t end = at + TZ_PAGE_BYTES;
	uint64_t from = dead->begin > at ? dead->begin : at;
	uint64_t to = dead->end < end ? dead->end : end;

	if (from < to)
		memset(bytes + (from - at), 0, to - from);
}

static bool
has_dead(uint64_t at, const struct memory_range *dead, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (dead[i].begin < at + TZ_PAGE_BYTES && dead[i].end > at)
			return true;
	}
	return false;
}

/* True if the whole page at AT is dead. */
static bool
is_dead(uint64_t at, const struct memory_range *dead, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (dead[i].begin <= at && dead[i].end >= at + TZ_PAGE_BYTES)
			return true;
	}
	return false;
}

static uint64_t
hash_bytes(const uint8_t *bytes, uint64_t page)
{
	return XXH3_64bits_withSeed(bytes, TZ_PAGE_BYTES, page);
}

/*
 * 0: the page equals the image.  Comparing costs less than hashing, and most pages
 * are unchanged since they were last copied or restored.
 */
static uint64_t
hash_whole(const struct memory *memory, const struct hot_page *hot)
{
	const uint8_t *now = page_at(memory, hot->page);
	struct page_copy *copy = hot->copy;

	if (copy != NULL && is_same(now, copy->bytes)) {
		if (copy->hash == 0)
			copy->hash = hash_bytes(now, hot->page);
		return copy->hash;
	}
	return is_same(now, image_at(memory, hot->page))
	    ? 0
	    : hash_bytes(now, hot->page);
}

/* The same for a page with bytes in DEAD: 0 if it equals the image except there. */
static uint64_t
hash_living(const struct memory *memory, uint64_t page,
    const struct memory_range *dead, size_t dead_count)
{
	uint64_t at = page * TZ_PAGE_BYTES;
	uint8_t copy[2][TZ_PAGE_BYTES];

	memcpy(copy[0], page_at(memory, page), TZ_PAGE_BYTES);
	memcpy(copy[1], image_at(memory, page), TZ_PAGE_BYTES);
	for (size_t i = 0; i < dead_count; i++) {
		clear_dead(copy[0], at, &dead[i]);
		clear_dead(copy[1], at, &dead[i]);
	}
	return is_same(copy[0], copy[1]) ? 0 : hash_bytes(copy[0], page);
}

static uint64_t
hash_page(const struct memory *memory, const struct hot_page *hot,
    const struct memory_range *dead, size_t dead_count)
{
	uint64_t at = (uint64_t)hot->page * TZ_PAGE_BYTES;

	if (is_dead(at, dead, dead_count))
		return 0;
	if (has_dead(at, dead, dead_count))
		return hash_living(memory, hot->page, dead, dead_count);
	return hash_whole(memory, hot);
}

uint64_t
memory_hash(struct memory *memory, const uint64_t *hidden,
    const struct memory_range *dead, size_t dead_count)
{
	uint64_t sum = 0;

	TZ_ASSERT(memory->copies > 0);
	TZ_ASSERT(memory_find_hot(memory));
	for (size_t i = 0; i < memory->hot_count; i++) {
		uint64_t page = memory->hot[i].page;

		if (hidden == NULL || !(hidden[page / 64] >> page % 64 & 1))
			sum += hash_page(
			    memory, &memory->hot[i], dead, dead_count);
	}
	memory_ignore_faults(memory);
	return sum;
}
