/*
 * The options that choose a driver and how it is compiled: run, explore, faults, ci and
 * replay share them.
 */
#ifndef TOPAZ_HARNESS_CMD_DRIVER_OPTIONS_H
#define TOPAZ_HARNESS_CMD_DRIVER_OPTIONS_H

#include <argp.h>

#include "emu/base/base.h"

struct driver_input {
	const char *source, *tree, *cc; /* NULL: the driver's own, none, gcc */
	const char *drivers; /* folder with DRIVER/driver.yaml; NULL: topaz's */
	unsigned cc_seconds; /* 0: BUILD_SECONDS */
	bool verbose;
};

/* Its input is a struct driver_input. */
extern const struct argp driver_argp;

#endif
