#define _GNU_SOURCE
#include "harness/boot/kallsyms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS     256
#define MARKED     256 /* symbols from one marker to the next */
#define NAME_BYTES 512 /* of the longest name, uncompressed */
#define NAMES_MAX \
 ((size_t)16 << 20) /* bytes of all names and what follows them */
#define SYMBOLS_MAX (1u << 22)

struct kallsyms {
	uint8_t *names; /* compressed */
	size_t name_bytes;
	char *tokens;
	uint16_t token_at[TOKENS];
	uint64_t *va; /* ascending */
	uint32_t *name_at;
	uint32_t count;
};

/* Where the tables are, as offsets of RAM. */
struct tables {
	const uint8_t *ram;
	size_t ram_bytes;
	uint64_t va;  /* of the first byte of RAM */
	size_t align; /* each table begins at a multiple of it */
	size_t tokens, token_index, markers, names, num;
};

static size_t
align(const struct tables *tables, size_t at)
{
	return (at + tables->align - 1) / tables->align * tables->align;
}

static uint32_t
word(const struct tables *tables, size_t at)
{
	uint32_t value = 0;

	if (at + sizeof(value) <= tables->ram_bytes)
		memcpy(&value, tables->ram + at, sizeof(value));
	return value;
}

/* True if the index after the tokens at AT says where each of them begins. */
static bool
has_index(struct tables *tables, size_t at)
{
	size_t begin[TOKENS], end = at;

	for (unsigned i = 0; i < TOKENS; i++) {
		const uint8_t *nul = end < tables->ram_bytes
		    ? memchr(tables->ram + end, 0, tables->ram_bytes - end)
		    : NULL;

		if (nul == NULL)
			return false;
		begin[i] = end - at;
		end = (size_t)(nul - tables->ram) + 1;
	}
	tables->token_index = align(tables, end);
	if (tables->token_index + 2 * TOKENS > tables->ram_bytes)
		return false;
	for (unsigned i = 0; i < TOKENS; i++) {
		uint16_t index;

		memcpy(&index, tables->ram + tables->token_index + 2 * i,
		    sizeof(index));
		if (index != begin[i])
			return false;
	}
	tables->tokens = at;
	return true;
}

/*
 * The tokens of the digits are the digits themselves, because symbols have them in all
 * combinations; they are numbers '0' to '9'.
 */
static bool
find_tokens(struct tables *tables, size_t from)
{
	static const char digits[] =
	    "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
	const uint8_t *found = memmem(tables->ram + from,
	    tables->ram_bytes - from, digits, sizeof(digits));
	size_t at;

	if (found == NULL)
		return false;
	at = (size_t)(found - tables->ram);
	tables->tokens =
	    at; /* if this is not it, the search goes on after it */
	for (unsigned left = '0' + 1; at > 0; at--)
		if (tables->ram[at - 1] == 0 && --left == 0)
			break;
	return at % tables->align == 0 && has_index(tables, at);
}

/* The bytes of the compressed name at AT with its length; 0: it ends after LIMIT. */
static size_t
entry_bytes(const uint8_t *names, size_t at, size_t limit, size_t *length_bytes)
{
	size_t length;

	*length_bytes = 1;
	if (at + 2 > limit)
		return 0;
	length = names[at];
	if (length & 0x80) {
		length = (length & 0x7f) | (size_t)names[at + 1] << 7;
		*length_bytes = 2;
	}
	return length != 0 && length <= limit - at - *length_bytes
	    ? *length_bytes + length
	    : 0;
}

/*
 * True if as many names as the number AT says are after it, and after them one marker for
 * each 256 names, which says where those begin.
 */
