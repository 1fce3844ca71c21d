/*
 * The file of a booted guest: the machine (emu/saved.h) and its console, compressed
 * (traces/bundle/zfile.h), with the text that says what went into it and a digest of all.
 */
#ifndef TOPAZ_HARNESS_BOOT_BOOT_SNAPSHOT_H
#define TOPAZ_HARNESS_BOOT_BOOT_SNAPSHOT_H

#include "emu/saved.h"
#include "harness/boot/image/unpack.h"

struct boot_snapshot {
	/* Everything that went into the guest, in lines; it is the key of the cache. */
	const char *key;
	struct bytes console;
	struct bytes machine; /* of a file that was read: saved_read()'s */
	uint8_t *content;     /* which the two are part of */
};

/*
 * Reads the file PATH into SNAPSHOT, whose .key is set; boot_snapshot_free() frees it.
 * -TZ_ENOENT: there is no such file; -TZ_EFORMAT: it is corrupt, truncated, or of another
 * guest; -TZ_EUSAGE, -TZ_EIO: it cannot be read.
 */
int boot_snapshot_read(
    const char *path, struct boot_snapshot *snapshot, struct tz_error *err);
void boot_snapshot_free(struct boot_snapshot *snapshot);

/*
 * Writes SNAPSHOT, of MACHINE as it is now, to the new file PATH.
 * -TZ_EIO; those of saved_write().
 */
int boot_snapshot_write(const char *path, const struct boot_snapshot *snapshot,
    struct machine *machine, struct tz_error *err);

#endif
