/*
 * Links a module: loads its ET_REL sections by permission and applies its relocations.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/guest_abi.h"
#include "harness/load/elf/elf.h"
#include "harness/load/elf/elf_file.h"
#include "harness/load/elf/reloc.h"
#include "harness/load/elf/symtab.h"

#define LINK_SET_SECTION "topaz_modules"

struct link {
	struct elf_file file;
	struct image *image;
	struct image_ram *ram;
	struct symtab *exports;
	size_t names; /* index of the section with the section names */
	Elf_Data *symbols;
	size_t symbol_count, strings;
	char missing[400]; /* unresolved names so far, comma-separated */
	size_t missing_count;
};

/* The segments of a module, in order. */
enum { SEGMENT_TEXT, SEGMENT_RODATA, SEGMENT_DATA, SEGMENT_COUNT };
static const uint32_t link_flags[SEGMENT_COUNT] = { ABI_SEG_EXEC, 0,
	ABI_SEG_WRITE };

static unsigned
section_segment(const GElf_Shdr *header)
{
	if (header->sh_flags & SHF_EXECINSTR)
		return SEGMENT_TEXT;
	return header->sh_flags & SHF_WRITE ? SEGMENT_DATA : SEGMENT_RODATA;
}

/* A section of the driver that is too large for RAM is not a corrupt file. */
static int
refuse_size(
    const struct link *link, const GElf_Shdr *header, struct tz_error *err)
{
	const char *name = elf_strptr(
	    link->file.elf, link->names, header->sh_name);

	return tz_error(err, TZ_EUSAGE,
	    "module %s: its section %s has %" PRIu64
	    " bytes, and the guest has %" PRIu64 " MiB of memory",
	    link->image->name, name != NULL ? name : "?",
	    (uint64_t)header->sh_size, link->ram->size_bytes >> 20);
}

static int
check_section(
    const struct link *link, const GElf_Shdr *header, struct tz_error *err)
{
	uint64_t align = header->sh_addralign;

	if (header->sh_flags & SHF_TLS)
		return tz_error(err, TZ_EFORMAT,
		    "module %s: thread-local data in a kernel module",
		    link->image->name);
	if ((align & (align - 1)) != 0 || align > IMAGE_PAGE_BYTES)
		return elf_file_corrupt(&link->file, "section alignment", err);
	if (header->sh_size > link->ram->size_bytes)
		return refuse_size(link, header, err);
	if (header->sh_type != SHT_NOBITS &&
	    (header->sh_offset > link->file.size_bytes ||
		header->sh_size > link->file.size_bytes - header->sh_offset))
		return elf_file_corrupt(
		    &link->file, "a section outside the file", err);
	return 0;
}

/*
 * Gives each section its offset in its segment (left in section_va) and each
 * segment its size.
 */
static int
link_measure(struct link *link, struct tz_error *err)
{
	struct image *image = link->image;
	GElf_Shdr header;
	size_t i;
	int error;

	for (i = 1; i < image->section_count; i++) {
		struct image_segment *segment;
		uint64_t align;

		if (gelf_getshdr(elf_getscn(link->file.elf, i), &header) ==
		    NULL)
			return elf_file_corrupt(
			    &link->file, "section header", err);
		if (!(header.sh_flags & SHF_ALLOC))
			continue;
		error = check_section(link, &header, err);
		if (error != 0)
			return error;
		segment = &image->segment[section_segment(&header)];
		align = header.sh_addralign != 0 ? header.sh_addralign : 1;
		segment->bytes = (segment->bytes + align - 1) & ~(align - 1);
		image->section_va[i] = segment->bytes;
		segment->bytes += header.sh_size;
	}
	return 0;
}

