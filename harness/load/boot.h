/*
 * The content of guest RAM at boot: boot page tables, struct abi_boot with its arrays,
 * the kernel, the modules in order, the programs.  The same input files give the same
 * bytes.
 */
#ifndef TOPAZ_HARNESS_LOAD_BOOT_H
#define TOPAZ_HARNESS_LOAD_BOOT_H

#include "harness/load/elf/image.h"

struct symtab;

struct boot_part {
	const char *name;
	const char *path; /* ELF file */
};

struct boot_request {
	const char *kernel; /* path */
	const struct boot_part *module;
	size_t module_count;
	const struct boot_part *program;
	size_t program_count;
	const char *cmdline; /* boot parameters KEY=VALUE */
	unsigned cpu_count;
	uint64_t tsc_hz;
};

struct boot {
	uint64_t entry;   /* RIP of CPU 0 */
	uint64_t info_va; /* its RDI: struct abi_boot in the direct map */
	struct gpa cr3;
	struct image *image; /* the kernel, then modules, then programs */
	size_t image_count;
	struct symtab *exports; /* symbols that modules may link against */
};

/*
 * Fills RAM, which must be zero.  Errors as in elf/elf.h, and -TZ_EUSAGE if the arrays or
 * the command line do not fit below the kernel.  The caller frees BOOT also after an
 * error.
 */
int boot_load(const struct boot_request *request, uint8_t *ram,
    uint64_t ram_bytes, struct boot *boot, struct tz_error *err);
void boot_free(struct boot *boot);

#endif
