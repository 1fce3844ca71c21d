#include "emu/board/kernel.h"

#include "emu/board/acpi.h"
#include "emu/board/layout.h"

#include <elf.h>
#include <string.h>

/* Fields of the zero page (struct boot_params). */
enum {
	ZP_RSDP = 0x070,
	ZP_E820_COUNT = 0x1e8,
	ZP_HEADER = 0x1f1,
	ZP_BOOT_FLAG = 0x1fe,
	ZP_HEADER_SIZE = 0x201, /* relative to 202H */
	ZP_MAGIC = 0x202,
	ZP_VERSION = 0x206,
	ZP_LOADER = 0x210,
	ZP_LOADFLAGS = 0x211,
	ZP_INITRD_PA = 0x218,
	ZP_INITRD_BYTES = 0x21c,
	ZP_CMDLINE = 0x228,
	ZP_INITRD_MAX = 0x22c,
	ZP_XLOADFLAGS = 0x236,
	ZP_CMDLINE_MAX = 0x238,
	ZP_SETUP_DATA = 0x250,
	ZP_HEADER_END = 0x290,
	ZP_E820 = 0x2d0,
};

#define HEADER_MAGIC      0x53726448 /* "HdrS" */
#define HEADER_OLDEST     0x020c     /* the first with XLF_KERNEL_64 */
#define HEADER_OURS       0x020f
#define BOOT_FLAG         0xaa55
#define XLF_KERNEL_64     1
#define LOADED_HIGH       1
#define LOADER_UNKNOWN    0xff
#define CMDLINE_OURS      2047
#define INITRD_MAX_OURS   UINT32_C(0x7fffffff)
#define SETUP_RNG_SEED    9
#define SEED_BYTES        32
#define SETUP_DATA_HEADER 16

enum { E820_RAM = 1, E820_RESERVED = 2, E820_ACPI = 3, E820_NVS = 4 };

#define PTE_PRESENT_WRITE 3
#define PTE_LARGE         0x80
#define TABLE_BYTES       4096
#define LARGE_BITS        21
#define GIBIBYTES         4

/* Flat segments of 64-bit mode: code, data. */
#define GDT_CODE UINT64_C(0x00af9b000000ffff)
#define GDT_DATA UINT64_C(0x00cf93000000ffff)

static uint32_t
get(const uint8_t *from, size_t bytes)
{
	uint32_t value = 0;

	memcpy(&value, from, bytes);
	return value;
}

static void
put(uint8_t *to, uint64_t value, size_t bytes)
{
	memcpy(to, &value, bytes);
}

#define ABOVE_WINDOW (UINT64_C(2) << 20) /* RAM after the window */

uint64_t
kernel_window_pa(uint64_t ram_bytes, uint64_t window_bytes)
{
	return ram_bytes - ABOVE_WINDOW - window_bytes;
}

/* Kernel and initrd end here. */
static uint64_t
usable_end(const struct kernel_image *image)
{
	return image->window_bytes == 0
	    ? image->ram_bytes
	    : kernel_window_pa(image->ram_bytes, image->window_bytes);
}

/* Copies one segment; *END: the end of the highest one. */
static int
load_segment(uint8_t *ram, const struct kernel_image *image,
    const Elf64_Phdr *segment, uint64_t *end, struct tz_error *err)
{
	if (segment->p_offset > image->vmlinux_bytes ||
	    segment->p_filesz > image->vmlinux_bytes - segment->p_offset ||
	    segment->p_filesz > segment->p_memsz)
		return tz_error(err, TZ_EUSAGE,
		    "the kernel is cut off: a segment ends after the file");
	if (segment->p_paddr < BOARD_HIGH_PA)
		return tz_error(err, TZ_EUSAGE,
		    "the kernel has a segment at 0x%llx, below 1 MiB",
		    (unsigned long long)segment->p_paddr);
	if (segment->p_paddr > usable_end(image) ||
	    segment->p_memsz > usable_end(image) - segment->p_paddr)
		return tz_error(err, TZ_EUSAGE,
		    "too little memory: the kernel needs 0x%llx bytes at "
		    "0x%llx, RAM ends at 0x%llx",
		    (unsigned long long)segment->p_memsz,
		    (unsigned long long)segment->p_paddr,
		    (unsigned long long)usable_end(image));
	memcpy(ram + segment->p_paddr, image->vmlinux + segment->p_offset,
	    segment->p_filesz);
	memset(ram + segment->p_paddr + segment->p_filesz, 0,
	    segment->p_memsz - segment->p_filesz);
	if (segment->p_paddr + segment->p_memsz > *end)
		*end = segment->p_paddr + segment->p_memsz;
	return 0;
}

