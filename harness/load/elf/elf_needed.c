#include "harness/load/elf/elf_needed.h"

#include <gelf.h>
#include <string.h>

static int
corrupt(const char *path, const char *what, struct tz_error *err)
{
	return tz_error(
	    err, TZ_EFORMAT, "%s: corrupt or truncated ELF: %s", path, what);
}

static int
name_interpreter(const char *path, Elf *elf, const uint8_t *bytes, size_t count,
    elf_needed_fn name, void *arg, struct tz_error *err)
{
	size_t segments;
	GElf_Phdr header;

	if (elf_getphdrnum(elf, &segments) != 0)
		return corrupt(path, "program headers", err);
	for (size_t i = 0; i < segments; i++) {
		if (gelf_getphdr(elf, (int)i, &header) == NULL)
			return corrupt(path, "program header", err);
		if (header.p_type != PT_INTERP)
			continue;
		if (header.p_filesz == 0 || header.p_offset > count ||
		    header.p_filesz > count - header.p_offset ||
		    bytes[header.p_offset + header.p_filesz - 1] != '\0')
			return corrupt(path, "name of the interpreter", err);
		return name(arg, (const char *)bytes + header.p_offset);
	}
	return 0;
}

static int
name_objects(const char *path, Elf *elf, Elf_Scn *section,
    const GElf_Shdr *header, elf_needed_fn name, void *arg,
    struct tz_error *err)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Dyn entry;

	if (data == NULL)
		return corrupt(path, "dynamic section", err);
	for (int i = 0; gelf_getdyn(data, i, &entry) != NULL; i++) {
		const char *text;
		int error;

		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag != DT_NEEDED)
			continue;
		text = elf_strptr(elf, header->sh_link, entry.d_un.d_val);
		if (text == NULL)
			return corrupt(path, "name of a shared object", err);
		error = name(arg, text);
		if (error != 0)
			return error;
	}
	return 0;
}

int
elf_needed(const char *path, uint8_t *bytes, size_t count, elf_needed_fn name,
    void *arg, struct tz_error *err)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr file;
	GElf_Shdr header;
	Elf *elf;
	int error;

	(void)elf_version(EV_CURRENT);
	elf = elf_memory((char *)bytes, count);
	if (elf == NULL)
		return corrupt(path, "ELF header", err);
	if (gelf_getehdr(elf, &file) == NULL)
		error = corrupt(path, "ELF header", err);
	else if (file.e_machine != EM_X86_64)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: ELF for another machine (%d); the guest is x86-64",
		    path, file.e_machine);
	else
		error = name_interpreter(
		    path, elf, bytes, count, name, arg, err);
	while (error == 0 && (section = elf_nextscn(elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) == NULL)
			error = corrupt(path, "section header", err);
		else if (header.sh_type == SHT_DYNAMIC)
			error = name_objects(
			    path, elf, section, &header, name, arg, err);
	}
	(void)elf_end(elf);
	return error;
}
