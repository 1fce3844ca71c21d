/*
 * A mutant: one small, mechanical change of a driver's source that resembles a
 * programmer's mistake.  Mutation operators make mutants (syntax/operator.def).
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
	const char *text;   /* the change, and where it is made */
	const char *reason; /* the mistake that it represents */
};
const struct operator_info *operator_info(enum mutant_operator id);
/* The operator NAME; OPERATOR_COUNT: no such operator. */
enum mutant_operator operator_find(const char *name);

/* Replaces the bytes .at by .text, with as many newlines, so that line numbers hold. */
struct edit {
	struct range at;
	char *text;
};

struct mutant {
	enum mutant_operator op;
	uint32_t source; /* index of the file */
	uint32_t line;
	uint32_t number;  /* among the mutants of .op and .owner, from 1 */
	char *owner;      /* function, variable, enumerator or macro */
	bool in_function; /* the owner is a function */
	unsigned edit_count;
	struct edit edit[MUTANT_EDITS_MAX]; /* in order, disjoint */
};

struct mutant_list {
	struct mutant *at;
	size_t count, room;
	bool failed; /* no memory: the list is incomplete */
};
/* Adds MUTANT and takes ownership of its strings. */
void mutant_add(struct mutant_list *list, const struct mutant *mutant);
void mutant_list_free(struct mutant_list *list);
/* Sorts LIST in source order, removes duplicate changes and numbers the mutants. */
void mutant_list_settle(struct mutant_list *list);

/* The name of CLASS. */
const char *call_class_name(enum call_class class);
/*
 * The row for NAME: the first of OWN (COUNT rows) that matches, else the first of
 * syntax/call.def; NULL: no row matches.
 */
const struct call_row *call_find(
    const struct call_row *own, size_t count, const char *name);

/*
 * Writes and reads a list as bytes, to pass it from topaz-mutants to topaz.  -TZ_EIO;
 * mutant_list_read() also -TZ_EFORMAT: FILE ends early or is not such a list.
 */
int mutant_list_write(
    FILE *file, const struct mutant_list *list, struct tz_error *err);
int mutant_list_read(
    FILE *file, struct mutant_list *list, struct tz_error *err);

/* Adds all mutants of SYNTAX to LIST.  OWN: the manifest's rows for calls. */
void operators_apply(const struct syntax *syntax, const struct call_row *own,
    size_t own_count, struct mutant_list *list);

#endif
