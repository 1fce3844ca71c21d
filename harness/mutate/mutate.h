/*
 * Mutation testing of topaz: which mistakes in a driver would an exploration miss?  Each
 * mutant of the driver's own sources is compiled in place of the original and explored as
 * `topaz explore` does.  A finding that the driver itself does not have kills the mutant.
 *
 * Each mutant is explored by its own process; the number of concurrent processes does not
 * change the results.  The time limit of a process guards against bugs of topaz; a mutant
 * that exceeds it gets a separate class.
 */
#ifndef TOPAZ_HARNESS_MUTATE_MUTATE_H
#define TOPAZ_HARNESS_MUTATE_MUTATE_H

#include "harness/explore/search/campaign.h"
#include "harness/mutate/mutant.h"

/* One of the driver's sources. */
struct mutate_source {
	char *path; /* absolute */
	char *name; /* relative to the common folder of all sources */
	char *text;
	size_t bytes;
};

struct mutate_list {
	struct mutate_source *source;
	size_t source_count;
	struct mutant_list mutants; /* of all sources, in source order */
	size_t *drawn; /* indices of the mutants to run, in order */
	size_t drawn_count;
};

#define MUTATE_ID_BYTES 256
/* "topa.c:serve:delete-call:1": file, owner, operator, number. */
void mutate_id(const struct mutate_list *list, const struct mutant *mutant,
    char id[MUTATE_ID_BYTES]);

/*
 * Finds the mutants of the driver of BUILD_CACHE.  -TZ_ENOENT: this topaz was built without
 * libclang; -TZ_EUSAGE: a source cannot be parsed; -TZ_EIO.  The caller frees LIST also
 * after an error.
 */
int mutate_find(struct build_cache *build_cache, struct mutate_list *list,
    struct tz_error *err);
void mutate_list_free(struct mutate_list *list);

/*
 * Draws COUNT mutants (0: all) by SEED, evenly over the operators, and within an operator
 * evenly over the functions.  With the same seed, a smaller sample is a subset of a larger
 * one.  -TZ_EIO: no memory.
 */
int mutate_draw(struct mutate_list *list, uint64_t seed, size_t count,
    struct tz_error *err);
/* Chooses the mutants of IDS, comma-separated.  -TZ_EUSAGE: an id does not exist. */
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
/* The class NAME; MUTATE_CLASSES: no such class. */
enum mutate_class mutate_class_find(const char *name);

/* The result of one mutant. */
struct mutate_result {
	enum mutate_class class;
	bool known;    /* the mutant has been run */
	char *check;   /* that killed it, or NULL */
	char *message; /* of the check, the compiler, the model; or NULL */
	char *kinds;   /* of the deviations in the killing schedule, or NULL */
	char *subject; /* scenario or steps, or NULL */
	uint64_t schedules; /* that were run */
	bool has_code;      /* the lines that the edit changes have code */
	uint64_t scenarios,
	    sequences; /* that execute it in the default schedule */
};

/* The results of the driver itself, with which mutants are compared. */
struct mutate_baseline {
	bool known;
	uint64_t
	    *cause; /* of its findings and of its runs that were not judged */
	size_t cause_count;
	uint64_t schedules, scenarios, sequences; /* that were run */
};

struct mutate_options {
	struct campaign_options campaign; /* .jobs: of the baseline alone */
	/* What the exploration leaves alive is also run with every fault. */
	bool faults;
	unsigned jobs;        /* mutants at once */
	unsigned seconds_max; /* of one exploration */
	/* All other inputs of the results; a run resumes only if they are equal. */
	const struct mutate_setting {
		const char *name, *value;
	} * setting;        /* ends with a NULL name */
	const char *output; /* folder for results.jsonl; NULL: none */
	/* Called when the baseline (INDEX SIZE_MAX) or a mutant has ended. */
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
 * Explores the driver of BUILD_CACHE, then its mutants.  Results of the same command in
 * .output are reused.  -TZ_EUSAGE: .output has results of another command, or the driver
 * does not compile; -TZ_EIO; other errors as for campaign_run() of the driver itself.  The
 * caller frees RUN also after an error.
 */
int mutate_run(struct build_cache *build_cache, const struct mutate_list *list,
    const struct mutate_options *options, struct mutate_run *run,
    struct tz_error *err);
void mutate_run_free(struct mutate_run *run, const struct mutate_list *list);

/* Mutants of each class; the score in tenths of a percent, -1: none killed or survived. */
struct mutate_score {
	size_t count[MUTATE_CLASSES];
	size_t all;
	int tenths;
};
void mutate_score(const struct mutate_list *list, const struct mutate_run *run,
    struct mutate_score *score);

#endif
