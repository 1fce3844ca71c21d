/*
 * Goal: the loader leaves in RAM what Linux's 64-bit boot protocol promises, and
 * refuses what it cannot start.
 * Method: a made-up ELF file and setup header; fields of the zero page, of ACPI tables
 * and of page tables, read by offsets from the sources that kernel.h and acpi.h cite.
 */
#define _GNU_SOURCE
#include "emu/board/kernel.h"
#include "emu/board/layout.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RAM_BYTES (UINT64_C(64) << 20)
#define LOAD_PA   UINT64_C(0x1000000)
#define ENTRY     (LOAD_PA + 0x40)
#define CODE      0x100 /* in the file */

struct rig {
	uint8_t *ram;
	uint8_t elf[0x200], setup[0x400];
	struct kernel_image image;
	struct kernel_entry entry;
	struct tz_error err;
};

static void
set(uint8_t *at, uint64_t value, size_t bytes)
{
	memcpy(at, &value, bytes);
}

static uint64_t
get(const uint8_t *at, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return value;
}

static Elf64_Ehdr *
header(struct rig *rig)
{
	return (Elf64_Ehdr *)(void *)rig->elf;
}

static Elf64_Phdr *
segment(struct rig *rig)
{
	return (Elf64_Phdr *)(void *)(rig->elf + sizeof(Elf64_Ehdr));
}

static void
make(struct rig *rig)
{
	static uint8_t initrd[5000];

	memset(rig, 0, sizeof(*rig));
	rig->ram = calloc(1, RAM_BYTES);
	assert_non_null(rig->ram);
	memcpy(header(rig)->e_ident, ELFMAG, SELFMAG);
	header(rig)->e_ident[EI_CLASS] = ELFCLASS64;
	header(rig)->e_machine = EM_X86_64;
	header(rig)->e_phentsize = sizeof(Elf64_Phdr);
	header(rig)->e_phoff = sizeof(Elf64_Ehdr);
	header(rig)->e_phnum = 1;
	header(rig)->e_entry = ENTRY;
	*segment(rig) = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_offset = CODE,
		.p_paddr = LOAD_PA,
		.p_filesz = 0x80,
		.p_memsz = 0x2000 };
	memset(rig->elf + CODE, 0xcc, 0x80);
	set(rig->setup + 0x1fe, 0xaa55, 2);
	memcpy(rig->setup + 0x202, "HdrS", 4);
	rig->setup[0x201] = 0x6c;
	set(rig->setup + 0x206, 0x020f, 2);
	set(rig->setup + 0x22c, 0x7fffffff, 4);
	set(rig->setup + 0x236, 0x3f, 2);
	set(rig->setup + 0x238, 2047, 4);
	initrd[0] = 0x1f;
	rig->image = (struct kernel_image){ .vmlinux = rig->elf,
		.vmlinux_bytes = sizeof(rig->elf),
		.setup = rig->setup,
		.setup_bytes = sizeof(rig->setup),
		.initrd = initrd,
		.initrd_bytes = sizeof(initrd),
		.cmdline = "console=ttyS0",
		.cpu_count = 2,
		.ram_bytes = RAM_BYTES,
		.window_bytes = 2 * 4096,
		.seed = 1 };
}

static int
load(struct rig *rig)
{
	return kernel_load(rig->ram, &rig->image, &rig->entry, &rig->err);
}

static void
good_kernel_is_in_place(void **state)
{
	struct rig rig;
	const uint8_t *zero, *e820;
	uint64_t initrd, usable = RAM_BYTES - (2 << 20) - 2 * 4096;

	(void)state;
	make(&rig);
	rig.ram[LOAD_PA + 0x1000] = 1; /* .bss is cleared */
	assert_int_equal(load(&rig), 0);
	assert_int_equal(rig.entry.rip, ENTRY);
	assert_int_equal(rig.ram[ENTRY], 0xcc);
	assert_int_equal(rig.ram[LOAD_PA + 0x1000], 0);
	zero = rig.ram + rig.entry.zero_page;
	assert_memory_equal(zero + 0x202, "HdrS", 4);
	assert_int_equal(zero[0x210], 0xff);
	assert_int_equal(zero[0x211] & 1, 1);
	assert_string_equal(rig.ram + get(zero + 0x228, 4), rig.image.cmdline);
	initrd = get(zero + 0x218, 4);
	assert_int_equal(get(zero + 0x21c, 4), 5000);
	assert_int_equal(initrd % 4096, 0);
	assert_true(initrd + 5000 <= usable);
	assert_int_equal(rig.ram[initrd], 0x1f);
	/* The e820 map: sorted, without overlaps, the window reserved. */
	assert_int_equal(zero[0x1e8], 6);
	assert_int_equal(kernel_window_pa(RAM_BYTES, 2 * 4096), usable);
	e820 = zero + 0x2d0;
	for (unsigned i = 1; i < zero[0x1e8]; i++)
		assert_true(
		    get(e820 + i * 20 - 20, 8) + get(e820 + i * 20 - 12, 8) <=
		    get(e820 + i * 20, 8));
	assert_int_equal(get(e820 + 3 * 20, 8), 0x100000);
	assert_int_equal(get(e820 + 3 * 20 + 8, 8), usable - 0x100000);
	assert_int_equal(get(e820 + 3 * 20 + 16, 4), 1);
	assert_int_equal(get(e820 + 4 * 20, 8), usable);
	assert_int_equal(get(e820 + 4 * 20 + 16, 4), 2);
	assert_int_equal(get(e820 + 5 * 20, 8), RAM_BYTES - (2 << 20));
	assert_int_equal(get(e820 + 5 * 20 + 16, 4), 1);
	/* struct setup_data of type SETUP_RNG_SEED. */
	assert_int_equal(get(rig.ram + get(zero + 0x250, 8) + 8, 4), 9);
	assert_int_equal(get(rig.ram + get(zero + 0x250, 8) + 12, 4), 32);
	free(rig.ram);
}

