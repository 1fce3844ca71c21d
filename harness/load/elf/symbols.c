#define _GNU_SOURCE
#include "harness/load/elf/symbols.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdwfl.h>

/* One image has one Dwfl: addresses of programs overlap. */
struct symbols_image {
	const struct image *image;
	Dwfl *dwfl;
	Dwfl_Module *module;
	bool tried;
};

struct symbols {
	struct symbols_image *at;
	size_t count;
};

/* libdwfl asks for the ELF file of a module: the path that was loaded. */
static int
find_elf(Dwfl_Module *module, void **userdata, const char *name,
    Dwarf_Addr base, char **file_name, Elf **elf)
{
	const struct image *image = *userdata;

	(void)module;
	(void)name;
	(void)base;
	(void)elf;
	*file_name = strdup(image->path);
	return *file_name == NULL ? -1
				  : open(image->path, O_RDONLY | O_CLOEXEC);
}

/* Separate debug files are not searched for: all data is in the loaded file. */
static int
find_debuginfo(Dwfl_Module *module, void **userdata, const char *name,
    Dwarf_Addr base, const char *file_name, const char *debuglink,
    GElf_Word crc, char **debuginfo_name)
{
	(void)module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file_name;
	(void)debuglink;
	(void)crc;
	(void)debuginfo_name;
	return -1;
}

/* libdwfl relocates an ET_REL file; returns the address that link.c gave a section. */
static int
section_address(Dwfl_Module *module, void **userdata, const char *name,
    Dwarf_Addr base, const char *section, GElf_Word index,
    const GElf_Shdr *header, Dwarf_Addr *va)
{
	const struct image *image = *userdata;

	(void)module;
	(void)name;
	(void)base;
	(void)section;
	(void)header;
	*va = (Dwarf_Addr)-1;
	if (index < image->section_count && image->section_va[index] != 0)
		*va = image->section_va[index];
	return DWARF_CB_OK;
}

static const Dwfl_Callbacks symbols_callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = section_address,
};

/* The address range of the image, in whole pages. */
static void
image_range(const struct image *image, uint64_t *start, uint64_t *end)
{
	size_t i;

	*start = UINT64_MAX;
	*end = 0;
	for (i = 0; i < image->segment_count; i++) {
		const struct image_segment *segment = &image->segment[i];
		uint64_t last = segment->va + segment->bytes;

		if (segment->bytes == 0)
			continue;
		if (segment->va < *start)
			*start = segment->va & ~(IMAGE_PAGE_BYTES - 1);
		if (last > *end)
			*end = (last + IMAGE_PAGE_BYTES - 1) &
			    ~(IMAGE_PAGE_BYTES - 1);
	}
}

static void
symbols_open(struct symbols_image *at)
{
	uint64_t start, end;
	void **userdata;

	at->tried = true;
	at->dwfl = dwfl_begin(&symbols_callbacks);
	if (at->dwfl == NULL)
		return;
	dwfl_report_begin(at->dwfl);
	if (at->image->kind == IMAGE_MODULE) {
		image_range(at->image, &start, &end);
		at->module = dwfl_report_module(
		    at->dwfl, at->image->name, start, end);
	} else {
		at->module = dwfl_report_elf(
		    at->dwfl, at->image->name, at->image->path, -1, 0, false);
	}
	if (at->module != NULL) {
		dwfl_module_info(
		    at->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = (void *)(uintptr_t)at->image;
	}
	dwfl_report_end(at->dwfl, NULL, NULL);
}

struct symbols *
symbols_create(const struct image *images, size_t count)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	size_t i;

	if (symbols == NULL)
		return NULL;
	symbols->at = calloc(count + 1, sizeof(*symbols->at));
	if (symbols->at == NULL) {
		free(symbols);
		return NULL;
	}
	symbols->count = count;
	for (i = 0; i < count; i++)
		symbols->at[i].image = &images[i];
	return symbols;
}

void
symbols_destroy(struct symbols *symbols)
{
	size_t i;

	if (symbols == NULL)
		return;
	for (i = 0; i < symbols->count; i++)
		if (symbols->at[i].dwfl != NULL)
			dwfl_end(symbols->at[i].dwfl);
	free(symbols->at);
	free(symbols);
}

static struct symbols_image *
symbols_image_at(struct symbols *symbols, uint64_t va, const char *program)
{
	size_t i;

	for (i = 0; i < symbols->count; i++) {
		const struct image *image = symbols->at[i].image;

		if (image->kind == IMAGE_PROGRAM && program != NULL &&
		    strcmp(image->name, program) != 0)
			continue;
		if (image_segment_at(image, va) != NULL)
			return &symbols->at[i];
	}
	return NULL;
}

void
symbols_find(struct symbols *symbols, uint64_t va, const char *program,
    struct symbol_place *place)
{
	struct symbols_image *at = symbols_image_at(symbols, va, program);
	GElf_Sym symbol;
	GElf_Off offset;
	Dwfl_Line *line;

	*place = (struct symbol_place){ .image = NULL };
	if (at == NULL)
		return;
	place->image = at->image->name;
	if (!at->tried)
		symbols_open(at);
	if (at->module == NULL)
		return;
	place->name = dwfl_module_addrinfo(
	    at->module, va, &offset, &symbol, NULL, NULL, NULL);
	if (place->name != NULL)
		place->offset_bytes = offset;
	line = dwfl_module_getsrc(at->module, va);
	if (line != NULL)
		place->file = dwfl_lineinfo(
		    line, NULL, &place->line, NULL, NULL, NULL);
}

