/*
 * Runs a guest of harness/boot for a command: its script's output goes to standard output,
 * a bad end to standard error.
 */
#ifndef TOPAZ_HARNESS_CMD_GUEST_GUEST_RUN_H
#define TOPAZ_HARNESS_CMD_GUEST_GUEST_RUN_H

#include "harness/boot/linux_guest.h"

/* For linux_guest_give(): the script's output to standard output. */
void guest_run_print(void *arg, const char *text, size_t count);

/*
 * Says how GUEST ended, if it did not come to the end of its script, and returns the exit
 * code: the script's where it has ended.
 */
int guest_run_end(struct linux_guest *guest,
    const struct linux_guest_state *state, bool booted);

/* Called when GUEST has booted, before it gets its files; an error ends the run. */
typedef int (*guest_booted)(
    void *arg, struct linux_guest *guest, struct tz_error *err);

/*
 * Runs GUEST to its end; ON_BOOTED may be NULL.  *CODE: the exit code, that of the script
 * where it has ended.  Errors as of linux_guest_run().
 */
int guest_run_all(struct linux_guest *guest, guest_booted on_booted, void *arg,
    int *code, struct tz_error *err);

/*
 * A line for each MSR, port and breakpoint of I/O that nothing models, with its first
 * place; to be freed.  NULL: out of memory.
 */
char *guest_run_unknowns(struct linux_guest *guest, size_t *count);

#endif
