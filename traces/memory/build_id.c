#include "traces/memory/build_id.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES 65536u
#define ID_BYTES   20u

void
build_id_format(
    const uint8_t *bytes, unsigned count, char hex[BUILD_ID_HEX_BYTES])
{
	*hex = '\0';
	for (unsigned i = 0; i < count && i < ID_BYTES; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", bytes[i]);
}

/* Looks for the note in COUNT BYTES of notes. */
static bool
find_note(const uint8_t *bytes, size_t count, char hex[BUILD_ID_HEX_BYTES])
{
	size_t at = 0;

	while (count - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, id, end;

		memcpy(&note, bytes + at, sizeof(note));
		name = at + sizeof(note);
		id = name + (((uint64_t)note.n_namesz + 3) & ~UINT64_C(3));
		end = id + (((uint64_t)note.n_descsz + 3) & ~UINT64_C(3));
		if (end > count)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(bytes + name, "GNU", 4) == 0 &&
		    note.n_descsz <= ID_BYTES) {
			build_id_format(bytes + id, note.n_descsz, hex);
			return true;
		}
		at = (size_t)end;
	}
	return false;
}

/* Looks in the notes of the COUNT BYTES that an ELF file begins with. */
static void
find_segment(const uint8_t *bytes, size_t count, char hex[BUILD_ID_HEX_BYTES])
{
	Elf64_Ehdr header;

	if (count < sizeof(header) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return;
	memcpy(&header, bytes, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return;
	for (unsigned n = 0; n < header.e_phnum; n++) {
		uint64_t at = header.e_phoff + n * sizeof(Elf64_Phdr);
		Elf64_Phdr segment;

		if (at > count || count - at < sizeof(segment))
			return;
		memcpy(&segment, bytes + at, sizeof(segment));
		if (segment.p_type == PT_NOTE && segment.p_offset <= count &&
		    segment.p_filesz <= count - segment.p_offset &&
		    find_note(bytes + segment.p_offset,
			(size_t)segment.p_filesz, hex))
			return;
	}
}

void
build_id_read(const char *path, char hex[BUILD_ID_HEX_BYTES])
{
	uint8_t *bytes = malloc(READ_BYTES);
	FILE *file = fopen(path, "re");

	*hex = '\0';
	if (file != NULL && bytes != NULL)
		find_segment(bytes, fread(bytes, 1, READ_BYTES, file), hex);
	if (file != NULL)
		(void)fclose(file);
	free(bytes);
}
