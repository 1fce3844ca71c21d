/*
 * How good is the bench?  Mutants of a driver's own sources, each compiled in the place
 * of the original and explored as `topaz explore` does; what the exploration shows, and
 * the driver itself does not, kills the mutant.
 *
 * Each mutant is explored by one process of its own; any number of them at once gives
 * the same results.  A bound on its time is there for topaz's own bugs: its one effect
 * is a class of its own.
 */
#ifndef TOPAZ_HARNESS_MUTATE_MUTATE_H
#define TOPAZ_HARNESS_MUTATE_MUTATE_H

#include "harness/explore/search/campaign.h"
#include "harness/mutate/mutant.h"

/* A source of the driver's. */
struct mutate_source {
	char *path; /* absolute */
	char *name; /* below the folder that all of them are in */
	char *text;
	size_t bytes;
};

struct mutate_list {
	struct mutate_source *source;
	size_t source_count;
	struct mutant_list mutants; /* of all sources, in source order */
	size_t *drawn;              /* indices of those to be run, in order */
	size_t drawn_count;
};

#define MUTATE_ID_BYTES 256
/* "topa.c:serve:delete-call:1": file, owner, operator, number. */
void mutate_id(const struct mutate_list *list, const struct mutant *mutant,
    char id[MUTATE_ID_BYTES]);

/*
 * The mutants of the driver that WORKSHOP has.  -TZ_ENOENT: this topaz was built
 * without libclang; -TZ_EUSAGE: a source cannot be parsed; -TZ_EIO.  LIST is to be freed
 * also after an error.
 */
int mutate_find(struct build_cache *build_cache, struct mutate_list *list,
    struct tz_error *err);
void mutate_list_free(struct mutate_list *list);

/*
 * Chooses COUNT of them (0: all) by SEED, so that operators have as many each, and
 * within an operator functions; of the same seed fewer are a part of more.
 * -TZ_EIO: no memory.
 */
int mutate_draw(struct mutate_list *list, uint64_t seed, size_t count,
    struct tz_error *err);
/* Chooses those that IDS names, by comma.  -TZ_EUSAGE: there is none of that id. */
int mutate_choose(
    struct mutate_list *list, const char *ids, struct tz_error *err);

enum mutate_class {
#define CLASS(id, name, text) MUTATE_##id,
#include "harness/mutate/syntax/class.def"
#undef CLASS
	MUTATE_CLASSES,
};
const char *mutate_class_name(enum mutate_class class);
const char *mutate_class_text(enum mutate_class class);
/* The class NAME; MUTATE_CLASSES: none. */
enum mutate_class mutate_class_find(const char *name);

/* What became of one mutant. */
struct mutate_result {
	enum mutate_class class;
	bool known;         /* it has been run */
	char *check;        /* that killed it, or NULL */
	char *message;      /* of the check, the compiler, the model; or NULL */
	char *kinds;        /* of the deviations that it took, or NULL */
	char *subject;      /* scenario or steps, or NULL */
	uint64_t schedules; /* that were run */
	bool has_code;      /* the lines that the edit changes have code */
	uint64_t scenarios,
	    sequences; /* that execute it in the default schedule */
};

/* The driver itself, as far as mutants are compared with it. */
struct mutate_baseline {
	bool known;
	uint64_t *cause; /* of its findings, and of what was not judged */
	size_t cause_count;
	uint64_t schedules, scenarios, sequences; /* that were run */
};

struct mutate_options {
	struct campaign_options campaign; /* .jobs: of the baseline alone */
	unsigned jobs;                    /* mutants at once */
	unsigned seconds_max;             /* of one exploration */
	/* Whatever else results depend on: they resume with the same alone. */
	const struct mutate_setting {
		const char *name, *value;
	} * setting;        /* up to a NULL name */
	const char *output; /* folder for results.jsonl; NULL: none */
	/* Hears of the baseline (INDEX SIZE_MAX) and of each mutant, as they end. */
	void (*progress)(void *arg, size_t done, size_t index,
	    const struct mutate_result *result);
	void *progress_arg;
};

struct mutate_run {
	struct mutate_baseline baseline;
	struct mutate_result *result; /* of each that was drawn */
	bool interrupted;
};

/*
 * Explores the driver of CONFIG, which WORKSHOP has, then its mutants.  What
 * .output has of the same command is taken as it is.  -TZ_EUSAGE: it has results of
 * another one; the driver does not compile; -TZ_EIO; else as of campaign_run() for the
 * driver itself.  RUN is to be freed also after an error.
 */
int mutate_run(struct build_cache *build_cache, const struct mutate_list *list,
    const struct mutate_options *options, struct mutate_run *run,
    struct tz_error *err);
void mutate_run_free(struct mutate_run *run, const struct mutate_list *list);

/* How many of each class; the score in tenths of a percent, -1: nothing to judge. */
struct mutate_score {
	size_t count[MUTATE_CLASSES];
	size_t all;
	int tenths;
};
void mutate_score(const struct mutate_list *list, const struct mutate_run *run,
    struct mutate_score *score);

#endif
