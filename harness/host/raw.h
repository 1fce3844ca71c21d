/*
 * Standard input as a terminal in raw mode: each key arrives at once and as it is, also
 * those that send signals otherwise.  The terminal is as before when the process ends, by
 * exit(3), an assertion or a signal; after SIGKILL it is not.
 */
#ifndef TOPAZ_HARNESS_HOST_RAW_H
#define TOPAZ_HARNESS_HOST_RAW_H

#include <stdbool.h>

/* False: standard input is not a terminal, or cannot be changed. */
bool raw_enter(void);

/* As it was before raw_enter(); no effect without that.  Async-signal-safe. */
void raw_leave(void);

/* Lines and columns of the terminal; 0: not known. */
void raw_size(unsigned *lines, unsigned *columns);

#endif
