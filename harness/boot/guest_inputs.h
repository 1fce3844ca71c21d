/*
 * What a guest is made of: the files that its options name, and the text that names all
 * of it, by which a snapshot after boot is found again.
 */
#ifndef TOPAZ_HARNESS_BOOT_GUEST_INPUTS_H
#define TOPAZ_HARNESS_BOOT_GUEST_INPUTS_H

#include "emu/profile/cpu_set.h"
#include "harness/boot/image/unpack.h"
#include "harness/boot/linux_guest.h"
#include "harness/host/folder/cache.h"

struct guest_inputs {
	const struct linux_guest_options *options;
	struct cpu_set cpu_set;
	struct bytes kernel;    /* the file */
	struct bytes initramfs; /* the user's initrd included */
	char cmdline[2048];
};

/*
 * Checks OPTIONS, which must outlive INPUTS, and reads kernel, initrd and the initramfs'
 * files.  guest_inputs_free() frees INPUTS also after an error.  -TZ_EUSAGE, -TZ_ENOENT,
 * -TZ_EFORMAT: bad input, in one line; -TZ_EIO.
 */
int guest_inputs_read(struct guest_inputs *inputs,
    const struct linux_guest_options *options, struct tz_error *err);
void guest_inputs_free(struct guest_inputs *inputs);

/* Unpacks the kernel, loads it into MACHINE and sets it to its entry.  Errors as above. */
int guest_inputs_load(const struct guest_inputs *inputs,
    struct machine *machine, struct tz_error *err);

/* The physical address of the host window. */
uint64_t guest_inputs_window_pa(const struct guest_inputs *inputs);

/*
 * Everything that decides the state of the guest after boot, in lines: this program and
 * the engine, the files' digests, the command line, the machine.  The caller frees *TEXT.
 * KEY: a digest of it.  -TZ_EIO.
 */
int guest_inputs_key(const struct guest_inputs *inputs, char **text,
    char key[CACHE_KEY_BYTES], struct tz_error *err);

#endif
