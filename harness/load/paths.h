/*
 * Where topaz finds its own files: beside its executable in a build folder, under
 * share/topaz once installed.  No environment variable says otherwise.
 */
#ifndef TOPAZ_HARNESS_LOAD_PATHS_H
#define TOPAZ_HARNESS_LOAD_PATHS_H

#include "emu/base.h"

struct paths {
	char *source; /* holds harness/kpi/, harness/guest/, driver/ */
	char *build;  /* holds what was compiled for the guest, same folders */
};

/* -TZ_ENOENT: neither place has them.  To be freed also after an error. */
int paths_find(struct paths *paths, struct tz_error *err);
void paths_free(struct paths *paths);

#endif
