/*
 * The user's end of the guest's console.  Where standard input is a terminal, each key
 * goes to the guest and BOOT_CONSOLE_KEY ends the machine; the guest's time then passes
 * no faster than the host's, and what happens depends on when the keys came.  Else all
 * text of standard input is read first.  A line of it is typed whenever the guest waits,
 * and then Ctrl-D again and again: the same text gives the same run.
 */
#ifndef TOPAZ_HARNESS_CMD_GUEST_BOOT_CONSOLE_H
#define TOPAZ_HARNESS_CMD_GUEST_BOOT_CONSOLE_H

#include "harness/boot/linux_guest.h"

#define BOOT_CONSOLE_KEY      0x1d
#define BOOT_CONSOLE_KEY_NAME "Ctrl-]"

struct boot_console;

/*
 * Reads the text; the terminal stays as it is.  -TZ_EUSAGE: more than 64 MiB; -TZ_EIO;
 * -TZ_ESTOP: the user asked to stop.
 */
int boot_console_open(struct boot_console **console, struct tz_error *err);
/* The terminal is again as it was. */
void boot_console_close(struct boot_console *console);

/* True if standard input is a terminal. */
bool boot_console_is_terminal(const struct boot_console *console);

/* GUEST is booted: its console is that of the user from here on. */
void boot_console_attach(
    struct boot_console *console, struct linux_guest *guest);

/* After a slice of the guest; IDLE: it waits.  False: the user has ended the machine. */
bool boot_console_serve(struct boot_console *console, bool idle);

#endif
