/*
 * The archive that a booted guest unpacks: its script, or that of a shell on the console,
 * the user's files, and the list of the files that it sends back at the end.
 */
#ifndef TOPAZ_HARNESS_BOOT_GUEST_ARCHIVE_H
#define TOPAZ_HARNESS_BOOT_GUEST_ARCHIVE_H

#include "harness/boot/image/cpio.h"
#include "harness/boot/linux_guest.h"

/*
 * Fills ARCHIVE as OPTIONS say.  Errors of input_read() for
 * the script, of guest_files_add().
 */
int guest_archive_fill(struct cpio *archive,
    const struct linux_guest_options *options, struct tz_error *err);

#endif
