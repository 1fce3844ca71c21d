/*
 * The drivers that topaz knows how to run: each a folder NAME with a
 * driver.yaml (its format: harness/manifest/README.md).  Here: what building and
 * running one needs; operations and scenarios are manifest.h's.
 */
#ifndef TOPAZ_HARNESS_DRIVERS_H
#define TOPAZ_HARNESS_DRIVERS_H

#include "emu/base/base.h"
#include "harness/manifest/words.h"

#define DRIVER_DEFAULT      "insntrace"
#define DRIVER_SOURCES_MAX  32
#define DRIVER_DEFAULTS_MAX 16

struct driver {
	struct schema *schema; /* owns all strings but the sources, path */
	char *path;            /* of its driver.yaml */
	const char *name, *title, *os, *module, *owner;
	const char *tree_source;              /* relative to it, or "" */
	char *source[DRIVER_SOURCES_MAX + 1]; /* absolute, NULL-terminated */
	size_t source_count;
	char **flags; /* further ones for the compiler; NULL: none */
	bool cpu_mode, thread_mode;
	struct driver_default {
		const char *key, *value;
	} defaults[DRIVER_DEFAULTS_MAX];
	size_t default_count;
};

/*
 * Reads the driver NAME in the folder ROOT.  -TZ_ENOENT: there is none; -TZ_EFORMAT: its
 * driver.yaml is wrong; -TZ_EIO.  To be freed also after an error.
 */
int driver_read(const char *root, const char *name, struct driver *driver,
    struct tz_error *err);

/* Who reads the guest's command line in a run of DRIVER. */
struct word_readers driver_readers(const struct driver *driver);

struct paths;
/*
 * Are there the kernel, the programs and the words that DRIVER names?  -TZ_EFORMAT: no,
 * with the place in its driver.yaml; -TZ_EIO.
 */
int driver_check(const struct driver *driver, const struct paths *paths,
    struct tz_error *err);

/*
 * Takes the source of a driver that has a "tree_source", and no other, from
 * TREE.  -TZ_EUSAGE: it is not there; -TZ_EIO.
 */
int driver_use_tree(
    struct driver *driver, const char *tree, struct tz_error *err);
void driver_free(struct driver *driver);

/* Names of all drivers, sorted; the list and each of it are to be freed. */
int driver_names(
    const char *root, char ***names, size_t *count, struct tz_error *err);

#endif
