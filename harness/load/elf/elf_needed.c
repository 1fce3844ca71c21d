#include "harness/load/elf/elf_needed.h"

#include <gelf.h>
#include <string.h>

struct reader {
	const char *path;
	const uint8_t *bytes;
	size_t count;
	Elf *elf;
	elf_needed_fn name;
	void *arg;
	struct tz_error *err;
};

static int
corrupt(const struct reader *reader, const char *what)
{
	return tz_error(reader->err, TZ_EFORMAT,
	    "%s: corrupt or truncated ELF: %s", reader->path, what);
}

static int
name_interpreter(const struct reader *reader)
{
	size_t segments;
	GElf_Phdr header;

	if (elf_getphdrnum(reader->elf, &segments) != 0)
		return corrupt(reader, "program headers");
	for (size_t i = 0; i < segments; i++) {
		if (gelf_getphdr(reader->elf, (int)i, &header) == NULL)
			return corrupt(reader, "program header");
		if (header.p_type != PT_INTERP)
			continue;
		if (header.p_filesz == 0 || header.p_offset > reader->count ||
		    header.p_filesz > reader->count - header.p_offset ||
		    reader->bytes[header.p_offset + header.p_filesz - 1] !=
			'\0')
			return corrupt(reader, "name of the interpreter");
		return reader->name(
		    reader->arg, (const char *)reader->bytes + header.p_offset);
	}
	return 0;
}

static int
name_objects(
    const struct reader *reader, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Dyn entry;

	if (data == NULL)
		return corrupt(reader, "dynamic section");
	for (int i = 0; gelf_getdyn(data, i, &entry) != NULL; i++) {
		const char *text;
		int error;

		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag != DT_NEEDED)
			continue;
		text = elf_strptr(
		    reader->elf, header->sh_link, entry.d_un.d_val);
		if (text == NULL)
			return corrupt(reader, "name of a shared object");
		error = reader->name(reader->arg, text);
		if (error != 0)
			return error;
	}
	return 0;
}

int
elf_needed(const char *path, uint8_t *bytes, size_t count, elf_needed_fn name,
    void *arg, struct tz_error *err)
{
	struct reader reader = { path, bytes, count, NULL, name, arg, err };
	Elf_Scn *section = NULL;
	GElf_Ehdr file;
	GElf_Shdr header;
	int error;

	(void)elf_version(EV_CURRENT);
	reader.elf = elf_memory((char *)bytes, count);
	if (reader.elf == NULL)
		return corrupt(&reader, "ELF header");
	if (gelf_getehdr(reader.elf, &file) == NULL)
		error = corrupt(&reader, "ELF header");
	else if (file.e_machine != EM_X86_64)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: ELF for another machine (%d); the guest is x86-64",
		    path, file.e_machine);
	else
		error = name_interpreter(&reader);
	while (error == 0 &&
	    (section = elf_nextscn(reader.elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) == NULL)
			error = corrupt(&reader, "section header");
		else if (header.sh_type == SHT_DYNAMIC)
			error = name_objects(&reader, section, &header);
	}
	(void)elf_end(reader.elf);
	return error;
}
