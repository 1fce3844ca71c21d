/*
 * The loader: puts a Linux kernel and all that its 64-bit boot protocol wants into
 * RAM: the segments of vmlinux, the zero page with the e820 map, the command line,
 * the initrd, ACPI tables, page tables that map 4 GiB to themselves, and a GDT.
 * Pure functions of their arguments.
 *
 * Source: Linux, Documentation/arch/x86/boot.rst, "64-bit Boot Protocol", and
 * zero-page.rst.
 */
#ifndef TOPAZ_EMU_BOARD_KERNEL_H
#define TOPAZ_EMU_BOARD_KERNEL_H

#include "emu/base/base.h"

struct kernel_image {
	const uint8_t *vmlinux; /* ELF, decompressed */
	size_t vmlinux_bytes;
	/* The beginning of the bzImage, at least to the end of its setup header;
	 * NULL: there is none, and the loader makes a header of its own. */
	const uint8_t *setup;
	size_t setup_bytes;
	const uint8_t *initrd; /* NULL: none */
	size_t initrd_bytes;
	const char *cmdline;
	unsigned cpu_count;
	uint64_t ram_bytes;
	/* Whole pages of RAM that the kernel shall not use, at kernel_window_pa(); 0: none.
	 * /dev/mem gives user space access to them, and machine_ram() the host. */
	uint64_t window_bytes;
	/* The kernel's random numbers begin with it: SETUP_RNG_SEED. */
	uint64_t seed;
};

/* What machine_boot() wants. */
struct kernel_entry {
	uint64_t rip, zero_page;
	struct gpa cr3;
};

/*
 * Where the window is: below the last 2 MiB of RAM, because /dev/mem ends where the last
 * RAM does.
 */
uint64_t kernel_window_pa(uint64_t ram_bytes, uint64_t window_bytes);

/*
 * Fills RAM, which was all 0.  -TZ_EUSAGE and a text: the kernel is not a 64-bit
 * ELF file for x86-64, its header is not one of a bzImage or too old, the command
 * line is too long for it, or kernel and initrd do not fit into RAM.
 */
int kernel_load(uint8_t *ram, const struct kernel_image *image,
    struct kernel_entry *entry, struct tz_error *err);

#endif
