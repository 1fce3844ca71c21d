/*
 * The initramfs of a guest of topaz boot: Debian's busybox (static) and, if it is there,
 * perf with its shared objects, and the first process, init.sh.  It has no file of the
 * user's: those go through the host window, so that a snapshot after boot does not depend
 * on them.
 */
#ifndef TOPAZ_HARNESS_BOOT_IMAGE_INITRAMFS_H
#define TOPAZ_HARNESS_BOOT_IMAGE_INITRAMFS_H

#include "harness/boot/image/cpio.h"

/* The kernel's parameter that starts init.sh. */
#define INITRAMFS_PARAMETER "rdinit=/topaz/init"

struct initramfs_plan {
	const char
	    *packages; /* root of unpacked packages; NULL: the host's files */
	struct bytes initrd; /* of the user, which comes first; .at NULL: none */
	uint64_t window_pa;  /* of the host window */
	uint64_t window_bytes;
};

/*
 * The caller frees *OUT.  -TZ_ENOENT: no static busybox, or a shared object of perf is
 * not there; -TZ_EFORMAT; -TZ_EIO.
 */
int initramfs_make(
    const struct initramfs_plan *plan, struct bytes *out, struct tz_error *err);

#endif
