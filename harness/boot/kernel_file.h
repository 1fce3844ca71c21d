/*
 * A Linux kernel for x86-64 as users have it: a bzImage, a vmlinux ELF file, or a Debian
 * package with one of them in /boot.  Nothing is changed: the payload of a bzImage is
 * decompressed, as its own first part would do.
 *
 * Source: Linux, Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header".
 */
#ifndef TOPAZ_HARNESS_BOOT_KERNEL_FILE_H
#define TOPAZ_HARNESS_BOOT_KERNEL_FILE_H

#include "harness/boot/unpack.h"

#define KERNEL_VERSION_BYTES 128

struct kernel_file {
	struct bytes vmlinux; /* an ELF file */
	struct bytes setup; /* the bzImage; .at NULL: the file was a vmlinux */
	struct bytes map;   /* System.map of the package; .at NULL: none */
	/* The first words of the bzImage's version; "" for a vmlinux. */
	char version[KERNEL_VERSION_BYTES];
	uint64_t digest; /* of the file */
};

/*
 * Reads PATH.  The caller frees IMAGE also after an error.  -TZ_EUSAGE, -TZ_ENOENT: the
 * file cannot be read; -TZ_EFORMAT: it is not a kernel, a 32-bit one, or corrupt;
 * -TZ_EIO.
 */
int kernel_file_read(
    const char *path, struct kernel_file *image, struct tz_error *err);
void kernel_file_free(struct kernel_file *image);

#endif
