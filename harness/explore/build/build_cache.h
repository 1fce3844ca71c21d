/*
 * A driver: its manifest, its CPU models, and its objects, which are compiled once.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_BUILD_BUILD_CACHE_H
#define TOPAZ_HARNESS_EXPLORE_BUILD_BUILD_CACHE_H

#include "harness/manifest/manifest.h"

struct build_cache;

/* Configuration that all runners of a driver share. */
struct build_cache_config {
	const char *driver;
	const char *source, *tree, *cc; /* NULL: the driver's own; none; gcc */
	unsigned cc_seconds; /* time limit for gcc; 0: the default of build.h */
	const char *drivers; /* folder with DRIVER/driver.yaml; NULL: topaz's */
	const char *profile; /* as in emu/profile/cpu_set.h */
	const char *errata;  /* further errata keys, comma-separated, or NULL */
	/* a folder that build_cache_keep() filled: nothing is compiled; or NULL */
	const char *objects;
	bool verbose; /* copies the guest's console to standard error */
};

/* Compiles nothing yet.  Errors as of run_driver (harness/run.h). */
int build_cache_open(const struct build_cache_config *config,
    struct build_cache **build_cache, struct tz_error *err);
void build_cache_close(struct build_cache *build_cache);
const struct manifest *build_cache_manifest(
    const struct build_cache *build_cache);
const struct build_cache_config *build_cache_config(
    const struct build_cache *build_cache);
/* The CPU models and their errata, as in tokens and reports. */
const char *build_cache_models(const struct build_cache *build_cache);
const char *build_cache_sha256(const struct build_cache *build_cache);
/* The frequency of the machine's TSC in Hz. */
uint64_t build_cache_tsc_hz(const struct build_cache *build_cache);
/* The path of the driver's first source; NULL: precompiled, without sources. */
const char *build_cache_source(const struct build_cache *build_cache);
/*
 * The path of the driver's file that was compiled as NAME ("./grab.c"); the caller
 * frees it.  NULL: no such file.
 */
char *build_cache_find_source(
    const struct build_cache *build_cache, const char *name);
/*
 * The CHECK field of tokens: a checksum of objects, manifest and event definitions.
 * Compiles.
 */
int build_cache_check(
    struct build_cache *build_cache, uint16_t *check, struct tz_error *err);

/*
 * Saves the compiled objects in DIRECTORY/objects, so that findings can be replayed
 * where the compiler is another one.  -TZ_EIO.
 */
int build_cache_keep(const struct build_cache *build_cache,
    const char *directory, struct tz_error *err);

/*
 * If ON, a requested end (harness/host/stop.h) also interrupts a run in progress.  A
 * forked process exits at that point; its results are in shared memory.  In other
 * processes, runner_is_cut() reports the interruption.
 */
void build_cache_cut(struct build_cache *build_cache, bool on);

#endif
