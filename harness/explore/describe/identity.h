/*
 * Decides which violations are one mistake of the driver.  While exploring, violations
 * are grouped by what is known immediately (../runner/outcome.h).  Here one run of each
 * group is repeated, stepped, to find the origin of the violation: the driver line that
 * it comes from, also if that line ran much earlier, on another CPU, or below a
 * function of a header or of the framework.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_IDENTITY_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_IDENTITY_H

#include "harness/explore/search/campaign.h"
#include "harness/finding/finding.h"

struct identity {
	/* Equal for the same place, called function and object. */
	uint64_t cause;
	struct finding_place place;     /* of the mistake */
	struct finding_place own_place; /* of the violation itself */
	/* in .entry: the line on the call path */
	struct finding_place entry_place;
	char entry[FINDING_NAME_BYTES];
	char object[FINDING_NAME_BYTES * 2];
	/* The violation itself, and the one that it is a symptom of (or itself). */
	struct check_violation violation, root;
	uint64_t state_hash; /* at the end of the run */
};

/* A run that shows a violation, and the violation. */
struct witness {
	struct campaign_entry entry;
	struct schedule schedule;
	enum check_id id;
	uint64_t own; /* as in struct outcome_violation */
};

/* The identity of the violation of WITNESS; false: it does not occur in the run. */
bool identity_find(struct campaign *campaign, const struct witness *witness,
    struct identity *identity);

/*
 * The fingerprint of FINDING: a hash of the function, the text of the source line, the
 * function called, and the object.  Findings with equal texts are not yet told apart.
 */
uint64_t identity_print(
    const struct build_cache *build_cache, const struct finding *finding);

#endif
