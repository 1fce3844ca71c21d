/*
 * Writes an archive in the format newc of cpio, which an initramfs is made of.  The same
 * calls give the same bytes: no time, owner or inode of the host is in it.
 */
#ifndef TOPAZ_HARNESS_BOOT_IMAGE_CPIO_H
#define TOPAZ_HARNESS_BOOT_IMAGE_CPIO_H

#include "harness/boot/image/unpack.h"

struct cpio;

/* NULL: no memory. */
struct cpio *cpio_create(void);
void cpio_destroy(struct cpio *cpio);

/*
 * Adds a regular file, a folder, a symbolic link.  PATH is absolute; folders on the way
 * to it are added when they are new.  A path that exists already is not added twice: the
 * first one stays.  An error is kept until cpio_finish().
 */
void cpio_add_file(
    struct cpio *cpio, const char *path, unsigned mode, struct bytes content);
void cpio_add_folder(struct cpio *cpio, const char *path);
void cpio_add_link(struct cpio *cpio, const char *path, const char *target);

/* True if PATH has been added. */
bool cpio_has(const struct cpio *cpio, const char *path);

/*
 * The archive, which CPIO owns; nothing can be added afterwards.  -TZ_EIO: no memory;
 * -TZ_EUSAGE: a path that is not absolute or too long.
 */
int cpio_finish(struct cpio *cpio, struct bytes *archive, struct tz_error *err);

#endif