static bool
are_names(struct tables *tables, size_t at)
{
	uint32_t count = word(tables, at);
	size_t begin = at + tables->align, end = begin, markers, length;

	if (count < MARKED || count > SYMBOLS_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		size_t bytes = entry_bytes(
		    tables->ram, end, tables->tokens, &length);

		if (bytes == 0)
			return false;
		end += bytes;
	}
	markers = align(tables, end);
	end = begin;
	for (uint32_t i = 0; i < count; i++) {
		if (i % MARKED == 0 &&
		    end - begin !=
			word(tables, markers + i / MARKED * sizeof(uint32_t)))
			return false;
		end += entry_bytes(tables->ram, end, tables->tokens, &length);
	}
	tables->num = at;
	tables->names = begin;
	tables->markers = markers;
	return true;
}

/* Before the tokens: the number of symbols, their names, the markers. */
static bool
find_names(struct tables *tables)
{
	for (size_t at = tables->tokens; at >= 2 * tables->align;) {
		at -= tables->align;
		if (tables->tokens - at > NAMES_MAX)
			return false;
		if (are_names(tables, at))
			return true;
	}
	return false;
}

static uint64_t
base_at(const struct tables *tables, size_t at)
{
	return word(tables, at) | (uint64_t)word(tables, at + 4) << 32;
}

/*
 * CONFIG_KALLSYMS_ABSOLUTE_PERCPU: a value that is not negative is absolute, and others
 * count from the base - 1 down.
 */
static void
fill_addresses(struct kallsyms *kallsyms, const struct tables *tables,
    size_t offsets, uint64_t base)
{
	uint32_t negative = 0;

	for (uint32_t i = 0; i < kallsyms->count; i++)
		negative += word(tables, offsets + 4 * (size_t)i) >> 31;
	for (uint32_t i = 0; i < kallsyms->count; i++) {
		uint32_t value = word(tables, offsets + 4 * (size_t)i);

		kallsyms->va[i] = negative < kallsyms->count / 2 ? base + value
		    : value >> 31 ? base - 1 - (uint64_t)(int64_t)(int32_t)value
				  : value;
	}
}

static bool
is_ascending(const struct kallsyms *kallsyms)
{
	for (uint32_t i = 1; i < kallsyms->count; i++)
		if (kallsyms->va[i - 1] > kallsyms->va[i])
			return false;
	return true;
}

/* Before 6.4: the addresses, then their base, are before the number of symbols. */
static bool
find_addresses_before(struct kallsyms *kallsyms, const struct tables *tables)
{
	size_t bytes = align(tables, 4 * (size_t)kallsyms->count);
	uint64_t base;

	if (tables->num < bytes + sizeof(base))
		return false;
	base = base_at(tables, tables->num - sizeof(base));
	if (base < KALLSYMS_KERNEL_VA)
		return false;
	fill_addresses(
	    kallsyms, tables, tables->num - sizeof(base) - bytes, base);
	return is_ascending(kallsyms);
}

/* Since 6.4: the addresses, then their base, are after the tokens. */
static bool
find_addresses_after(struct kallsyms *kallsyms, const struct tables *tables)
{
	size_t bytes = align(tables, 4 * (size_t)kallsyms->count);
	size_t after = align(tables, tables->token_index + 2 * TOKENS);
	uint64_t base = base_at(tables, after + bytes);

	if (base < KALLSYMS_KERNEL_VA)
		return false;
	fill_addresses(kallsyms, tables, after, base);
	return is_ascending(kallsyms);
}

/* In 7.0 there is no base: each word is the distance of an address from itself. */
static bool
find_distances_after(struct kallsyms *kallsyms, const struct tables *tables)
{
	size_t after = align(tables, tables->token_index + 2 * TOKENS);

	for (uint32_t i = 0; i < kallsyms->count; i++) {
		size_t at = after + 4 * (size_t)i;

		kallsyms->va[i] = tables->va + at +
		    (uint64_t)(int64_t)(int32_t)word(tables, at);
	}
	return kallsyms->va[0] >= KALLSYMS_KERNEL_VA && is_ascending(kallsyms);
}

static void
fill_names(struct kallsyms *kallsyms)
{
	size_t at = 0, length;

	for (uint32_t i = 0; i < kallsyms->count; i++) {
		kallsyms->name_at[i] = (uint32_t)at;
		at += entry_bytes(
		    kallsyms->names, at, kallsyms->name_bytes, &length);
	}
}

