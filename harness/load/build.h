/*
 * Compiles driver sources for the guest with the system's compiler.  Sources are read in
 * place and never changed.  The objects depend on the bytes of the sources and headers
 * and on the compiler, not on any path.
 */
#ifndef TOPAZ_HARNESS_LOAD_BUILD_H
#define TOPAZ_HARNESS_LOAD_BUILD_H

#include "emu/base/base.h"

#define BUILD_SHA256_BYTES 65 /* 64 digits and a NUL */

/*
 * Prefix of the names of a driver's own files, as compiled.  The names of topaz's files
 * and of an OS tree's files do not have it.
 */
#define BUILD_OWN_PREFIX "./"

/* A module of the kernel interface itself: the OS's framework. */
struct build_module {
	char *name;
	char **source;     /* NULL-terminated, absolute */
	char *tree;        /* folder of its sources in an OS tree, or NULL */
	bool after_driver; /* loaded after the driver, which it calls */
};

/* An OS's kernel interface, as its kpi.json describes it. */
struct build_kpi {
	char *os;
	char **include; /* folders, absolute */
	char **cflags;  /* passed unchanged */
	char **
	    tree_include; /* patterns in the tree's sys/: headers it replaces */
	struct build_module *module;
	size_t module_count;
};

/*
 * Reads ROOT/harness/kpi/OS/kpi.json.  -TZ_ENOENT: no such file; -TZ_EFORMAT: the content
 * does not fit struct build_kpi, with line or key; -TZ_EIO.
 */
int build_kpi_read(const char *root, const char *os, struct build_kpi **kpi,
    struct tz_error *err);
void build_kpi_free(struct build_kpi *kpi);

struct build_options {
	/* NULL: gcc; with a '/': a path from the current folder. */
	const char *cc;
	unsigned seconds; /* of processor time for each source; 0:
			     BUILD_SECONDS */
	const char *tree; /* absolute: the user's own OS sources, or NULL */
	const char *root; /* absolute: topaz's own files */
	const char *dir;  /* absolute: existing folder for objects */
	bool invariants;  /* -DINVARIANTS */
	/*
	 * The compiler reads the file .replacement in place of the source .replaced (as
	 * realpath(3) names it); NULL: no replacement.
	 */
	const char *replaced, *replacement;
};

/* Limits of each process of the compiler. */
#define BUILD_SECONDS      5
#define BUILD_SECONDS_MAX  3600
#define BUILD_MEMORY_BYTES (UINT64_C(2) << 30)
#define BUILD_FILE_BYTES   (UINT64_C(256) << 20)
#define BUILD_SAID_BYTES   (UINT64_C(64) << 10) /* diagnostics, in total */

/* One object: its name, its sources, and additional compiler flags. */
struct build_unit {
	const char *name;
	char *const *source; /* NULL-terminated */
	char *const *flag;   /* NULL-terminated, or NULL: none */
};

/*
 * Compiles UNIT into DIR/NAME.o; *object is its path, which the caller frees.
 * -TZ_EUSAGE: a source is missing or does not compile (the compiler has printed the cause
 * to standard error), or exceeds the limits above; -TZ_EIO: the compiler cannot be run;
 * -TZ_ESTOP.
 */
int build_object(const struct build_kpi *kpi,
    const struct build_options *options, const struct build_unit *unit,
    char **object, struct tz_error *err);

/*
 * Makes one object of PARTS, DIR/NAME.o, by a partial link.  The rest as build_object(),
 * which links the objects of several sources in the same way.
 */
int build_link(const struct build_options *options, const char *name,
    char *const *parts, char **object, struct tz_error *err);

/*
 * The compiler's command line for UNIT without its sources, to be freed with
 * build_strings_free().  NULL: no memory, or an error as for build_object().
 */
char **build_arguments(const struct build_kpi *kpi,
    const struct build_options *options, const struct build_unit *unit,
    struct tz_error *err);

/*
 * The sources of a module.  For each source: the file of that name in TREE (absolute, or
 * NULL), or topaz's own if TREE does not have it.  Then the sources that only the tree's
 * folder has, sorted by name.  Returns a NULL-terminated list for build_strings_free(), or
 * NULL: no memory.
 */
char **build_module_sources(
    const struct build_module *module, const char *tree);

/*
 * The headers and sources that TREE replaces, as their names in the tree; an empty list if
 * it replaces none.  To be freed with build_strings_free().
 */
char **build_tree_files(const struct build_kpi *kpi, const char *tree);
void build_strings_free(char **strings);

/*
 * SHA-256 in hexadecimal of the concatenated files (NULL-terminated list).
 * -TZ_EUSAGE: one cannot be read; -TZ_EIO.
 */
int build_sha256(
    char *const *paths, char digest[BUILD_SHA256_BYTES], struct tz_error *err);

#endif
