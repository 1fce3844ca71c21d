/*
 * A Linux kernel for x86-64 as users have it: a bzImage, a vmlinux ELF file, or a .deb or
 * .rpm package with one of them.  Nothing is changed: the payload of a bzImage is
 * decompressed, as its own first part would do.
 *
 * Source: Linux, Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header".
 */
#ifndef TOPAZ_HARNESS_BOOT_IMAGE_KERNEL_FILE_H
#define TOPAZ_HARNESS_BOOT_IMAGE_KERNEL_FILE_H

#include "harness/boot/image/unpack.h"

#define KERNEL_VERSION_BYTES 128

struct kernel_file {
	struct bytes vmlinux; /* an ELF file */
	struct bytes setup; /* the bzImage; .at NULL: the file was a vmlinux */
	/* The first words of the bzImage's version; "" for a vmlinux. */
	char version[KERNEL_VERSION_BYTES];
};

/* -TZ_EFORMAT: FILE, the content of PATH, does not begin as a kernel or a package does. */
int kernel_file_check(
    const char *path, const struct bytes *file, struct tz_error *err);

/*
 * Unpacks FILE, the content of PATH.  The caller frees IMAGE also after an error.
 * -TZ_EFORMAT: it is not a kernel, a 32-bit one, or corrupt; -TZ_EIO.
 */
int kernel_file_unpack(const char *path, struct bytes file,
    struct kernel_file *image, struct tz_error *err);
void kernel_file_free(struct kernel_file *image);

#endif
