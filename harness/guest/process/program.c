/*
 * Programs: static ELF files (ET_EXEC) that the host loaded.  Pages that ring 3
 * may not write are those of the file and shared by all processes; writable
 * ones are copies.  System V ABI, chapter 4 "Object Files".
 */
#include "harness/guest/internal.h"

#define STACK_PAGES 32 /* if PT_GNU_STACK has no size */
#define PT_LOAD     1
#define PT_STACK    UINT32_C(0x6474e551)
#define PF_X        1
#define PF_W        2
#define ET_EXEC     2

struct elf_header {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, paddr, filesz, memsz, align;
};

_Static_assert(sizeof(struct elf_header) == 64, "ELF header layout");
_Static_assert(sizeof(struct elf_segment) == 56, "program header layout");

const struct abi_program *
program_find(const char *name)
{
	const struct abi_program *programs = phys_to_virt(
	    boot_info->programs_pa);

	for (uint64_t i = 0; i < boot_info->program_count; i++) {
		if (strncmp(programs[i].name, name, sizeof(programs[i].name)) ==
		    0)
			return &programs[i];
	}
	return NULL;
}

static bool
segment_is_sane(
    const struct abi_program *program, const struct elf_segment *segment)
{
	return segment->filesz <= segment->memsz &&
	    segment->offset <= program->image_bytes &&
	    segment->filesz <= program->image_bytes - segment->offset &&
	    segment->vaddr >= SYS_IMAGE_MIN && segment->vaddr < SYS_IMAGE_MAX &&
	    segment->memsz < SYS_IMAGE_MAX - segment->vaddr;
}

/* Copies the file's bytes of a segment into the frames mapped for them. */
static void
copy_segment(
    struct space *space, const char *image, const struct elf_segment *segment)
{
	uint64_t done = 0;

	while (done < segment->filesz) {
		uint64_t va = segment->vaddr + done;
		uint64_t room = PAGE_BYTES - va % PAGE_BYTES;
		uint64_t rest = segment->filesz - done;
		uint64_t count = rest < room ? rest : room;

		memcpy(phys_to_virt(space_walk(space->cr3, va)),
		    image + segment->offset + done, count);
		done += count;
	}
}

static int
share_segment(struct space *space, const struct region *region,
    uint64_t first_pa, unsigned flags)
{
	for (uint64_t i = 0; i < region->pages; i++) {
		int error = space_map(space->cr3, region->va + i * PAGE_BYTES,
		    first_pa + i * PAGE_BYTES, flags);

		if (error != 0)
			return error;
	}
	return 0;
}

static int
map_segment(struct space *space, const struct abi_program *program,
    const struct elf_segment *segment)
{
	uint64_t inside = segment->vaddr % PAGE_BYTES;
	uint64_t pages = (inside + segment->memsz + PAGE_BYTES - 1) /
	    PAGE_BYTES;
	uint64_t file_pa = program->image_pa + segment->offset;
	bool share = (segment->flags & PF_W) == 0 &&
	    segment->filesz == segment->memsz && file_pa % PAGE_BYTES == inside;
	unsigned flags = MAP_USER |
	    ((segment->flags & PF_W) != 0 ? MAP_WRITE : 0) |
	    ((segment->flags & PF_X) != 0 ? MAP_EXEC : 0);
	struct region *region;
	int error = region_add(space, segment->vaddr - inside, pages,
	    share ? REGION_IMAGE : REGION_OWNED, &region);

	if (error != 0)
		return error;
	region->executes = (segment->flags & PF_X) != 0;
	if (share)
		return share_segment(space, region, file_pa - inside, flags);
	error = region_fill(space, region, flags);
	if (error == 0)
		copy_segment(space, phys_to_virt(program->image_pa), segment);
	return error;
}

int
program_map(struct space *space, const struct abi_program *program,
    uint64_t *entry, uint64_t *base, uint64_t *stack_pages)
{
	const char *image = phys_to_virt(program->image_pa);
	struct elf_header header;
	int error = 0;

	*base = SYS_IMAGE_MAX;
	*stack_pages = STACK_PAGES;
	if (program->image_bytes < sizeof(header))
		return KE_INVAL;
	memcpy(&header, image, sizeof(header));
	if (memcmp(header.ident, "\177ELF\2\1", 6) != 0 ||
	    header.type != ET_EXEC ||
	    header.phentsize != sizeof(struct elf_segment) ||
	    header.phoff > program->image_bytes ||
	    header.phnum * sizeof(struct elf_segment) >
		program->image_bytes - header.phoff)
		return KE_INVAL;
	for (unsigned i = 0; i < header.phnum && error == 0; i++) {
		struct elf_segment segment;

		memcpy(&segment, image + header.phoff + i * sizeof(segment),
		    sizeof(segment));
		if (segment.type == PT_STACK && segment.memsz != 0 &&
		    segment.memsz <= STACK_PAGES * PAGE_BYTES)
			*stack_pages = (segment.memsz + PAGE_BYTES - 1) /
			    PAGE_BYTES;
		if (segment.type != PT_LOAD || segment.memsz == 0)
			continue;
		if (!segment_is_sane(program, &segment))
			return KE_INVAL;
		if (segment.vaddr < *base)
			*base = segment.vaddr;
		error = map_segment(space, program, &segment);
	}
	*entry = header.entry;
	return error;
}

/* The argument string lies at the top of the stack. */
static int
make_stack(struct space *space, uint64_t pages, const char *args,
    struct trap_frame *frame)
{
	uint64_t bytes = strlen(args) + 1;
	uint64_t at = (SYS_USER_TOP - bytes) & ~UINT64_C(15);
	struct region *region;
	int error = region_add(space, SYS_USER_TOP - pages * PAGE_BYTES, pages,
	    REGION_OWNED, &region);

	if (error == 0)
		error = region_fill(space, region, MAP_WRITE);
	if (error != 0)
		return error;
	KERN_ASSERT(bytes <= ARGS_MAX && ARGS_MAX < PAGE_BYTES);
	memcpy(phys_to_virt(space_walk(space->cr3, at)), args, bytes);
	frame->rdi = at;
	frame->rsp = at - 8;
	return 0;
}

int
program_load(struct space *space, const char *name, const char *args,
    struct trap_frame *frame, uint64_t *base)
{
	const struct abi_program *program = program_find(name);
	uint64_t entry = 0, stack_pages = 0;
	int error;

	if (program == NULL)
		return KE_NOENT;
	*space = (struct space){ .cr3 = space_create() };
	if (space->cr3 == 0)
		return KE_NOMEM;
	*frame = (struct trap_frame){ .cs = SEL_USER_CS,
		.ss = SEL_USER_SS,
		.rflags = RFLAGS_FIXED | RFLAGS_IF };
	error = program_map(space, program, &entry, base, &stack_pages);
	if (error == 0)
		error = make_stack(space, stack_pages, args, frame);
	if (error != 0) {
		space_release(space);
		return error;
	}
	frame->rip = entry;
	return 0;
}
