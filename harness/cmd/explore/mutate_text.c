#include "harness/cmd/explore/mutate_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/cmd/cmd.h"
#include "harness/mutate/patch.h"
#include "harness/mutate/record.h"

static const struct mutant *
drawn(const struct mutate_list *list, size_t index)
{
	return &list->mutants.at[list->drawn[index]];
}

void
mutate_print_list(const struct mutate_list *list, bool json)
{
	static const struct mutate_result none = { .known = false };
	char id[MUTATE_ID_BYTES];
	int width = 0;

	for (size_t i = 0; i < list->drawn_count; i++) {
		mutate_id(list, drawn(list, i), id);
		if ((int)strlen(id) > width)
			width = (int)strlen(id);
	}
	for (size_t i = 0; i < list->drawn_count; i++) {
		const struct mutant *mutant = drawn(list, i);
		char *line;

		if (json) {
			cmd_print_json_line(record_result(list, i, &none));
			continue;
		}
		mutate_id(list, mutant, id);
		line = patch_line(list->source[mutant->source].text, mutant);
		printf("%-*s  line %-5" PRIu32 "  %s\n", width, id,
		    mutant->line, line != NULL ? line : "");
		free(line);
	}
	if (!json)
		printf("%zu of %zu mutants\n", list->drawn_count,
		    list->mutants.count);
}

/* Prints "pmi-lost, pmi, it-wrap: message", without the parts that are absent. */
static void
print_why(FILE *file, const struct mutate_result *result)
{
	const char *const parts[] = { result->check, result->kinds,
		result->subject };
	const char *between = "";

	for (size_t i = 0; i < TZ_ARRAY_LEN(parts); i++) {
		if (parts[i] == NULL || parts[i][0] == '\0')
			continue;
		fprintf(file, "%s%s", between, parts[i]);
		between = ", ";
	}
	if (result->message != NULL)
		fprintf(file, "%s%s", between[0] != '\0' ? ": " : "",
		    result->message);
}

void
mutate_print_progress(FILE *file, const struct mutate_list *list, size_t done,
    size_t index, const struct mutate_result *result)
{
	char id[MUTATE_ID_BYTES];

	mutate_id(list, drawn(list, index), id);
	fprintf(file, "%4zu / %-4zu %-12s  %s", done, list->drawn_count,
	    mutate_class_name(result->class), id);
	if (result->check != NULL || result->message != NULL) {
		fputs("  ", file);
		print_why(file, result);
	}
}

/* How many scenarios and sequences execute the lines that the mutant changes. */
static void
print_covered(
    const struct mutate_baseline *baseline, const struct mutate_result *result)
{
	if (!result->has_code)
		printf("          no code of its own: a macro, or data");
	else if (result->scenarios + result->sequences == 0)
		printf("          not executed in the default schedule of any "
		       "scenario or sequence");
	else
		printf("          executed in the default schedule of %" PRIu64
		       " of %" PRIu64 " scenarios, %" PRIu64 " of %" PRIu64
		       " sequences",
		    result->scenarios, baseline->scenarios, result->sequences,
		    baseline->sequences);
	printf("; %" PRIu64 " schedules\n", result->schedules);
}

static void
print_one(
    const struct mutate_list *list, const struct mutate_run *run, size_t index)
{
	const struct mutate_result *result = &run->result[index];
	const struct mutant *mutant = drawn(list, index);
	const struct mutate_source *source = &list->source[mutant->source];
	const struct operator_info *info = operator_info(mutant->op);
	char id[MUTATE_ID_BYTES];
	char *diff;

	mutate_id(list, mutant, id);
	printf("%-12s  %s  %s: %s\n", mutate_class_name(result->class), id,
	    info->text, info->reason);
	if (result->class != MUTATE_SURVIVED) {
		printf("          ");
		print_why(stdout, result);
		putchar('\n');
		return;
	}
	print_covered(&run->baseline, result);
	diff = patch_diff(source->name, source->text, source->bytes, mutant);
	printf("%s\n", diff != NULL ? diff : "");
	free(diff);
}

static void
print_operators(const struct mutate_list *list, const struct mutate_run *run)
{
	for (unsigned op = 0; op < OPERATOR_COUNT; op++) {
		size_t killed = 0, survived = 0;

		for (size_t i = 0; i < list->drawn_count; i++) {
			const struct mutate_result *result = &run->result[i];

			if (!result->known || drawn(list, i)->op != op)
				continue;
			killed += result->class == MUTATE_KILLED;
			survived += result->class == MUTATE_SURVIVED;
		}
		if (killed + survived != 0)
			printf("%-18s %4zu killed %4zu survived\n",
			    operator_info((enum mutant_operator)op)->name,
			    killed, survived);
	}
}

/* Rare classes are printed only if they are not empty. */
static void
print_totals(const struct mutate_score *score)
{
	printf("%zu mutants: %zu killed, %zu survived, %zu equivalent (same "
	       "object code), %zu not compiled, %zu not judged",
	    score->all, score->count[MUTATE_KILLED],
	    score->count[MUTATE_SURVIVED], score->count[MUTATE_EQUIVALENT],
	    score->count[MUTATE_NOT_COMPILED], score->count[MUTATE_NOT_JUDGED]);
	if (score->count[MUTATE_TIMED_OUT] != 0)
		printf(", %zu timed out", score->count[MUTATE_TIMED_OUT]);
	if (score->count[MUTATE_FAILED] != 0)
		printf(", %zu failed in topaz", score->count[MUTATE_FAILED]);
	if (score->tenths >= 0)
		printf(
		    ", score %d.%d %%", score->tenths / 10, score->tenths % 10);
	putchar('\n');
}

void
mutate_print(
    const struct mutate_list *list, const struct mutate_run *run, bool json)
{
	static const enum mutate_class order[] = { MUTATE_SURVIVED,
		MUTATE_NOT_JUDGED, MUTATE_TIMED_OUT, MUTATE_FAILED };
	struct mutate_score score;

	mutate_score(list, run, &score);
	for (size_t i = 0; json && i < list->drawn_count; i++) {
		if (run->result[i].known)
			cmd_print_json_line(
			    record_result(list, i, &run->result[i]));
	}
	if (json) {
		cmd_print_json_line(record_summary(list, run));
		return;
	}
	for (size_t i = 0; i < TZ_ARRAY_LEN(order); i++) {
		for (size_t j = 0; j < list->drawn_count; j++) {
			if (run->result[j].known &&
			    run->result[j].class == order[i])
				print_one(list, run, j);
		}
	}
	print_operators(list, run);
	print_totals(&score);
}
