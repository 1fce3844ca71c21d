/* Resolves the names of a manifest.  Private to harness/manifest. */
#ifndef TOPAZ_HARNESS_MANIFEST_COMPILE_H
#define TOPAZ_HARNESS_MANIFEST_COMPILE_H

#include "harness/manifest/model.h"

struct compiler {
	struct manifest *manifest;
	const char *path, *text;
	size_t text_bytes;
	const char *suffix; /* of the instance; NULL: there is none */
	char where[128];    /* as of position_find */
	struct tz_error *err;
};

/* An error in what compile_at() named last. */
int compile_error(const struct compiler *compiler, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void compile_at(struct compiler *compiler, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The number of the slot NAME, a new one if need be. */
int compile_slot(struct compiler *compiler, const char *name, uint16_t *slot);
/* The same, once all results are known: one that is none is an error. */
int compile_known_slot(
    struct compiler *compiler, const char *name, uint16_t *slot);
/* The mask of the states NAMES, the list at KEY below the place. */
int compile_states(struct compiler *compiler, const char *key,
    char *const *names, unsigned count, uint64_t *mask);
/* The same, once all are known that hold at first or are given. */
int compile_known_states(struct compiler *compiler, const char *key,
    char *const *names, unsigned count, uint64_t *mask);
int compile_ops(struct compiler *compiler);

/*
 * MANIFEST has its schema, which TEXT in PATH said.  -TZ_EFORMAT: a name that
 * refers to nothing, and where; -TZ_EIO: out of memory.
 */
int manifest_compile(struct manifest *manifest, const char *path,
    const char *text, size_t text_bytes, struct tz_error *err);

#endif
