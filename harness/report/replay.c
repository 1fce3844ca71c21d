/*
 * The replay command of a schedule, as all formats print it.
 */
#include <stdlib.h>

#include "harness/host/shell.h"
#include "harness/report/internal.h"

static void
put_options(FILE *file, const struct finding_summary *summary)
{
	if (summary->from[0] != '\0') {
		fputs(" --from", file);
		shell_put_word(file, summary->from);
	}
	if (summary->drivers[0] != '\0') {
		fputs(" --drivers", file);
		shell_put_word(file, summary->drivers);
	}
}

char *
report_replay(const struct finding_summary *summary, const char *token)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	if (file == NULL)
		return NULL;
	fputs("topaz replay", file);
	shell_put_word(file, token);
	put_options(file, summary);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

char *
report_replay_options(const struct finding_summary *summary)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	if (file == NULL)
		return NULL;
	put_options(file, summary);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}
