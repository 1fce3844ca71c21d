/*
 * The drivers that topaz knows how to run: one row each.
 */
#ifndef TOPAZ_HARNESS_DRIVERS_H
#define TOPAZ_HARNESS_DRIVERS_H

#include "emu/base.h"

struct driver {
	const char *name;   /* as on the command line */
	const char *title;
	const char *os;     /* whose kernel interface: harness/kpi/OS */
	const char *module; /* name of the module in the guest */
	const char *source; /* below topaz's own files; NULL: the user's */
	const char *modes;  /* words: "cpu thread" */
};

/* The driver of that name, or NULL. */
const struct driver *driver_find(const char *name);

/* The INDEX-th driver, or NULL past the last; the first is the default. */
const struct driver *driver_at(size_t index);

#endif