static struct kallsyms *
copy_tables(const struct tables *tables)
{
	struct kallsyms *kallsyms = calloc(1, sizeof(*kallsyms));
	size_t token_bytes = tables->token_index - tables->tokens;

	if (kallsyms == NULL)
		return NULL;
	kallsyms->count = word(tables, tables->num);
	kallsyms->name_bytes = tables->markers - tables->names;
	kallsyms->names = malloc(kallsyms->name_bytes);
	kallsyms->tokens = malloc(token_bytes);
	kallsyms->va = calloc(kallsyms->count, sizeof(*kallsyms->va));
	kallsyms->name_at = calloc(kallsyms->count, sizeof(*kallsyms->name_at));
	if (kallsyms->names == NULL || kallsyms->tokens == NULL ||
	    kallsyms->va == NULL || kallsyms->name_at == NULL ||
	    !(find_addresses_before(kallsyms, tables) ||
		find_addresses_after(kallsyms, tables) ||
		find_distances_after(kallsyms, tables))) {
		kallsyms_free(kallsyms);
		return NULL;
	}
	memcpy(
	    kallsyms->names, tables->ram + tables->names, kallsyms->name_bytes);
	memcpy(kallsyms->tokens, tables->ram + tables->tokens, token_bytes);
	memcpy(kallsyms->token_at, tables->ram + tables->token_index,
	    sizeof(kallsyms->token_at));
	fill_names(kallsyms);
	return kallsyms;
}

static struct kallsyms *
read_aligned(struct tables *tables, size_t align)
{
	size_t from = 0;

	tables->align = align;
	while (!find_tokens(tables, from)) {
		if (tables->tokens < from || tables->tokens == 0)
			return NULL;
		from = tables->tokens + 1;
	}
	return find_names(tables) ? copy_tables(tables) : NULL;
}

struct kallsyms *
kallsyms_read(const uint8_t *ram, size_t count, uint64_t va)
{
	struct tables tables = { .ram = ram, .ram_bytes = count, .va = va };
	struct kallsyms *kallsyms = read_aligned(&tables, sizeof(uint64_t));

	return kallsyms != NULL ? kallsyms
				: read_aligned(&tables, sizeof(uint32_t));
}

void
kallsyms_free(struct kallsyms *kallsyms)
{
	if (kallsyms == NULL)
		return;
	free(kallsyms->names);
	free(kallsyms->tokens);
	free(kallsyms->va);
	free(kallsyms->name_at);
	free(kallsyms);
}

/* The name of symbol INDEX, without the letter of its type. */
static void
expand(const struct kallsyms *kallsyms, uint32_t index, char name[NAME_BYTES])
{
	size_t length, at = kallsyms->name_at[index], count = 0;
	size_t end = at +
	    entry_bytes(kallsyms->names, at, kallsyms->name_bytes, &length);

	for (at += length; at < end; at++) {
		const char *token =
		    &kallsyms->tokens[kallsyms->token_at[kallsyms->names[at]]];

		for (; *token != '\0' && count < NAME_BYTES - 1; token++)
			name[count++] = *token;
	}
	name[count] = '\0';
	memmove(name, name + 1, count);
}

bool
kallsyms_format(
    const struct kallsyms *kallsyms, uint64_t va, char *text, size_t text_bytes)
{
	uint32_t low = 0, high = kallsyms->count;
	char name[NAME_BYTES];

	if (va < KALLSYMS_KERNEL_VA || va >= kallsyms->va[high - 1])
		return false;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (kallsyms->va[middle] <= va)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	/* Of several at the same address the first, as the kernel itself does. */
	for (low--; low > 0 && kallsyms->va[low - 1] == kallsyms->va[low];)
		low--;
	expand(kallsyms, low, name);
	snprintf(text, text_bytes, "%.*s+0x%" PRIx64, NAME_BYTES, name,
	    va - kallsyms->va[low]);
	return true;
}
