/*
 * A machine's snapshot as bytes, which another process loads: registers, devices, pending
 * events, and the pages of RAM that are not 0.  It has no address of a process in it:
 * equal machines give equal bytes.
 *
 * The bytes are meant for the same program with the same version of the engine: a
 * file that holds them also has to name both.  They are not checked for damage here,
 * except that nothing outside of them is read.
 */
#ifndef TOPAZ_EMU_SAVED_H
#define TOPAZ_EMU_SAVED_H

#include "emu/machine.h"

struct machine_snapshot;

/* Takes COUNT bytes; what is not 0 ends the writing and is returned. */
typedef int (*saved_sink)(
    void *arg, const void *bytes, size_t count, struct tz_error *err);

/*
 * Writes SNAPSHOT of MACHINE, which was taken when no other one existed.  The machine does
 * not change.  -TZ_EUSAGE: a CPU's trace has had an operational error, whose text cannot
 * be saved; -TZ_EIO: no memory; what SINK returns.
 */
int saved_write(struct machine *machine,
    const struct machine_snapshot *snapshot, saved_sink sink, void *arg,
    struct tz_error *err);

/*
 * Restores what saved_write() has written to a machine that was created with the same
 * configuration and has not been booted.  -TZ_EFORMAT: the bytes are not those of such a
 * machine, or of another version of this program: the machine must be destroyed;
 * -TZ_EIO: no memory.
 */
int saved_read(struct machine *machine, const uint8_t *bytes, size_t count,
    struct tz_error *err);

/* The version of the engine, as one number. */
uint32_t saved_engine_version(void);

#endif
