/*
 * Compiles driver sources for the guest with the system's compiler.  Sources
 * are read where they stand and never changed; the objects depend on the bytes
 * of the sources and headers and on the compiler, not on any path.
 */
#ifndef TOPAZ_HARNESS_LOAD_BUILD_H
#define TOPAZ_HARNESS_LOAD_BUILD_H

#include "emu/base/base.h"

#define BUILD_SHA256_BYTES 65 /* 64 digits and a NUL */

/* What the names of a driver's own files begin with, as compiled; those of topaz's
 * and of an OS's tree begin otherwise. */
#define BUILD_OWN_PREFIX "./"

/* A module that the kernel interface itself brings: the OS's framework. */
struct build_module {
	char *name;
	char **source; /* NULL-terminated, absolute */
	char *tree; /* the folder of its sources in a tree of the OS, or NULL */
};

/* An OS's kernel interface, as its kpi.json describes it. */
struct build_kpi {
	char *os;
	char **include; /* folders, absolute */
	char **cflags;  /* as they are */
	char **
	    tree_include; /* patterns below its sys/: headers that a tree replaces */
	struct build_module *module;
	size_t module_count;
};

/*
 * Reads ROOT/harness/kpi/OS/kpi.json.  -TZ_ENOENT: there is none; -TZ_EFORMAT:
 * it is not as described here, with line or key; -TZ_EIO.
 */
int build_kpi_read(const char *root, const char *os, struct build_kpi **kpi,
    struct tz_error *err);
void build_kpi_free(struct build_kpi *kpi);

struct build_options {
	const char *cc;   /* NULL: gcc; one with a '/' is relative to here */
	unsigned seconds; /* of processor time for each source; 0:
			     BUILD_SECONDS */
	const char *tree; /* absolute: the user's own OS sources, or NULL */
	const char *root; /* absolute: topaz's own files */
	const char *dir;  /* absolute: existing folder for objects */
	bool invariants;  /* -DINVARIANTS */
	/*
	 * The source REPLACED (a path of realpath(3)) is read from the file
	 * REPLACEMENT, as if that stood in its place; or NULL.
	 */
	const char *replaced, *replacement;
};

/* What the compiler may use, each of its processes. */
#define BUILD_SECONDS      5
#define BUILD_SECONDS_MAX  3600
#define BUILD_MEMORY_BYTES (UINT64_C(2) << 30)
#define BUILD_FILE_BYTES   (UINT64_C(256) << 20)
#define BUILD_SAID_BYTES   (UINT64_C(64) << 10) /* of diagnostics, in all */

/* One object: its name, its sources, and further compiler flags. */
struct build_unit {
	const char *name;
	char *const *source; /* NULL-terminated */
	char *const *flag;   /* NULL-terminated, or NULL: none */
};

/*
 * Compiles UNIT into DIR/NAME.o, whose path *object gives, to be freed.
 * -TZ_EUSAGE: a source is missing or does not compile (the compiler has said why
 * on standard error), or not within the limits above; -TZ_EIO: the compiler cannot
 * be run; -TZ_ESTOP.
 */
int build_object(const struct build_kpi *kpi,
    const struct build_options *options, const struct build_unit *unit,
    char **object, struct tz_error *err);

/*
 * The compiler's command line for UNIT without its sources, for
 * build_strings_free().  NULL: no memory, or an error as of build_object().
 */
char **build_arguments(const struct build_kpi *kpi,
    const struct build_options *options, const struct build_unit *unit,
    struct tz_error *err);

/*
 * The sources of a module: of each the one that TREE (absolute, or NULL) has by its
 * name, else topaz's own; then those that only the tree's folder has, in the order
 * of their names.  Returns a NULL-terminated list for build_strings_free, or NULL:
 * no memory.
 */
char **build_module_sources(
    const struct build_module *module, const char *tree);

/*
 * What TREE replaces: headers and sources by their names in the tree, one behind the
 * other; an empty list if it has none of them.  To be freed as above.
 */
char **build_tree_files(const struct build_kpi *kpi, const char *tree);
void build_strings_free(char **strings);

/*
 * SHA-256 in hexadecimal of files (NULL-terminated list), one after the other.
 * -TZ_EUSAGE: one cannot be read; -TZ_EIO.
 */
int build_sha256(
    char *const *paths, char digest[BUILD_SHA256_BYTES], struct tz_error *err);

#endif
