#include "harness/load/elf/elf_file.h"

#include <stdlib.h>
#include <string.h>

#include "harness/host/input.h"

static int
elf_file_check(const struct elf_file *file, unsigned type, struct tz_error *err)
{
	const GElf_Ehdr *header = &file->header;

	if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != EM_X86_64)
		return tz_error(err, TZ_EFORMAT,
		    "%s: ELF for another machine (class %d, machine %d); the "
		    "guest is x86-64",
		    file->path, header->e_ident[EI_CLASS], header->e_machine);
	if (type != ET_NONE && header->e_type != type)
		return tz_error(err, TZ_EFORMAT,
		    "%s: ELF type %d where %s is needed", file->path,
		    header->e_type,
		    type == ET_REL ? "a relocatable object"
				   : "a static executable at fixed addresses");
	return 0;
}

int
elf_file_open(const char *path, unsigned type, struct elf_file *file,
    struct tz_error *err)
{
	int error;

	*file = (struct elf_file){ .path = path };
	error = input_read(
	    path, INPUT_ELF, &file->bytes, &file->size_bytes, err);
	if (error != 0)
		return error;
	if (file->size_bytes < SELFMAG ||
	    memcmp(file->bytes, ELFMAG, SELFMAG) != 0)
		return tz_error(err, TZ_EFORMAT, "%s: not an ELF file", path);
	(void)elf_version(EV_CURRENT);
	file->elf = elf_memory((char *)file->bytes, file->size_bytes);
	if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF ||
	    gelf_getehdr(file->elf, &file->header) == NULL)
		return elf_file_corrupt(file, "ELF header", err);
	return elf_file_check(file, type, err);
}

void
elf_file_close(struct elf_file *file)
{
	if (file->elf != NULL)
		elf_end(file->elf);
	free(file->bytes);
	*file = (struct elf_file){ .path = NULL };
}

int
elf_file_corrupt(
    const struct elf_file *file, const char *what, struct tz_error *err)
{
	int code = elf_errno();

	return tz_error(err, TZ_EFORMAT, "%s: corrupt or truncated ELF: %s%s%s",
	    file->path, what, code != 0 ? ": " : "",
	    code != 0 ? elf_errmsg(code) : "");
}

int
elf_file_symbols(const struct elf_file *file, Elf_Data **data, size_t *count,
    size_t *strings, struct tz_error *err)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*data = NULL;
	*count = 0;
	*strings = 0;
	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) == NULL)
			return elf_file_corrupt(file, "section header", err);
		if (header.sh_type != SHT_SYMTAB)
			continue;
		*data = elf_getdata(section, NULL);
		if (*data == NULL || (*data)->d_buf == NULL)
			return elf_file_corrupt(file, "symbol table", err);
		*count = (*data)->d_size / sizeof(Elf64_Sym);
		*strings = header.sh_link;
		return 0;
	}
	return 0;
}
