/* A machine that runs sequences in user mode. */
#ifndef TOPAZ_TESTS_DIFFERENTIAL_EMULATED_H
#define TOPAZ_TESTS_DIFFERENTIAL_EMULATED_H

#include "layout.h"

#include <stdbool.h>

struct emulated;

/* STEP: one instruction at a time.  Exits with a message where it cannot. */
struct emulated *emulated_create(const char *kernel, bool step);
void emulated_destroy(struct emulated *emulated);

/*
 * Runs from what RESULT holds, which becomes what it ended with.  NULL, or why the
 * machine ended the run (a text that stands until the next call): the machine has
 * to be made anew then.
 */
const char *emulated_run(struct emulated *emulated, struct outcome *result);

#endif
