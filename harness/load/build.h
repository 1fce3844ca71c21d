/*
 * Compiles driver sources for the guest with the system's compiler.  Sources
 * are read where they stand and never changed; the objects depend on the bytes
 * of the sources and headers and on the compiler, not on any path.
 */
#ifndef TOPAZ_HARNESS_LOAD_BUILD_H
#define TOPAZ_HARNESS_LOAD_BUILD_H

#include "emu/base.h"

#define BUILD_SHA256_BYTES 65 /* 64 digits and a NUL */

/* A module that the kernel interface itself brings: the OS's framework. */
struct build_module {
	char *name;
	char **source; /* NULL-terminated, absolute */
	char *tree; /* the folder of its sources in a tree of the OS, or NULL */
};

/* An OS's kernel interface, as its kpi.json describes it. */
struct build_kpi {
	char *os;
	char **include;      /* folders, absolute */
	char **cflags;       /* as they are */
	char **tree_include; /* patterns below its sys/: headers that a tree replaces */
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
	const char *cc;   /* NULL: gcc */
	const char *tree; /* absolute: the user's own OS sources, or NULL */
	const char *root; /* absolute: topaz's own files */
	const char *dir;  /* absolute: existing folder for objects */
	bool invariants;  /* -DINVARIANTS */
};

/*
 * Compiles SOURCES (NULL-terminated) into DIR/NAME.o, whose path *object gives,
 * to be freed.  -TZ_EUSAGE: a source is missing or does not compile (the
 * compiler has said why on standard error); -TZ_EIO: the compiler cannot be
 * run.
 */
int build_object(const struct build_kpi *kpi,
    const struct build_options *options, const char *name, char *const *sources,
    char **object, struct tz_error *err);

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