/* Walks the page tables by hand. */
static void
memory_is_mapped_to_itself(void **state)
{
	struct rig rig;
	uint64_t entry;

	(void)state;
	make(&rig);
	assert_int_equal(load(&rig), 0);
	for (uint64_t va = 0; va < UINT64_C(4) << 30; va += 0x5a5a5000) {
		entry = get(rig.ram + rig.entry.cr3.u, 8);
		entry = get(
		    rig.ram + (entry & ~UINT64_C(0xfff)) + (va >> 30) * 8, 8);
		entry = get(
		    rig.ram + (entry & ~UINT64_C(0xfff)) + (va >> 21 & 511) * 8,
		    8);
		assert_int_equal(entry, (va & ~UINT64_C(0x1fffff)) | 0x83);
	}
	/* A 64-bit code segment and a data segment, both present and flat. */
	assert_int_equal(
	    get(rig.ram + BOARD_GDT_PA + 0x10, 8) >> 40 & 0xffff, 0xaf9b);
	assert_int_equal(
	    get(rig.ram + BOARD_GDT_PA + 0x18, 8) >> 40 & 0xffff, 0xcf93);
	free(rig.ram);
}

static uint8_t
sum(const uint8_t *bytes, size_t count)
{
	uint8_t total = 0;

	while (count-- > 0)
		total = (uint8_t)(total + *bytes++);
	return total;
}

/* The table with SIGNATURE, from the XSDT; its checksum is right. */
static const uint8_t *
table(const struct rig *rig, const char *signature)
{
	const uint8_t *rsdp = rig->ram +
	    get(rig->ram + rig->entry.zero_page + 0x70, 8);
	const uint8_t *xsdt = rig->ram + get(rsdp + 24, 8);
	size_t count = (get(xsdt + 4, 4) - 36) / 8;

	assert_memory_equal(rsdp, "RSD PTR ", 8);
	assert_int_equal(sum(rsdp, 20), 0);
	assert_int_equal(sum(rsdp, 36), 0);
	assert_int_equal(sum(xsdt, get(xsdt + 4, 4)), 0);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *found = rig->ram + get(xsdt + 36 + i * 8, 8);

		assert_int_equal(sum(found, get(found + 4, 4)), 0);
		if (memcmp(found, signature, 4) == 0)
			return found;
	}
	return NULL;
}

static void
acpi_tables_describe_the_board(void **state)
{
	struct rig rig;
	const uint8_t *fadt, *madt, *dsdt;
	unsigned cpus = 0;

	(void)state;
	make(&rig);
	assert_int_equal(load(&rig), 0);
	fadt = table(&rig, "FACP");
	madt = table(&rig, "APIC");
	assert_non_null(fadt);
	assert_non_null(madt);
	/* Hardware-reduced, a reset register. */
	assert_int_equal(get(fadt + 112, 4) >> 20 & 1, 1);
	assert_int_equal(get(fadt + 112, 4) >> 10 & 1, 1);
	assert_int_equal(get(fadt + 116 + 4, 8), 0xcf9);
	assert_int_equal(get(fadt + 244 + 4, 8), 0x604);
	assert_int_equal(get(fadt + 256 + 4, 8), 0x605);
	dsdt = rig.ram + get(fadt + 140, 8);
	assert_memory_equal(dsdt, "DSDT", 4);
	assert_int_equal(sum(dsdt, get(dsdt + 4, 4)), 0);
	/* A device of PNP0501 with the ports 3F8H to 3FFH. */
	assert_non_null(
	    memmem(dsdt, get(dsdt + 4, 4), "\x0c\x41\xd0\x05\x01", 5));
	assert_non_null(memmem(
	    dsdt, get(dsdt + 4, 4), "\x47\x01\xf8\x03\xf8\x03\x01\x08\x79", 9));
	assert_int_equal(get(madt + 36, 4), 0xfee00000);
	for (size_t at = 44; at < get(madt + 4, 4); at += madt[at + 1]) {
		assert_true(madt[at + 1] > 0);
		if (madt[at] == 0) {
			assert_int_equal(madt[at + 3], cpus++);
			assert_int_equal(get(madt + at + 4, 4), 1);
		}
	}
	assert_int_equal(cpus, 2);
	free(rig.ram);
}

