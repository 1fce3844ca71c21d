/* A process of the host that runs sequences on the host's own CPU. */
#ifndef TOPAZ_TESTS_DIFFERENTIAL_NATIVE_H
#define TOPAZ_TESTS_DIFFERENTIAL_NATIVE_H

#include "layout.h"

#include <stdbool.h>

struct native;

struct native *native_create(void);
void native_destroy(struct native *native);

/* COUNT places, at most NATIVE_BATCH, that the process shares. */
#define NATIVE_BATCH 64
struct outcome *native_places(struct native *native);

/*
 * Runs each of the first COUNT places from what it holds, which becomes what it ended
 * with.  False: the process has died; it is started anew.
 */
bool native_run(struct native *native, unsigned count);

#endif
