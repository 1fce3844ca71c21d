/*
 * The rows of check.def and of reason.def as data: names, texts, and sets of rows.
 */
#ifndef TOPAZ_HARNESS_CHECK_ROWS_H
#define TOPAZ_HARNESS_CHECK_ROWS_H

enum check_id {
#define CHECK(id, name, family, text, citation) CHECK_##id,
#include "harness/check/check.def"
#undef CHECK
	CHECK_COUNT
};

/* As check.def describes them. */
enum check_family {
	FAMILY_ALONE,
	FAMILY_CRASH,
	FAMILY_LIFETIME,
	FAMILY_LOSS,
	FAMILY_SETUP,
	FAMILY_UNJUDGED,
};

struct check_info {
	const char *name; /* "topa-error": in reports and baselines */
	enum check_family family;
	const char *text;     /* the invariant, one sentence */
	const char *citation; /* where it comes from */
};
const struct check_info *check_info(enum check_id id);
/* The check with that name; CHECK_COUNT: none. */
enum check_id check_find(const char *name);

/* A set of rows. */
__extension__ typedef unsigned __int128 check_rows;
#define CHECK_BIT(id) ((check_rows)1 << (id))
/* All rows, for check_config.enabled. */
check_rows check_all(void);
/* Removes a row from ROWS, which is not empty, and returns it. */
enum check_id check_take(check_rows *rows);

/* Why a row was not judged in a run. */
enum check_reason {
#define REASON(id, name, text) REASON_##id,
#include "harness/check/reason.def"
#undef REASON
	REASON_COUNT
};
const char *check_reason_name(enum check_reason reason);
const char *check_reason_text(enum check_reason reason);
/* The reason with that name; REASON_COUNT: none. */
enum check_reason check_reason_find(const char *name);

#endif
