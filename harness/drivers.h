/*
 * The drivers that topaz can run: each is a folder NAME with a driver.yaml (format:
 * harness/manifest/README.md).  This header has what building and running a driver
 * needs; operations and scenarios are in manifest.h.
 */
#ifndef TOPAZ_HARNESS_DRIVERS_H
#define TOPAZ_HARNESS_DRIVERS_H

#include "emu/base/base.h"
#include "harness/manifest/words.h"

#define DRIVER_DEFAULT      "insntrace"
#define DRIVER_SOURCES_MAX  32
#define DRIVER_PARTS_MAX    16
#define DRIVER_DEFAULTS_MAX 16

struct driver {
	struct schema *schema; /* owns all strings except .source and .path */
	char *path;            /* of its driver.yaml */
	const char *name, *title, *os, *module, *owner;
	const char *tree_source;              /* relative to the tree, or "" */
	char *source[DRIVER_SOURCES_MAX + 1]; /* absolute, NULL-terminated */
	size_t source_count;
	/* Ours, compiled with the source, also with one that replaces .source. */
	char *part[DRIVER_PARTS_MAX + 1]; /* as .source */
	size_t part_count;
	char **flags; /* additional compiler flags; NULL: none */
	bool cpu_mode, thread_mode;
	const char *profile; /* of the CPUs, unless the user names one */
	bool no_trace;       /* it does not use Intel PT */
	struct driver_default {
		const char *key, *value;
	} defaults[DRIVER_DEFAULTS_MAX];
	size_t default_count;
};

/*
 * Reads the driver NAME in the folder ROOT.  -TZ_ENOENT: no such driver; -TZ_EFORMAT: its
 * driver.yaml is wrong; -TZ_EIO.  The caller frees DRIVER also after an error.
 */
int driver_read(const char *root, const char *name, struct driver *driver,
    struct tz_error *err);

/* The readers of the guest's boot parameters in a run of DRIVER. */
struct word_readers driver_readers(const struct driver *driver);

struct paths;
/*
 * Checks that the kernel, the programs and the boot parameters that DRIVER names exist.
 * -TZ_EFORMAT: one does not, with the place in driver.yaml; -TZ_EIO.
 */
int driver_check(const struct driver *driver, const struct paths *paths,
    struct tz_error *err);

/*
 * If DRIVER has a "tree_source" and no other source, takes the source from TREE.
 * -TZ_EUSAGE: TREE does not have it; -TZ_EIO.
 */
int driver_use_tree(
    struct driver *driver, const char *tree, struct tz_error *err);
void driver_free(struct driver *driver);

/* Names of all drivers, sorted.  The caller frees the list and each name. */
int driver_names(
    const char *root, char ***names, size_t *count, struct tz_error *err);

#endif
