/*
 * The inside of harness/mutate: what all mutants of a run share, and the steps from one
 * of them to its result.
 */
#ifndef TOPAZ_HARNESS_MUTATE_BENCH_H
#define TOPAZ_HARNESS_MUTATE_BENCH_H

#include "harness/build_set.h"
#include "harness/host/scratch.h"
#include "harness/load/build.h"
#include "harness/load/elf/elf.h"
#include "harness/mutate/record.h"

struct bench {
	struct build_cache *build_cache; /* of the driver itself */
	const struct mutate_list *list;
	const struct mutate_options *options;
	const struct mutate_baseline *baseline; /* once it is known */
	char scratch[TREE_PATH_BYTES];          /* a folder; "": none yet */
	struct build_kpi *kpi;
	char *tree;
	struct bench_base { /* without and with INVARIANTS */
		const struct build_set *set;
		char **object; /* of each source */
		struct elf_digest *digest;
	} base[2];
};

/* syntax/find.c: what WORKSHOP's driver is compiled with, but for .dir. */
int bench_read_build(struct build_cache *build_cache, struct build_kpi **kpi,
    char **tree, struct build_options *build, struct tz_error *err);

/*
 * compile.c: compiles the driver, source by source.  Errors as of build_object().  BENCH is to
 * be closed also after an error.
 */
int bench_open(struct bench *bench, struct build_cache *build_cache,
    const struct mutate_list *list, struct tz_error *err);
void bench_close(struct bench *bench);

/*
 * compile.c: compiles MUTANT in the folder DIR, which is made; *CLASS: equivalent,
 * not compiled, or survived so far: then DIR has all objects, for build_cache_config.
 */
int bench_compile(const struct bench *bench, const struct mutant *mutant,
    const char *dir, enum mutate_class *class, struct tz_error *err);

/*
 * judge.c: what becomes of the mutant that was drawn as number INDEX, with DIR for its
 * files.  False: interrupted.
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
/* How many scenarios and sequences it has heard of. */
void cover_counts(
    const struct cover *cover, uint64_t *scenarios, uint64_t *sequences);
void cover_destroy(struct cover *cover);

/*
 * store.c: the file of results, which a run that is started again goes on with.
 * -TZ_EUSAGE: it has results of another command, or another process writes it;
 * -TZ_EFORMAT: FILE:LINE is no result; -TZ_EIO.
 */
struct store;
int store_open(const struct bench *bench, struct mutate_run *run,
    struct store **store, struct tz_error *err);
/* Adds a line; drops JSON. */
int store_add(struct store *store, json_t *json, struct tz_error *err);
/* Writes all of RUN once more, in order. */
int store_finish(struct store *store, const struct bench *bench,
    const struct mutate_run *run, struct tz_error *err);
void store_close(struct store *store);
/* What results depend on, as the first line of them. */
json_t *store_header(const struct bench *bench);

#endif