static void
vmlinux_alone_gets_a_header(void **state)
{
	struct rig rig;
	const uint8_t *zero;

	(void)state;
	make(&rig);
	rig.image.setup = NULL;
	rig.image.initrd = NULL;
	assert_int_equal(load(&rig), 0);
	zero = rig.ram + rig.entry.zero_page;
	assert_memory_equal(zero + 0x202, "HdrS", 4);
	assert_int_equal(get(zero + 0x218, 4), 0);
	free(rig.ram);
}

static void
other_random_numbers_by_another_seed(void **state)
{
	struct rig rig;
	uint8_t first[32];

	(void)state;
	make(&rig);
	assert_int_equal(load(&rig), 0);
	memcpy(first, rig.ram + BOARD_SEED_PA + 16, sizeof(first));
	assert_int_equal(load(&rig), 0);
	assert_memory_equal(first, rig.ram + BOARD_SEED_PA + 16, sizeof(first));
	rig.image.seed = 2;
	assert_int_equal(load(&rig), 0);
	assert_memory_not_equal(
	    first, rig.ram + BOARD_SEED_PA + 16, sizeof(first));
	free(rig.ram);
}

static void
refuse(struct rig *rig, const char *why)
{
	rig->err.text[0] = '\0';
	assert_int_equal(load(rig), -TZ_EUSAGE);
	if (strstr(rig->err.text, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, rig->err.text);
	free(rig->ram);
	make(rig);
}

static void
bad_kernels_are_refused(void **state)
{
	static char line[3000];
	struct rig rig;

	(void)state;
	make(&rig);
	rig.elf[0] = 'x';
	refuse(&rig, "not an ELF file");
	rig.image.vmlinux_bytes = 10;
	refuse(&rig, "not an ELF file");
	header(&rig)->e_ident[EI_CLASS] = ELFCLASS32;
	refuse(&rig, "64-bit");
	header(&rig)->e_machine = EM_AARCH64;
	refuse(&rig, "x86-64");
	header(&rig)->e_phoff = UINT64_MAX;
	refuse(&rig, "program headers");
	header(&rig)->e_phnum = 0xffff;
	refuse(&rig, "program headers");
	segment(&rig)->p_offset = UINT64_MAX - 8;
	refuse(&rig, "cut off");
	segment(&rig)->p_filesz = 0x101;
	refuse(&rig, "cut off");
	segment(&rig)->p_memsz = 1;
	refuse(&rig, "cut off");
	segment(&rig)->p_paddr = 0x9000;
	refuse(&rig, "below 1 MiB");
	segment(&rig)->p_memsz = RAM_BYTES;
	refuse(&rig, "too little memory");
	segment(&rig)->p_paddr = UINT64_MAX - 8;
	refuse(&rig, "too little memory");
	header(&rig)->e_entry = 0;
	refuse(&rig, "entry");
	rig.setup[0x202] = 'x';
	refuse(&rig, "setup header");
	rig.image.setup_bytes = 0x200;
	refuse(&rig, "setup header");
	rig.setup[0x206] = 0;
	rig.setup[0x207] = 2;
	refuse(&rig, "no 64-bit entry (boot protocol 2.00)");
	rig.setup[0x236] = 0;
	refuse(&rig, "no 64-bit entry");
	memset(line, 'a', sizeof(line) - 1);
	rig.image.cmdline = line;
	refuse(&rig, "2999 characters");
	rig.image.initrd_bytes = RAM_BYTES;
	refuse(&rig, "the initrd's");
	set(rig.setup + 0x22c, 0xfff, 4);
	refuse(&rig, "the initrd's");
	free(rig.ram);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_kernel_is_in_place),
		cmocka_unit_test(memory_is_mapped_to_itself),
		cmocka_unit_test(acpi_tables_describe_the_board),
		cmocka_unit_test(vmlinux_alone_gets_a_header),
		cmocka_unit_test(other_random_numbers_by_another_seed),
		cmocka_unit_test(bad_kernels_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
