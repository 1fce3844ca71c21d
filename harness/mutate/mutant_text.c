/*
 * Lists of mutants as bytes.  A mutant is a line "mutant OPERATOR LINE NUMBER EDITS CODE
 * OWNER", with CODE 1 in a function.  Each of its edits follows: "edit BEGIN END BYTES", a
 * newline, the bytes and a newline.  The last line is "end COUNT".
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/mutate/mutant.h"

#define TEXT_BYTES_MAX (UINT32_C(1) << 24)
#define OWNER_BYTES    200

int
mutant_list_write(
    FILE *file, const struct mutant_list *list, struct tz_error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct mutant *mutant = &list->at[i];

		fprintf(file, "mutant %s %" PRIu32 " %" PRIu32 " %u %d %s\n",
		    operator_info(mutant->op)->name, mutant->line,
		    mutant->number, mutant->edit_count, mutant->in_function,
		    mutant->owner);
		for (unsigned j = 0; j < mutant->edit_count; j++) {
			const struct edit *edit = &mutant->edit[j];

			fprintf(file, "edit %" PRIu32 " %" PRIu32 " %zu\n%s\n",
			    edit->at.begin, edit->at.end, strlen(edit->text),
			    edit->text);
		}
	}
	fprintf(file, "end %zu\n", list->count);
	if (fflush(file) != 0 || ferror(file))
		return tz_error(err, TZ_EIO, "the mutants cannot be written");
	return 0;
}

static bool
read_edit(FILE *file, struct edit *edit)
{
	uint32_t bytes;

	if (fscanf(file, "edit %" SCNu32 " %" SCNu32 " %" SCNu32,
		&edit->at.begin, &edit->at.end, &bytes) != 3 ||
	    bytes > TEXT_BYTES_MAX || edit->at.begin >= edit->at.end ||
	    getc(file) != '\n')
		return false;
	edit->text = malloc((size_t)bytes + 1);
	if (edit->text == NULL)
		return false;
	edit->text[bytes] = '\0';
	return fread(edit->text, 1, bytes, file) == bytes &&
	    strlen(edit->text) == bytes && getc(file) == '\n';
}

/* Parses the rest of a line after "mutant". */
static bool
read_one(FILE *file, struct mutant *mutant)
{
	unsigned count, code;
	char name[64], owner[OWNER_BYTES];

	*mutant = (struct mutant){ .owner = NULL };
	if (fscanf(file, " %63s %" SCNu32 " %" SCNu32 " %u %u %199s", name,
		&mutant->line, &mutant->number, &count, &code, owner) != 6 ||
	    getc(file) != '\n')
		return false;
	mutant->owner = strdup(owner);
	mutant->in_function = code != 0;
	mutant->op = operator_find(name);
	if (mutant->owner == NULL || mutant->op == OPERATOR_COUNT ||
	    count == 0 || count > MUTANT_EDITS_MAX)
		return false;
	while (mutant->edit_count < count) {
		if (!read_edit(file, &mutant->edit[mutant->edit_count++]))
			return false;
	}
	return true;
}

int
mutant_list_read(FILE *file, struct mutant_list *list, struct tz_error *err)
{
	size_t begin = list->count, count;
	char word[8];

	while (fscanf(file, "%7s", word) == 1) {
		struct mutant mutant;
		bool good;

		if (strcmp(word, "end") == 0) {
			if (fscanf(file, "%zu", &count) == 1 &&
			    count == list->count - begin && !list->failed)
				return 0;
			break;
		}
		if (strcmp(word, "mutant") != 0)
			break;
		good = read_one(file, &mutant);
		mutant_add(list, &mutant);
		if (!good)
			break;
	}
	return tz_error(
	    err, TZ_EFORMAT, "the list of mutants is cut or corrupt");
}