static int
load_kernel(uint8_t *ram, const struct kernel_image *image, uint64_t *entry,
    uint64_t *end, struct tz_error *err)
{
	Elf64_Ehdr elf;
	int error;

	if (image->vmlinux_bytes < sizeof(elf))
		return tz_error(
		    err, TZ_EUSAGE, "the kernel is not an ELF file");
	memcpy(&elf, image->vmlinux, sizeof(elf));
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0)
		return tz_error(
		    err, TZ_EUSAGE, "the kernel is not an ELF file");
	if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != EM_X86_64)
		return tz_error(err, TZ_EUSAGE,
		    "the kernel is not a 64-bit one for x86-64");
	if (elf.e_phentsize != sizeof(Elf64_Phdr) ||
	    elf.e_phoff > image->vmlinux_bytes ||
	    elf.e_phnum >
		(image->vmlinux_bytes - elf.e_phoff) / sizeof(Elf64_Phdr))
		return tz_error(err, TZ_EUSAGE,
		    "the kernel is cut off: its program headers are absent");
	*entry = elf.e_entry;
	*end = 0;
	for (unsigned i = 0; i < elf.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment,
		    image->vmlinux + elf.e_phoff + i * sizeof(segment),
		    sizeof(segment));
		if (segment.p_type != PT_LOAD)
			continue;
		error = load_segment(ram, image, &segment, end, err);
		if (error != 0)
			return error;
	}
	if (*entry < BOARD_HIGH_PA || *entry >= *end)
		return tz_error(err, TZ_EUSAGE,
		    "the kernel's entry 0x%llx is in none of its segments",
		    (unsigned long long)*entry);
	return 0;
}

/* The setup header, as far as the loader does not fill it in. */
static int
copy_header(
    uint8_t *zero, const struct kernel_image *image, struct tz_error *err)
{
	const uint8_t *setup = image->setup;
	size_t end;

	if (setup == NULL) {
		put(zero + ZP_BOOT_FLAG, BOOT_FLAG, 2);
		put(zero + ZP_MAGIC, HEADER_MAGIC, 4);
		put(zero + ZP_VERSION, HEADER_OURS, 2);
		put(zero + ZP_INITRD_MAX, INITRD_MAX_OURS, 4);
		put(zero + ZP_XLOADFLAGS, XLF_KERNEL_64, 2);
		put(zero + ZP_CMDLINE_MAX, CMDLINE_OURS, 4);
		return 0;
	}
	if (image->setup_bytes < ZP_HEADER_END ||
	    get(setup + ZP_BOOT_FLAG, 2) != BOOT_FLAG ||
	    get(setup + ZP_MAGIC, 4) != HEADER_MAGIC)
		return tz_error(err, TZ_EUSAGE,
		    "the kernel image has no setup header of Linux");
	if (get(setup + ZP_VERSION, 2) < HEADER_OLDEST ||
	    !(get(setup + ZP_XLOADFLAGS, 2) & XLF_KERNEL_64))
		return tz_error(err, TZ_EUSAGE,
		    "the kernel image has no 64-bit entry (boot protocol "
		    "%x.%02x)",
		    get(setup + ZP_VERSION + 1, 1), get(setup + ZP_VERSION, 1));
	end = (size_t)ZP_MAGIC + setup[ZP_HEADER_SIZE];
	if (end > ZP_HEADER_END)
		end = ZP_HEADER_END;
	memcpy(zero + ZP_HEADER, setup + ZP_HEADER, end - ZP_HEADER);
	return 0;
}

static int
place_initrd(uint8_t *ram, uint8_t *zero, const struct kernel_image *image,
    uint64_t kernel_end, struct tz_error *err)
{
	uint64_t end = (uint64_t)get(zero + ZP_INITRD_MAX, 4) + 1, pa;

	if (image->initrd == NULL)
		return 0;
	if (end > usable_end(image))
		end = usable_end(image);
	if (kernel_end > end || image->initrd_bytes > end - kernel_end ||
	    ((end - image->initrd_bytes) & ~UINT64_C(0xfff)) < kernel_end)
		return tz_error(err, TZ_EUSAGE,
		    "too little memory: the initrd's %zu bytes do not fit "
		    "between the kernel's end, 0x%llx, and 0x%llx",
		    image->initrd_bytes, (unsigned long long)kernel_end,
		    (unsigned long long)end);
	pa = (end - image->initrd_bytes) & ~UINT64_C(0xfff);
	memcpy(ram + pa, image->initrd, image->initrd_bytes);
	put(zero + ZP_INITRD_PA, pa, 4);
	put(zero + ZP_INITRD_BYTES, image->initrd_bytes, 4);
	return 0;
}

static void
add_e820(uint8_t *zero, uint64_t begin, uint64_t end, uint32_t type)
{
	uint8_t *item = zero + ZP_E820 + zero[ZP_E820_COUNT]++ * 20u;

	put(item, begin, 8);
	put(item + 8, end - begin, 8);
	put(item + 16, type, 4);
}

