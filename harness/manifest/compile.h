/* Resolves the names of a manifest.  Private to harness/manifest. */
#ifndef TOPAZ_HARNESS_MANIFEST_COMPILE_H
#define TOPAZ_HARNESS_MANIFEST_COMPILE_H

#include "harness/manifest/model.h"

struct compiler {
	struct manifest *manifest;
	const char *path, *text;
	size_t text_bytes;
	const char *suffix; /* of the instance; NULL: no instance */
	char where[128];    /* a path for position_find() */
	struct tz_error *err;
};

/* compile_names.c: */

/* -TZ_EFORMAT, at the place that compile_at() set last. */
int compile_error(const struct compiler *compiler, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void compile_at(struct compiler *compiler, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The number of the slot NAME; adds the slot if it is new. */
int compile_slot(struct compiler *compiler, const char *name, uint16_t *slot);
/* The same, after all results were added: a NAME that is not a result is an error. */
int compile_known_slot(
    struct compiler *compiler, const char *name, uint16_t *slot);
/* The mask of the states NAMES, which are the list KEY below the place; adds new states. */
int compile_states(struct compiler *compiler, const char *key,
    char *const *names, unsigned count, uint64_t *mask);
/* The same, after all initial and given states were added: other states are an error. */
int compile_known_states(struct compiler *compiler, const char *key,
    char *const *names, unsigned count, uint64_t *mask);

/* compile_ops.c: the operations, which refer to slots and states. */
int compile_ops(struct compiler *compiler);

/*
 * compile.c: compiles MANIFEST from its schema, which was read
 * from TEXT, the content of PATH.
 * -TZ_EFORMAT: a name refers to nothing, with its place; -TZ_EIO: out of memory.
 */
int manifest_compile(struct manifest *manifest, const char *path,
    const char *text, size_t text_bytes, struct tz_error *err);

#endif
