#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/packets/vector.h"

#define PARSE_LINE_MAX 1024

void
vector_fail(struct vector *vector, const char *fmt, ...)
{
	va_list args;

	if (vector->failed)
		return;
	vector->failed = true;
	printf("%s:%u: ", vector->path, vector->line);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

const char *
vector_word(struct vector *vector, struct words *words)
{
	if (words->next == words->count) {
		vector_fail(vector, "a word is missing");
		return NULL;
	}
	return words->word[words->next++];
}

static uint64_t
number(struct vector *vector, const char *text, int base, uint64_t most)
{
	char *end;
	unsigned long long value;

	if (vector->failed)
		return 0;
	value = strtoull(text, &end, base);
	if (*text == '\0' || *text == '-' || *end != '\0' || value > most) {
		vector_fail(vector, "no such number here: %s", text);
		return 0;
	}
	return value;
}

uint64_t
vector_hex(struct vector *vector, struct words *words, uint64_t most)
{
	return number(vector, vector_word(vector, words), 16, most);
}

uint64_t
vector_decimal(struct vector *vector, struct words *words, uint64_t most)
{
	return number(vector, vector_word(vector, words), 10, most);
}

uint64_t
vector_value(struct vector *vector, const char *word, int base)
{
	const char *value = strchr(word, '=');

	if (value == NULL) {
		vector_fail(vector, "no KEY=NUMBER: %s", word);
		return 0;
	}
	return number(vector, value + 1, base, UINT64_MAX);
}

/* Adds WORD to TEXT, a blank before it. */
static void
add_word(struct vector *vector, char *text, const char *word)
{
	if (strlen(text) + strlen(word) + 2 > VECTOR_TEXT_MAX) {
		vector_fail(vector, "too long");
		return;
	}
	if (text[0] != '\0')
		strcat(text, " ");
	strcat(text, word);
}

/* Adds the line's words to TEXT; "N*WORD" is N of them. */
static void
gather(struct vector *vector, char *text, const struct words *words)
{
	for (size_t i = 0; i < words->count; i++) {
		char *rest = words->word[i];
		unsigned long count = strtoul(rest, &rest, 10);

		if (rest == words->word[i] || *rest != '*') {
			rest = words->word[i] - 1;
			count = 1;
		}
		while (count-- != 0 && !vector->failed)
			add_word(vector, text, rest + 1);
	}
}

static bool
is_alone(const struct words *words, const char *name)
{
	return words->count == 1 && strcmp(words->word[0], name) == 0;
}

/* A line that only names the section that begins; false: it is none. */
static bool
enter(struct vector *vector, struct words *words, enum vector_section *section)
{
	static const char *const names[] = { "", "code", "events", "stream",
		"packets", "libipt", "decode", "bytes" };

	if ((*section == VECTOR_PACKETS || *section == VECTOR_LIBIPT) &&
	    strcmp(words->word[0], "undecoded") == 0) {
		vector->undecoded = true;
		if (words->count < 2)
			vector_fail(vector, "the reason is missing");
		return true;
	}
	for (enum vector_section s = VECTOR_CODE; s <= VECTOR_BYTES; s++) {
		if (!is_alone(words, names[s]))
			continue;
		if (s <= *section)
			vector_fail(vector, "out of order: %s", names[s]);
		vector->section_line[s] = vector->line;
		*section = s;
		return true;
	}
	return false;
}

/* Cuts LINE at its blanks. */
static void
cut(struct vector *vector, char *line, struct words *words)
{
	char *word;

	if (strchr(line, '\n') == NULL)
		vector_fail(vector, "the line does not end");
	while ((word = strtok_r(line, " \n", &line)) != NULL) {
		if (words->count == VECTOR_WORDS_MAX)
			vector_fail(vector, "too many words");
		else
			words->word[words->count++] = word;
	}
}

static char *
expected_text(struct vector *vector, enum vector_section section)
{
	switch ((int)section) {
	case VECTOR_PACKETS:
		return vector->packets;
	case VECTOR_LIBIPT:
		return vector->libipt;
	case VECTOR_DECODE:
		return vector->decode;
	default:
		return vector->bytes;
	}
}

static void
read_lines(struct vector *vector, FILE *file,
    void (*obey)(void *arg, struct vector *vector, enum vector_section section,
	struct words *words),
    void *arg)
{
	char line[PARSE_LINE_MAX];
	enum vector_section section = VECTOR_STATE;

	while (!vector->failed && fgets(line, sizeof(line), file) != NULL) {
		struct words words = { 0 };

		vector->line++;
		if (vector->line == 1 && strncmp(line, "# ", 2) != 0)
			vector_fail(vector, "line 1 is no sentence (`# ...`)");
		if (line[0] == '#')
			continue;
		cut(vector, line, &words);
		if (words.count == 0 || vector->failed)
			continue;
		if (enter(vector, &words, &section)) {
			if (!vector->failed)
				obey(arg, vector, section, NULL);
		} else if (section >= VECTOR_PACKETS)
			gather(vector, expected_text(vector, section), &words);
		else if (section != VECTOR_CODE)
			obey(arg, vector, section, &words);
	}
	if (section < VECTOR_PACKETS)
		vector_fail(vector, "no packets are expected");
	if (section < VECTOR_DECODE && !vector->undecoded)
		vector_fail(vector, "no decode is expected");
}

void
vector_read(struct vector *vector,
    void (*obey)(void *arg, struct vector *vector, enum vector_section section,
	struct words *words),
    void *arg)
{
	FILE *file = fopen(vector->path, "r");

	if (file == NULL) {
		vector_fail(vector, "cannot be read");
		return;
	}
	read_lines(vector, file, obey, arg);
	fclose(file);
}
