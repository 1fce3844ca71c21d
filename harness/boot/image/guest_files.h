/*
 * Files of the host for a guest that runs Linux: into an archive (cpio), each with the
 * shared objects that it needs.
 */
#ifndef TOPAZ_HARNESS_BOOT_IMAGE_GUEST_FILES_H
#define TOPAZ_HARNESS_BOOT_IMAGE_GUEST_FILES_H

#include "harness/boot/image/cpio.h"

struct guest_files {
	struct cpio *cpio;
	/* Shared objects are first looked for in this folder, as in the root of a file
	 * system; then in that of the host.  NULL: only there. */
	const char *root;
};

/*
 * Adds the file FROM at the guest's path TO, with its mode.  -TZ_ENOENT: FROM or a shared
 * object that it needs does not exist; -TZ_EUSAGE: it is not a regular file;
 * -TZ_EFORMAT: a corrupt ELF file, or one for another machine; -TZ_EIO.
 */
int guest_files_add(const struct guest_files *files, const char *from,
    const char *to, struct tz_error *err);

/*
 * The path on the host of PATH, absolute, in .root or else on the host, of SIZE bytes.
 * False: it is in neither.
 */
bool guest_files_find(const struct guest_files *files, const char *path,
    char *found, size_t size);

#endif
