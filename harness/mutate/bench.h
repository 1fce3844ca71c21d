/*
 * Internals of harness/mutate: the data that all mutants of a run share, and the steps
 * from a mutant to its result.
 */
#ifndef TOPAZ_HARNESS_MUTATE_BENCH_H
#define TOPAZ_HARNESS_MUTATE_BENCH_H

#include "harness/build_set.h"
#include "harness/host/folder/scratch.h"
#include "harness/load/build.h"
#include "harness/load/elf/elf.h"
#include "harness/mutate/record.h"

struct bench {
	struct build_cache *build_cache; /* of the driver itself */
	const struct mutate_list *list;
	const struct mutate_options *options;
	const struct mutate_baseline *baseline; /* NULL until it is known */
	char scratch[TREE_PATH_BYTES];          /* a folder; "": none yet */
	struct build_kpi *kpi;
	char *tree;
	struct bench_base { /* without and with INVARIANTS */
		const struct build_set *set;
		char **object; /* of each source and part of the driver */
		struct elf_digest *digest;
	} base[2];
};

/* syntax/find.c: how the driver of BUILD_CACHE is compiled; .dir is not set. */
int bench_read_build(struct build_cache *build_cache, struct build_kpi **kpi,
    char **tree, struct build_options *build, struct tz_error *err);

/*
 * compile.c: compiles the driver, source by source.  Errors as for build_object().  The
 * caller closes BENCH also after an error.
 */
int bench_open(struct bench *bench, struct build_cache *build_cache,
    const struct mutate_list *list, struct tz_error *err);
void bench_close(struct bench *bench);

/*
 * compile.c: creates the folder DIR and compiles MUTANT there.  *CLASS: equivalent, not
 * compiled, or survived (not killed yet).  If survived, DIR has all objects, for
 * build_cache_config.
 */
int bench_compile(const struct bench *bench, const struct mutant *mutant,
    const char *dir, enum mutate_class *class, struct tz_error *err);

/*
 * judge.c: determines the result of the mutant that was drawn as number INDEX, with DIR
 * for its files.  False: interrupted.
 */
bool judge_mutant(const struct bench *bench, size_t index, const char *dir,
    struct mutate_result *result);
/* The same for the driver itself; RESULT has room for each mutant's coverage. */
int judge_baseline(const struct bench *bench, struct mutate_baseline *baseline,
    struct mutate_result *result, struct tz_error *err);

/*
 * cover.c: which scenarios and sequences execute the lines that each mutant changes.
 */
struct cover;
struct cover *cover_create(
    const struct mutate_list *list, struct mutate_result *result);
/* As campaign_options.reached; ARG is the struct cover. */
void cover_reached(void *arg, struct runner *runner,
    const struct campaign_entry *entry, const struct reach *reach);
/* The numbers of scenarios and sequences that were reported to COVER. */
void cover_counts(
    const struct cover *cover, uint64_t *scenarios, uint64_t *sequences);
void cover_destroy(struct cover *cover);

/*
 * store.c: the file of results, from which an interrupted run resumes.  -TZ_EUSAGE: it has
 * results of another command, or another process writes it; -TZ_EFORMAT: FILE:LINE is not
 * a result; -TZ_EIO.
 */
struct store;
int store_open(const struct bench *bench, struct mutate_run *run,
    struct store **store, struct tz_error *err);
/* Adds a line and drops the reference to JSON. */
int store_add(struct store *store, json_t *json, struct tz_error *err);
/* Rewrites the file with all results of RUN, in order. */
int store_finish(struct store *store, const struct bench *bench,
    const struct mutate_run *run, struct tz_error *err);
void store_close(struct store *store);
/* The first line of the results: everything that they depend on. */
json_t *store_header(const struct bench *bench);

#endif
