/*
 * A mutant: one small, mechanical change of a driver's source, as a programmer may
 * have made it by mistake.  Operators make them (syntax/operator.def).
 */
#ifndef TOPAZ_HARNESS_MUTATE_MUTANT_H
#define TOPAZ_HARNESS_MUTATE_MUTANT_H

#include <stdio.h>

#include "harness/manifest/manifest.h"
#include "harness/mutate/syntax/syntax.h"

#define MUTANT_EDITS_MAX 8

enum mutant_operator {
#define OPERATOR(id, name, find, text, reason) OPERATOR_##id,
#include "harness/mutate/syntax/operator.def"
#undef OPERATOR
	OPERATOR_COUNT,
};

struct operator_info {
	const char *name;   /* "negate-condition" */
	const char *text;   /* what is changed, where */
	const char *reason; /* the mistake that it stands for */
};
const struct operator_info *operator_info(enum mutant_operator id);
/* The operator NAME; OPERATOR_COUNT: none. */
enum mutant_operator operator_find(const char *name);

/* The bytes AT become TEXT; it has as many newlines: lines keep their numbers. */
struct edit {
	struct range at;
	char *text;
};

struct mutant {
	enum mutant_operator op;
	uint32_t source; /* index of the file */
	uint32_t line;
	uint32_t number;  /* among those of one operator and owner, from 1 */
	char *owner;      /* function, variable, enumerator or macro */
	bool in_function; /* the owner is a function */
	unsigned edit_count;
	struct edit edit[MUTANT_EDITS_MAX]; /* in order, disjoint */
};

struct mutant_list {
	struct mutant *at;
	size_t count, room;
	bool failed; /* no memory: the list is not whole */
};
/* Takes over the strings of MUTANT. */
void mutant_add(struct mutant_list *list, const struct mutant *mutant);
void mutant_list_free(struct mutant_list *list);
/* In source order, each change once, numbered. */
void mutant_list_settle(struct mutant_list *list);

/* The word for CLASS. */
const char *call_class_name(enum call_class class);
/*
 * The row for NAME: of OWN (COUNT rows) the first that fits, else of syntax/call.def; NULL:
 * none.
 */
const struct call_row *call_find(
    const struct call_row *own, size_t count, const char *name);

/*
 * A list as bytes, from the program that makes it to the one that reads it.  Errors:
 * -TZ_EIO; of reading also -TZ_EFORMAT: FILE ends early or holds something else.
 */
int mutant_list_write(
    FILE *file, const struct mutant_list *list, struct tz_error *err);
int mutant_list_read(
    FILE *file, struct mutant_list *list, struct tz_error *err);

/* All mutants of SYNTAX into LIST.  OWN: further names of calls. */
void operators_apply(const struct syntax *syntax, const struct call_row *own,
    size_t own_count, struct mutant_list *list);

#endif