static int
link_place(struct link *link, struct tz_error *err)
{
	struct image *image = link->image;
	char what[IMAGE_NAME_BYTES + 16];
	size_t i;
	int error;

	snprintf(what, sizeof(what), "module %s", image->name);
	for (i = 0; i < SEGMENT_COUNT; i++) {
		struct image_segment *segment = &image->segment[i];

		segment->bytes = (segment->bytes + IMAGE_PAGE_BYTES - 1) &
		    ~(IMAGE_PAGE_BYTES - 1);
		error = image_ram_take(
		    link->ram, segment->bytes, what, &segment->pa, err);
		if (error != 0)
			return error;
		segment->va = ABI_KERNBASE + segment->pa.u;
		segment->flags = link_flags[i];
	}
	image->segment_count = SEGMENT_COUNT;
	if (image->segment[SEGMENT_TEXT].bytes == 0)
		return tz_error(
		    err, TZ_EFORMAT, "module %s: no code in it", image->name);
	return 0;
}

static void
copy_section(struct link *link, size_t index, const GElf_Shdr *header)
{
	struct image *image = link->image;
	const char *name = elf_strptr(
	    link->file.elf, link->names, header->sh_name);

	image->section_va[index] += image->segment[section_segment(header)].va;
	if (header->sh_type != SHT_NOBITS)
		memcpy(link->ram->bytes +
			(image->section_va[index] - ABI_KERNBASE),
		    link->file.bytes + header->sh_offset, header->sh_size);
	if (name != NULL && strcmp(name, LINK_SET_SECTION) == 0) {
		image->set_va = image->section_va[index];
		image->set_bytes = header->sh_size;
	}
}

static int
link_copy(struct link *link, struct tz_error *err)
{
	GElf_Shdr header;
	size_t i;

	for (i = 1; i < link->image->section_count; i++) {
		if (gelf_getshdr(elf_getscn(link->file.elf, i), &header) ==
		    NULL)
			return elf_file_corrupt(
			    &link->file, "section header", err);
		if (header.sh_flags & SHF_ALLOC)
			copy_section(link, i, &header);
	}
	return 0;
}

/* The name of the function of SECTION that contains OFFSET, or NULL. */
static const char *
function_at(const struct link *link, size_t section, uint64_t offset)
{
	GElf_Sym symbol;
	size_t i;

	for (i = 1; i < link->symbol_count; i++) {
		if (gelf_getsym(link->symbols, (int)i, &symbol) != NULL &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    symbol.st_shndx == section && symbol.st_value <= offset &&
		    offset - symbol.st_value < symbol.st_size)
			return elf_strptr(
			    link->file.elf, link->strings, symbol.st_name);
	}
	return NULL;
}

/* The first function that refers to symbol INDEX in the relocations of SECTION. */
static const char *
find_user(const struct link *link, Elf_Scn *section, size_t index)
{
	GElf_Shdr header;
	GElf_Rela rela;
	Elf_Data *data;
	size_t i;

	if (gelf_getshdr(section, &header) == NULL ||
	    header.sh_type != SHT_RELA)
		return NULL;
	data = elf_getdata(section, NULL);
	if (data == NULL || data->d_buf == NULL)
		return NULL;
	for (i = 0; i < data->d_size / sizeof(Elf64_Rela); i++) {
		const char *name;

		if (gelf_getrela(data, (int)i, &rela) == NULL ||
		    GELF_R_SYM(rela.r_info) != index)
			continue;
		name = function_at(link, header.sh_info, rela.r_offset);
		if (name != NULL)
			return name;
	}
	return NULL;
}

static void
note_missing(struct link *link, const char *name, size_t index)
{
	size_t used = strlen(link->missing);
	size_t left = sizeof(link->missing) - used;
	const char *user = NULL;
	Elf_Scn *section = NULL;
	char text[160];

	while (user == NULL &&
	    (section = elf_nextscn(link->file.elf, section)) != NULL)
		user = find_user(link, section, index);
	snprintf(text, sizeof(text), "%s%s%s%s", name,
	    user != NULL ? " (used in " : "", user != NULL ? user : "",
	    user != NULL ? ")" : "");
	/* A name that does not fit is left out; .missing_count includes it. */
	if (strlen(text) + 3 <= left)
		snprintf(link->missing + used, left, "%s%s",
		    used != 0 ? ", " : "", text);
	link->missing_count++;
}

