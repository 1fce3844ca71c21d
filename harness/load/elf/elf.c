#include "harness/load/elf/elf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/guest_abi.h"
#include "harness/load/elf/elf_file.h"
#include "harness/load/elf/symtab.h"

static uint32_t
segment_flags(uint32_t elf_flags)
{
	return (elf_flags & PF_W ? ABI_SEG_WRITE : 0) |
	    (elf_flags & PF_X ? ABI_SEG_EXEC : 0);
}

/* Checks and loads a segment; *PA: its place in RAM. */
typedef int (*segment_place)(const struct elf_file *file,
    const GElf_Phdr *header, struct image_ram *ram, struct gpa *pa,
    struct tz_error *err);

static int
place_kernel(const struct elf_file *file, const GElf_Phdr *header,
    struct image_ram *ram, struct gpa *pa, struct tz_error *err)
{
	uint64_t start = header->p_vaddr - ABI_KERNBASE;

	if (header->p_vaddr < ABI_KERNEL_VA || start > ram->size_bytes ||
	    header->p_memsz > ram->size_bytes - start)
		return tz_error(err, TZ_EFORMAT,
		    "%s: segment at 0x%" PRIx64 ", 0x%" PRIx64
		    " bytes, is not between the kernel's address 0x%" PRIx64
		    " and the end of RAM",
		    file->path, header->p_vaddr, header->p_memsz,
		    ABI_KERNEL_VA);
	memset(ram->bytes + start, 0, header->p_memsz);
	memcpy(ram->bytes + start, file->bytes + header->p_offset,
	    header->p_filesz);
	if (ram->next_pa < start + header->p_memsz)
		ram->next_pa = start + header->p_memsz;
	*pa = (struct gpa){ start };
	return 0;
}

/* The file is already at ram->next_pa. */
static int
place_program(const struct elf_file *file, const GElf_Phdr *header,
    struct image_ram *ram, struct gpa *pa, struct tz_error *err)
{
	uint64_t end = header->p_vaddr + header->p_memsz;

	if (end < header->p_vaddr || end > TZ_BIT(47))
		return tz_error(err, TZ_EFORMAT,
		    "%s: segment at 0x%" PRIx64 " is not in user space",
		    file->path, header->p_vaddr);
	*pa = (struct gpa){ ram->next_pa + header->p_offset };
	return 0;
}

static int
load_segments(const struct elf_file *file, struct image_ram *ram,
    struct image *image, segment_place place, struct tz_error *err)
{
	size_t count, i;
	GElf_Phdr header;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return elf_file_corrupt(file, "program headers", err);
	for (i = 0; i < count; i++) {
		struct image_segment *segment =
		    &image->segment[image->segment_count];
		int error;

		if (gelf_getphdr(file->elf, (int)i, &header) == NULL)
			return elf_file_corrupt(file, "program header", err);
		if (header.p_type != PT_LOAD || header.p_memsz == 0)
			continue;
		if (header.p_offset > file->size_bytes ||
		    header.p_filesz > file->size_bytes - header.p_offset ||
		    header.p_filesz > header.p_memsz)
			return elf_file_corrupt(
			    file, "a segment outside the file", err);
		if (image->segment_count == IMAGE_SEGMENTS_MAX)
			return elf_file_corrupt(file, "too many segments", err);
		error = place(file, &header, ram, &segment->pa, err);
		if (error != 0)
			return error;
		segment->va = header.p_vaddr;
		segment->bytes = header.p_filesz;
		segment->zero_bytes = header.p_memsz - header.p_filesz;
		segment->flags = segment_flags(header.p_flags);
		image->segment_count++;
	}
	image->entry = file->header.e_entry;
	if (image_segment_at(image, image->entry) == NULL)
		return elf_file_corrupt(
		    file, "the entry point is in no segment", err);
	return 0;
}

static int
export_symbols(
    const struct elf_file *file, struct symtab *exports, struct tz_error *err)
{
	Elf_Data *data;
	size_t count, strings, i;
	int error = elf_file_symbols(file, &data, &count, &strings, err);

	for (i = 1; error == 0 && i < count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (gelf_getsym(data, (int)i, &symbol) == NULL)
			return elf_file_corrupt(file, "symbol", err);
		if (GELF_ST_BIND(symbol.st_info) == STB_LOCAL ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(file->elf, strings, symbol.st_name);
		if (name == NULL)
			return elf_file_corrupt(file, "symbol name", err);
		if (!symtab_add(exports, name, symbol.st_value, symbol.st_size))
			return tz_error(
			    err, TZ_EIO, "%s: out of memory", file->path);
	}
	return error;
}

int
elf_load_kernel(const char *path, struct image_ram *ram, struct symtab *exports,
    struct image *image, struct tz_error *err)
{
	struct elf_file file;
	int error = image_init(image, IMAGE_KERNEL, "kernel", path, err);

	if (error != 0)
		return error;
	error = elf_file_open(path, ET_EXEC, &file, err);
	if (error == 0)
		error = load_segments(&file, ram, image, place_kernel, err);
	if (error == 0)
		error = export_symbols(&file, exports, err);
	elf_file_close(&file);
	return error;
}

int
elf_load_program(const char *name, const char *path, struct image_ram *ram,
    struct image *image, struct gpa *pa, uint64_t *bytes, struct tz_error *err)
{
	struct elf_file file;
	struct image_ram at;
	int error = image_init(image, IMAGE_PROGRAM, name, path, err);

	if (error != 0)
		return error;
	error = elf_file_open(path, ET_EXEC, &file, err);
	if (error == 0)
		error = image_ram_take(ram, file.size_bytes, path, pa, err);
	if (error == 0) {
		memcpy(ram->bytes + pa->u, file.bytes, file.size_bytes);
		*bytes = file.size_bytes;
		at = (struct image_ram){ ram->bytes, ram->size_bytes, pa->u };
		error = load_segments(&file, &at, image, place_program, err);
	}
	elf_file_close(&file);
	return error;
}
