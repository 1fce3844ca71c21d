/*
 * The scenarios and sequences that execute the lines which mutants change: with the
 * driver itself, in the default schedule.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/explore/runner/layout.h"
#include "harness/mutate/bench.h"

#define CODE_BYTES (8 * REACH_BYTES)

/* The source and line of an offset in the driver's code. */
struct spot {
	bool known;
	uint16_t source; /* UINT16_MAX: none */
	uint32_t line;
};

/* A range of lines, inclusive. */
struct span {
	uint32_t first, last;
};

struct cover {
	const struct mutate_list *list;
	struct span (
	    *span)[MUTANT_EDITS_MAX]; /* of each mutant that was drawn */
	struct mutate_result *result;
	struct spot *spot[2]; /* by offset; without and with INVARIANTS */
	uint8_t **seen;       /* by source and line, of one run */
	uint32_t *line_count; /* of each source */
	uint64_t scenarios, sequences;
};

static uint32_t
count_lines(const struct mutate_source *source)
{
	uint32_t count = 2; /* lines count from 1 */

	for (size_t i = 0; i < source->bytes; i++)
		count += source->text[i] == '\n';
	return count;
}

static struct span
span_of(const char *text, struct range at)
{
	struct span span = { 1, 1 };

	for (uint32_t i = 0; i + 1 < at.end; i++) {
		span.first += i < at.begin && text[i] == '\n';
		span.last += text[i] == '\n';
	}
	return span;
}

static bool
find_spans(struct cover *cover)
{
	const struct mutate_list *list = cover->list;

	cover->span = calloc(list->drawn_count + 1, sizeof(*cover->span));
	for (size_t i = 0; cover->span != NULL && i < list->drawn_count; i++) {
		const struct mutant *mutant = &list->mutants.at[list->drawn[i]];

		for (unsigned j = 0; j < mutant->edit_count; j++)
			cover->span[i][j] = span_of(
			    list->source[mutant->source].text,
			    mutant->edit[j].at);
	}
	return cover->span != NULL;
}

struct cover *
cover_create(const struct mutate_list *list, struct mutate_result *result)
{
	struct cover *cover = calloc(1, sizeof(*cover));
	bool good = cover != NULL;

	if (!good)
		return NULL;
	cover->list = list;
	cover->result = result;
	cover->spot[0] = calloc(CODE_BYTES, sizeof(**cover->spot));
	cover->spot[1] = calloc(CODE_BYTES, sizeof(**cover->spot));
	cover->seen = calloc(list->source_count + 1, sizeof(*cover->seen));
	cover->line_count = calloc(
	    list->source_count + 1, sizeof(*cover->line_count));
	good = cover->spot[0] != NULL && cover->spot[1] != NULL &&
	    cover->seen != NULL && cover->line_count != NULL &&
	    find_spans(cover);
	for (size_t i = 0; good && i < list->source_count; i++) {
		cover->line_count[i] = count_lines(&list->source[i]);
		cover->seen[i] = calloc(cover->line_count[i] + 1, 1);
		good = cover->seen[i] != NULL;
	}
	if (good)
		return cover;
	cover_destroy(cover);
	return NULL;
}

void
cover_destroy(struct cover *cover)
{
	if (cover == NULL)
		return;
	for (size_t i = 0; cover->seen != NULL && i < cover->list->source_count;
	     i++)
		free(cover->seen[i]);
	free(cover->seen);
	free(cover->line_count);
	free(cover->span);
	free(cover->spot[0]);
	free(cover->spot[1]);
	free(cover);
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Objects name a source relative to its folder, so only file names are compared. */
static void
find_spot(const struct cover *cover, struct runner *runner, size_t offset,
    struct spot *spot)
{
	struct symbol_place place;

	spot->known = true;
	spot->source = UINT16_MAX;
	symbols_find(runner_symbols(runner),
	    runner_driver_base(runner) + offset, NULL, &place);
	if (place.file == NULL || place.line <= 0)
		return;
	for (size_t i = 0; i < cover->list->source_count; i++) {
		if (strcmp(base_name(place.file),
			base_name(cover->list->source[i].name)) == 0 &&
		    (uint32_t)place.line < cover->line_count[i]) {
			spot->source = (uint16_t)i;
			spot->line = (uint32_t)place.line;
			return;
		}
	}
}

/* True if a line that the mutant drawn as INDEX changes is seen. */
static bool
is_seen(const struct cover *cover, size_t index)
{
	const struct mutant *mutant =
	    &cover->list->mutants.at[cover->list->drawn[index]];

	for (unsigned i = 0; i < mutant->edit_count; i++) {
		const struct span span = cover->span[index][i];

		for (uint32_t line = span.first; line <= span.last; line++) {
			if (cover->seen[mutant->source][line])
				return true;
		}
	}
	return false;
}

static void
clear(struct cover *cover)
{
	for (size_t i = 0; i < cover->list->source_count; i++)
		memset(cover->seen[i], 0, cover->line_count[i]);
}

static void
mark(struct cover *cover, const struct spot *spot)
{
	if (spot->source != UINT16_MAX)
		cover->seen[spot->source][spot->line] = 1;
}

/*
 * An object has no line of its own for the rest of a statement: in a function, the nearest
 * earlier line with code is used.
 */
static void
widen(struct cover *cover, size_t index)
{
	const struct mutant *mutant =
	    &cover->list->mutants.at[cover->list->drawn[index]];
	struct span *span = &cover->span[index][0];
	uint32_t line = span->first;

	while (mutant->in_function && line > 1 &&
	    !cover->seen[mutant->source][line])
		line--;
	if (mutant->in_function && cover->seen[mutant->source][line])
		span->first = line;
}

/* Notes the lines that have code in this object, executed or not. */
static void
note_code(struct cover *cover, struct runner *runner, struct spot *spot)
{
	clear(cover);
	for (size_t i = 0; i < CODE_BYTES; i++) {
		if (!runner_in_driver(runner, runner_driver_base(runner) + i))
			continue;
		find_spot(cover, runner, i, &spot[i]);
		mark(cover, &spot[i]);
	}
	for (size_t i = 0; i < cover->list->drawn_count; i++) {
		if (!is_seen(cover, i))
			widen(cover, i);
		cover->result[i].has_code |= is_seen(cover, i);
	}
}

void
cover_reached(void *arg, struct runner *runner,
    const struct campaign_entry *entry, const struct reach *reach)
{
	struct cover *cover = arg;
	struct layout layout;
	struct tz_error err;
	struct spot *spot;

	if (layout_parse(entry->layout, &layout, &err) != 0)
		return;
	spot = cover->spot[layout.invariants ? 1 : 0];
	if (!spot[0].known)
		note_code(cover, runner, spot);
	clear(cover);
	for (size_t i = 0; i < CODE_BYTES; i++) {
		if (reach->code[i / 8] >> i % 8 & 1)
			mark(cover, &spot[i]);
	}
	for (size_t i = 0; i < cover->list->drawn_count; i++) {
		struct mutate_result *result = &cover->result[i];

		if (!is_seen(cover, i))
			continue;
		if (entry->name[0] != '\0')
			result->scenarios++;
		else
			result->sequences++;
	}
	if (entry->name[0] != '\0')
		cover->scenarios++;
	else
		cover->sequences++;
}

void
cover_counts(
    const struct cover *cover, uint64_t *scenarios, uint64_t *sequences)
{
	*scenarios = cover->scenarios;
	*sequences = cover->sequences;
}