/* The address of an undefined symbol; 0 and a note if it is not exported. */
static int
resolve_name(struct link *link, const GElf_Sym *symbol, size_t index,
    uint64_t *va, struct tz_error *err)
{
	const char *name = elf_strptr(
	    link->file.elf, link->strings, symbol->st_name);

	*va = 0;
	if (name == NULL)
		return elf_file_corrupt(&link->file, "symbol name", err);
	if (!symtab_find(link->exports, name, va, NULL) &&
	    GELF_ST_BIND(symbol->st_info) != STB_WEAK)
		note_missing(link, name, index);
	return 0;
}

static int
symbol_va(struct link *link, const GElf_Sym *symbol, size_t index, uint64_t *va,
    struct tz_error *err)
{
	if (symbol->st_shndx == SHN_UNDEF)
		return resolve_name(link, symbol, index, va, err);
	if (symbol->st_shndx == SHN_ABS) {
		*va = symbol->st_value;
		return 0;
	}
	if (symbol->st_shndx == SHN_COMMON)
		return tz_error(err, TZ_EFORMAT,
		    "module %s: common symbols: compile with -fno-common",
		    link->image->name);
	if (symbol->st_shndx >= link->image->section_count)
		return elf_file_corrupt(&link->file, "symbol's section", err);
	*va = link->image->section_va[symbol->st_shndx] + symbol->st_value;
	return 0;
}

/* Resolves every symbol once: sets values[i]. */
static int
link_resolve(struct link *link, uint64_t *values, struct tz_error *err)
{
	GElf_Sym symbol;
	size_t i;
	int error;

	for (i = 1; i < link->symbol_count; i++) {
		if (gelf_getsym(link->symbols, (int)i, &symbol) == NULL)
			return elf_file_corrupt(&link->file, "symbol", err);
		error = symbol_va(link, &symbol, i, &values[i], err);
		if (error != 0)
			return error;
	}
	if (link->missing_count != 0)
		return tz_error(err, TZ_EUSAGE, "module %s: %zu unresolved: %s",
		    link->image->name, link->missing_count, link->missing);
	return 0;
}

static int
apply_one(struct link *link, size_t target, uint64_t target_bytes,
    const GElf_Rela *rela, const uint64_t *values, struct tz_error *err)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
	size_t index = GELF_R_SYM(rela->r_info);
	uint64_t place = link->image->section_va[target] + rela->r_offset;
	size_t bytes = reloc_size(type);
	enum reloc_result result;

	if (reloc_name(type) == NULL)
		return tz_error(err, TZ_EFORMAT,
		    "module %s: relocation type %" PRIu32
		    " at section %zu + 0x%" PRIx64
		    " is not for kernel code (compile with -fno-pic "
		    "-mcmodel=kernel)",
		    link->image->name, type, target, rela->r_offset);
	if (rela->r_offset > target_bytes ||
	    bytes > target_bytes - rela->r_offset ||
	    (index != 0 && index >= link->symbol_count))
		return elf_file_corrupt(&link->file, "relocation", err);
	result = reloc_apply(type, link->ram->bytes + (place - ABI_KERNBASE),
	    place, index != 0 ? values[index] : 0, rela->r_addend);
	if (result != RELOC_OK)
		return tz_error(err, TZ_EFORMAT,
		    "module %s: %s at section %zu + 0x%" PRIx64
		    " does not reach its target",
		    link->image->name, reloc_name(type), target,
		    rela->r_offset);
	return 0;
}

/* Applies the relocations of SECTION, if they are for a loaded section. */
static int
apply_section(struct link *link, Elf_Scn *section, const uint64_t *values,
    struct tz_error *err)
{
	GElf_Shdr header, target;
	GElf_Rela rela;
	Elf_Data *data;
	size_t i;
	int error = 0;

