/*
 * Digests of the loaded parts of objects, to compare them.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/load/elf/elf.h"
#include "harness/load/elf/elf_file.h"

struct code {
	struct elf_file file;
	XXH3_state_t *state;
	size_t section_names; /* index of their string table */
	Elf_Data *symbols;
	size_t symbol_count, symbol_names;
};

static void
add_number(struct code *code, uint64_t number)
{
	XXH3_128bits_update(code->state, &number, sizeof(number));
}

static void
add_name(struct code *code, size_t strings, size_t at)
{
	const char *name = elf_strptr(code->file.elf, strings, at);

	if (name == NULL)
		name = "";
	XXH3_128bits_update(code->state, name, strlen(name) + 1);
}

/* Adds the name of the section INDEX, or INDEX itself for a special section. */
static void
add_section_name(struct code *code, size_t index)
{
	Elf_Scn *section = index < SHN_LORESERVE
	    ? elf_getscn(code->file.elf, index)
	    : NULL;
	GElf_Shdr header;

	if (index == SHN_UNDEF || section == NULL ||
	    gelf_getshdr(section, &header) == NULL)
		add_number(code, index);
	else
		add_name(code, code->section_names, header.sh_name);
}

static void
add_symbol(struct code *code, size_t index)
{
	GElf_Sym symbol;

	if (code->symbols == NULL ||
	    gelf_getsym(code->symbols, (int)index, &symbol) == NULL) {
		add_number(code, index);
		return;
	}
	add_number(code, symbol.st_info);
	add_number(code, symbol.st_value);
	add_section_name(code, symbol.st_shndx);
	add_name(code, code->symbol_names, symbol.st_name);
}

static int
add_content(struct code *code, Elf_Scn *section, const GElf_Shdr *header,
    struct tz_error *err)
{
	Elf_Data *data;

	add_name(code, code->section_names, header->sh_name);
	add_number(code, header->sh_type);
	add_number(code, header->sh_flags);
	add_number(code, header->sh_size);
	add_number(code, header->sh_addralign);
	if (header->sh_type == SHT_NOBITS || header->sh_size == 0)
		return 0;
	data = elf_rawdata(section, NULL);
	if (data == NULL || data->d_buf == NULL)
		return elf_file_corrupt(&code->file, "section", err);
	XXH3_128bits_update(code->state, data->d_buf, data->d_size);
	return 0;
}

static int
add_relocations(struct code *code, Elf_Scn *section, const GElf_Shdr *header,
    struct tz_error *err)
{
	Elf_Scn *target = elf_getscn(code->file.elf, header->sh_info);
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr target_header;
	GElf_Rela relocation;

	if (target == NULL || gelf_getshdr(target, &target_header) == NULL ||
	    data == NULL)
		return elf_file_corrupt(&code->file, "relocations", err);
	if (!(target_header.sh_flags & SHF_ALLOC))
		return 0;
	add_name(code, code->section_names, target_header.sh_name);
	for (int i = 0; gelf_getrela(data, i, &relocation) != NULL; i++) {
		add_number(code, relocation.r_offset);
		add_number(code, GELF_R_TYPE(relocation.r_info));
		add_number(code, (uint64_t)relocation.r_addend);
		add_symbol(code, GELF_R_SYM(relocation.r_info));
	}
	return 0;
}

static int
add_all(struct code *code, struct tz_error *err)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	int error = 0;

	while (error == 0 &&
	    (section = elf_nextscn(code->file.elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) == NULL)
			return elf_file_corrupt(
			    &code->file, "section header", err);
		if (header.sh_type == SHT_RELA)
			error = add_relocations(code, section, &header, err);
		else if (header.sh_flags & SHF_ALLOC)
			error = add_content(code, section, &header, err);
	}
	for (size_t i = 0; error == 0 && i < code->symbol_count; i++) {
		if (gelf_getsym(code->symbols, (int)i, &symbol) != NULL &&
		    GELF_ST_BIND(symbol.st_info) != STB_LOCAL)
			add_symbol(code, i);
	}
	return error;
}

int
elf_code_digest(
    const char *path, struct elf_digest *digest, struct tz_error *err)
{
	struct code code = { .state = XXH3_createState() };
	int error = elf_file_open(path, ET_REL, &code.file, err);

	if (error == 0 && code.state == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	if (error == 0 &&
	    elf_getshdrstrndx(code.file.elf, &code.section_names) != 0)
		error = elf_file_corrupt(&code.file, "section names", err);
	if (error == 0)
		error = elf_file_symbols(&code.file, &code.symbols,
		    &code.symbol_count, &code.symbol_names, err);
	if (error == 0) {
		XXH128_hash_t hash;

		XXH3_128bits_reset(code.state);
		error = add_all(&code, err);
		hash = XXH3_128bits_digest(code.state);
		*digest = (struct elf_digest){ hash.low64, hash.high64 };
	}
	XXH3_freeState(code.state);
	elf_file_close(&code.file);
	return error;
}
