/*
 * What makes two violations one mistake of the driver.  While exploring, violations
 * are told apart by what is known at once (../runner/outcome.h).  Here one run of each group is
 * done again, stepped, with every violation's origin: the line of the driver that it
 * comes from, also where that line ran long before, on another CPU, or under a
 * function of a header or of the framework.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_IDENTITY_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_IDENTITY_H

#include "harness/explore/search/campaign.h"
#include "harness/finding/finding.h"

struct identity {
	/* The same for the same place, function called, and object. */
	uint64_t cause;
	struct finding_place place;       /* of the mistake */
	struct finding_place own_place;   /* of the violation itself */
	struct finding_place entry_place; /* where its function goes on */
	char entry[FINDING_NAME_BYTES];
	char object[FINDING_NAME_BYTES * 2];
	/* The violation itself, and the one that it follows from (or itself). */
	struct check_violation violation, root;
	uint64_t state_hash; /* at the end of the run */
};

/* A run that shows a violation, and which. */
struct witness {
	struct campaign_entry entry;
	struct schedule schedule;
	enum check_id id;
	uint64_t own; /* as in struct outcome_violation */
};

/* What WITNESS shows; false: it does not show. */
bool identity_find(struct campaign *campaign, const struct witness *witness,
    struct identity *identity);

/* The line of the driver's own sources that RIP belongs to; 0: no place. */
void identity_place(
    struct runner *runner, uint64_t rip, struct finding_place *place);

/*
 * The fingerprint of FINDING, without what tells it from others of the same text: of
 * the function, the text of the source line, the function called, and the object.
 */
uint64_t identity_print(
    const struct build_cache *build_cache, const struct finding *finding);

#endif