	if (gelf_getshdr(section, &header) == NULL)
		return elf_file_corrupt(&link->file, "section header", err);
	if (header.sh_type != SHT_RELA)
		return 0;
	if (header.sh_info >= link->image->section_count ||
	    gelf_getshdr(elf_getscn(link->file.elf, header.sh_info), &target) ==
		NULL)
		return elf_file_corrupt(&link->file, "relocations", err);
	if (!(target.sh_flags & SHF_ALLOC))
		return 0;
	data = elf_getdata(section, NULL);
	if (data == NULL || data->d_buf == NULL)
		return elf_file_corrupt(&link->file, "relocations", err);
	for (i = 0; error == 0 && i < data->d_size / sizeof(Elf64_Rela); i++) {
		if (gelf_getrela(data, (int)i, &rela) == NULL)
			return elf_file_corrupt(&link->file, "relocation", err);
		error = apply_one(
		    link, header.sh_info, target.sh_size, &rela, values, err);
	}
	return error;
}

static int
link_relocate(struct link *link, const uint64_t *values, struct tz_error *err)
{
	Elf_Scn *section = NULL;
	int error = 0;

	while (error == 0 &&
	    (section = elf_nextscn(link->file.elf, section)) != NULL)
		error = apply_section(link, section, values, err);
	return error;
}

static int
link_export(struct link *link, const uint64_t *values, struct tz_error *err)
{
	GElf_Sym symbol;
	const char *name;
	size_t i;

	for (i = 1; i < link->symbol_count; i++) {
		if (gelf_getsym(link->symbols, (int)i, &symbol) == NULL)
			return elf_file_corrupt(&link->file, "symbol", err);
		if (GELF_ST_BIND(symbol.st_info) == STB_LOCAL ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(
		    link->file.elf, link->strings, symbol.st_name);
		if (name == NULL)
			return elf_file_corrupt(
			    &link->file, "symbol name", err);
		if (!symtab_add(link->exports, name, values[i], symbol.st_size))
			return tz_error(
			    err, TZ_EIO, "%s: out of memory", link->file.path);
	}
	return 0;
}

static int
link_prepare(struct link *link, uint64_t **values, struct tz_error *err)
{
	struct image *image = link->image;
	int error;

	if (elf_getshdrnum(link->file.elf, &image->section_count) != 0 ||
	    elf_getshdrstrndx(link->file.elf, &link->names) != 0 ||
	    image->section_count < 2)
		return elf_file_corrupt(&link->file, "section headers", err);
	error = elf_file_symbols(&link->file, &link->symbols,
	    &link->symbol_count, &link->strings, err);
	if (error != 0)
		return error;
	image->section_va = calloc(
	    image->section_count, sizeof(*image->section_va));
	*values = calloc(link->symbol_count + 1, sizeof(**values));
	if (image->section_va == NULL || *values == NULL)
		return tz_error(
		    err, TZ_EIO, "%s: out of memory", link->file.path);
	return 0;
}

int
elf_load_module(const char *name, const char *path, struct image_ram *ram,
    struct symtab *exports, struct image *image, struct tz_error *err)
{
	struct link link = { .image = image, .ram = ram, .exports = exports };
	uint64_t *values = NULL;
	int error = image_init(image, IMAGE_MODULE, name, path, err);

	if (error != 0)
		return error;
	error = elf_file_open(path, ET_REL, &link.file, err);
	if (error == 0)
		error = link_prepare(&link, &values, err);
	if (error == 0)
		error = link_measure(&link, err);
	if (error == 0)
		error = link_place(&link, err);
	if (error == 0)
		error = link_copy(&link, err);
	if (error == 0)
		error = link_resolve(&link, values, err);
	if (error == 0)
		error = link_relocate(&link, values, err);
	if (error == 0)
		error = link_export(&link, values, err);
	free(values);
	elf_file_close(&link.file);
	return error;
}
