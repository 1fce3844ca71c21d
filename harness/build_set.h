/*
 * The objects of one run: modules of the OS's kernel interface, the driver, and modules
 * that use it.  They lie in a temporary folder, which build_set_free() removes.
 */
#ifndef TOPAZ_HARNESS_BUILD_SET_H
#define TOPAZ_HARNESS_BUILD_SET_H

#include "harness/load/boot.h"

struct driver;
struct run_options;

#define BUILD_SET_MAX 8

struct build_set {
	char *dir;
	struct boot_part part[BUILD_SET_MAX];
	size_t count;
	size_t driver; /* index of the driver in .part */
};

/*
 * Builds what OPTIONS asks for with topaz's own files in ROOT, and puts the
 * SHA-256 of the driver's source into SHA256.  Errors as in harness/load/build.h.
 * The caller frees SET also after an error.
 */
int build_set_make(struct build_set *set, const struct driver *driver,
    const struct run_options *options, const char *root, char sha256[65],
    struct tz_error *err);
void build_set_free(struct build_set *set);

#endif
