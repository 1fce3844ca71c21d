/*
 * topaz-mutants: finds the mutants of one C source, for topaz mutate.  It is a separate
 * program so that topaz itself does not link libclang.
 *
 * usage: topaz-mutants OUTPUT SOURCE [CLASS:PATTERN[:PARTNER]]... -- ARGUMENT...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/mutate/mutant.h"

#define USAGE    2
#define ROWS_MAX 64

/* Parses "lock:my_lock:my_unlock"; splits TEXT in place. */
static bool
read_row(char *text, struct call_row *row)
{
	char *pattern = strchr(text, ':');
	char *partner;

	if (pattern == NULL)
		return false;
	*pattern++ = '\0';
	partner = strchr(pattern, ':');
	if (partner != NULL)
		*partner++ = '\0';
	*row = (struct call_row){ .pattern = pattern, .partner = partner };
	while (strcmp(call_class_name(row->class), text) != 0) {
		if (++row->class == CALL_CLASSES)
			return false;
	}
	return row->class != CALL_NONE &&
	    (row->class == CALL_LOCK) == (partner != NULL);
}

static int
write_list(
    const char *path, const struct mutant_list *list, struct tz_error *err)
{
	FILE *file = fopen(path, "w");
	int error;

	if (list->failed || file == NULL) {
		if (file != NULL)
			fclose(file);
		return tz_error(err, TZ_EIO, "%s: %s", path,
		    list->failed ? "out of memory" : strerror(errno));
	}
	error = mutant_list_write(file, list, err);
	if (fclose(file) != 0 && error == 0)
		error = tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	return error;
}

int
main(int argc, char **argv)
{
	struct mutant_list list = { .at = NULL };
	struct call_row row[ROWS_MAX];
	struct syntax syntax;
	struct tz_error err;
	size_t rows = 0;
	int at = 3, error;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		if (rows == ROWS_MAX || !read_row(argv[at], &row[rows++]))
			break;
	}
	if (at >= argc || strcmp(argv[at], "--") != 0) {
		fputs("usage: topaz-mutants OUTPUT SOURCE "
		      "[CLASS:PATTERN[:PARTNER]]... -- ARGUMENT...\n",
		    stderr);
		return USAGE;
	}
	error = syntax_parse(
	    argv[2], (const char *const *)&argv[at + 1], &syntax, &err);
	if (error == 0) {
		operators_apply(&syntax, row, rows, &list);
		error = write_list(argv[1], &list, &err);
	}
	if (error != 0)
		fprintf(stderr, "topaz: %s\n", err.text);
	mutant_list_free(&list);
	syntax_free(&syntax);
	return error == 0 ? 0 : USAGE;
}