static int
write_cmdline(uint8_t *ram, uint8_t *zero, const struct kernel_image *image,
    struct tz_error *err)
{
	size_t length = strlen(image->cmdline);
	uint32_t max = get(zero + ZP_CMDLINE_MAX, 4);

	if (max > BOARD_CMDLINE_MAX - 1)
		max = BOARD_CMDLINE_MAX - 1;
	if (length > max)
		return tz_error(err, TZ_EUSAGE,
		    "the command line has %zu characters; the kernel takes %u",
		    length, max);
	memcpy(ram + BOARD_CMDLINE_PA, image->cmdline, length + 1);
	put(zero + ZP_CMDLINE, BOARD_CMDLINE_PA, 4);
	return 0;
}

/* One step of the generator splitmix64. */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* struct setup_data: next, type, length, data. */
static void
write_seed(uint8_t *ram, uint8_t *zero, uint64_t seed)
{
	uint8_t *data = ram + BOARD_SEED_PA;

	put(data, 0, 8);
	put(data + 8, SETUP_RNG_SEED, 4);
	put(data + 12, SEED_BYTES, 4);
	for (unsigned i = 0; i < SEED_BYTES; i += 8)
		put(data + SETUP_DATA_HEADER + i, next_random(&seed), 8);
	put(zero + ZP_SETUP_DATA, BOARD_SEED_PA, 8);
}

/* One PML4, one page-directory-pointer table, GIBIBYTES page directories. */
static void
write_tables(uint8_t *ram)
{
	uint8_t *pml4 = ram + BOARD_TABLES_PA, *pdpt = pml4 + TABLE_BYTES;
	uint64_t directories = BOARD_TABLES_PA + UINT64_C(2) * TABLE_BYTES;

	put(pml4, (BOARD_TABLES_PA + TABLE_BYTES) | PTE_PRESENT_WRITE, 8);
	for (uint64_t i = 0; i < GIBIBYTES; i++)
		put(pdpt + i * 8,
		    (directories + i * TABLE_BYTES) | PTE_PRESENT_WRITE, 8);
	for (uint64_t i = 0; i < GIBIBYTES * 512; i++)
		put(ram + directories + i * 8,
		    i << LARGE_BITS | PTE_LARGE | PTE_PRESENT_WRITE, 8);
}

int
kernel_load(uint8_t *ram, const struct kernel_image *image,
    struct kernel_entry *entry, struct tz_error *err)
{
	uint8_t *zero = ram + BOARD_ZERO_PAGE_PA;
	uint64_t end = 0;
	int error;

	TZ_ASSERT(image->window_bytes % TZ_PAGE_BYTES == 0);
	TZ_ASSERT(image->ram_bytes > BOARD_HIGH_PA + ABOVE_WINDOW &&
	    image->window_bytes <
		image->ram_bytes - BOARD_HIGH_PA - ABOVE_WINDOW);
	memset(zero, 0, TZ_PAGE_BYTES);
	error = load_kernel(ram, image, &entry->rip, &end, err);
	if (error == 0)
		error = copy_header(zero, image, err);
	if (error == 0)
		error = write_cmdline(ram, zero, image, err);
	if (error == 0)
		error = place_initrd(ram, zero, image, end, err);
	if (error != 0)
		return error;
	zero[ZP_LOADER] = LOADER_UNKNOWN;
	zero[ZP_LOADFLAGS] |= LOADED_HIGH;
	put(zero + ZP_RSDP, BOARD_RSDP_PA, 8);
	add_e820(zero, 0, BOARD_LOW_END, E820_RAM);
	add_e820(zero, BOARD_FIRMWARE_PA, BOARD_GDT_PA, E820_ACPI);
	add_e820(zero, BOARD_GDT_PA, BOARD_HIGH_PA, E820_RESERVED);
	add_e820(zero, BOARD_HIGH_PA, usable_end(image), E820_RAM);
	if (image->window_bytes > 0) {
		end = image->ram_bytes - ABOVE_WINDOW;
		add_e820(zero, usable_end(image), end, E820_RESERVED);
		add_e820(zero, end, image->ram_bytes, E820_RAM);
	}
	write_seed(ram, zero, image->seed);
	write_tables(ram);
	put(ram + BOARD_GDT_PA + BOARD_CS, GDT_CODE, 8);
	put(ram + BOARD_GDT_PA + BOARD_DS, GDT_DATA, 8);
	acpi_write(ram, image->cpu_count);
	entry->zero_page = BOARD_ZERO_PAGE_PA;
	entry->cr3 = (struct gpa){ BOARD_TABLES_PA };
	return 0;
}