static bool
is_own(const char *file, const char *prefix)
{
	return file != NULL && strncmp(file, prefix, strlen(prefix)) == 0;
}

/* The file and line of the call of SCOPE, an inlined function of UNIT. */
static bool
find_call(Dwarf_Die *unit, Dwarf_Die *scope, struct symbol_place *place)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(
		dwarf_attr(scope, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(
		dwarf_attr(scope, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count ||
	    line > INT_MAX)
		return false;
	place->file = dwarf_filesrc(files, file, NULL, NULL);
	place->line = (int)line;
	return true;
}

static bool
is_function(Dwarf_Die *scope)
{
	return dwarf_tag(scope) == DW_TAG_subprogram ||
	    dwarf_tag(scope) == DW_TAG_inlined_subroutine;
}

/*
 * Walks the COUNT scopes of one address from the innermost outwards until the line is in
 * a file with PREFIX.  *NAME: the function that contains the line.
 */
static bool
leave_inlined(Dwarf_Die *unit, Dwarf_Die *scopes, int count, const char *prefix,
    struct symbol_place *place, const char **name)
{
	for (int i = 0; i < count; i++) {
		if (!is_function(&scopes[i]))
			continue;
		if (is_own(place->file, prefix)) {
			*name = dwarf_diename(&scopes[i]);
			return true;
		}
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram ||
		    !find_call(unit, &scopes[i], place))
			return false;
	}
	return false;
}

bool
symbols_find_own(struct symbols *symbols, uint64_t va, const char *prefix,
    struct symbol_place *place)
{
	struct symbols_image *at = symbols_image_at(symbols, va, NULL);
	struct symbol_place found;
	Dwarf_Die *unit, *inner = NULL, *scopes = NULL;
	const char *name = NULL;
	Dwarf_Addr bias = 0;
	int count = 0;
	bool own = false;

	symbols_find(symbols, va, NULL, place);
	if (at == NULL || at->module == NULL)
		return false;
	found = *place;
	unit = dwfl_module_addrdie(at->module, va, &bias);
	if (unit != NULL && dwarf_getscopes(unit, va - bias, &inner) > 0)
		count = dwarf_getscopes_die(&inner[0], &scopes);
	if (count > 0)
		own = leave_inlined(unit, scopes, count, prefix, &found, &name);
	free(scopes);
	free(inner);
	if (!own)
		return is_own(place->file, prefix);
	if (name != NULL &&
	    (found.name == NULL || strcmp(name, found.name) != 0)) {
		found.name = name;
		found.offset_bytes = 0;
	}
	*place = found;
	return true;
}

/* The line of the file-scope variable NAME of UNIT; 0: no such variable. */
static int
find_definition(Dwarf_Die *unit, const char *name, const char **file)
{
	Dwarf_Die die;
	int line = 0;

	if (dwarf_child(unit, &die) != 0)
		return 0;
	do {
		const char *own = dwarf_tag(&die) == DW_TAG_variable
		    ? dwarf_diename(&die)
		    : NULL;

		if (own != NULL && strcmp(own, name) == 0 &&
		    dwarf_hasattr(&die, DW_AT_location) &&
		    dwarf_decl_line(&die, &line) == 0)
			*file = dwarf_decl_file(&die);
	} while (dwarf_siblingof(&die, &die) == 0);
	return line;
}

bool
symbols_find_variable(
    struct symbols *symbols, uint64_t va, struct symbol_place *place)
{
	struct symbols_image *at = symbols_image_at(symbols, va, NULL);
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;
	GElf_Sym symbol;
	GElf_Off offset;

	*place = (struct symbol_place){ .image = NULL };
	if (at == NULL)
		return false;
	if (!at->tried)
		symbols_open(at);
	if (at->module == NULL)
		return false;
	place->image = at->image->name;
	place->name = dwfl_module_addrinfo(
	    at->module, va, &offset, &symbol, NULL, NULL, NULL);
	if (place->name == NULL || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT)
		return false;
	place->offset_bytes = offset;
	while (place->line == 0 &&
	    (unit = dwfl_module_nextcu(at->module, unit, &bias)) != NULL)
		place->line = find_definition(unit, place->name, &place->file);
	return true;
}

void
symbols_format(struct symbols *symbols, uint64_t va, const char *program,
    char *text, size_t text_size)
{
	struct symbol_place place;
	const char *file;
	int used;

	symbols_find(symbols, va, program, &place);
	if (place.name != NULL)
		used = snprintf(text, text_size, "%s+0x%" PRIx64, place.name,
		    place.offset_bytes);
	else
		used = snprintf(text, text_size, "0x%016" PRIx64, va);
	if (place.file == NULL || used < 0 || (size_t)used >= text_size)
		return;
	file = strrchr(place.file, '/');
	snprintf(text + used, text_size - (size_t)used, " %s:%d",
	    file != NULL ? file + 1 : place.file, place.line);
}

void
symbols_backtrace(uint64_t rip, uint64_t rbp, unsigned levels,
    symbols_read read, symbols_frame frame, void *arg)
{
	uint64_t pair[2]; /* the caller's RBP and RIP */
	unsigned level;

	for (level = 0; level < levels; level++) {
		frame(arg, level, rip);
		if (rbp == 0 || rbp % 8 != 0 ||
		    !read(arg, rbp, pair, sizeof(pair)) || pair[1] == 0)
			return;
		/* Stacks grow down: a caller's frame is above. */
		if (pair[0] != 0 && pair[0] <= rbp)
			rbp = 0;
		else
			rbp = pair[0];
		rip = pair[1];
	}
}
