/*
 * Goal: every row of the specification's tables of events and packets, as it stands
 * there, is what the unit sends and what libipt makes of it. Method: each .ptv file
 * of a folder is played on a fresh unit; its packets, read by a reader of our own,
 * by libipt and, where the file says so, byte for byte, and its decode are compared
 * with what the file expects; then every name of rows.txt and of the reader's table
 * must have had a vector.
 * usage: run FOLDER
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/packets/reader.h"
#include "tests/packets/vector.h"
#include "tests/unit/pt/event_text.h"
#include "tests/unit/pt/packet_text.h"

#define RUN_ROWS_MAX 512
#define RUN_NAME_MAX 64
#define RUN_LINE_MAX 1024

/* The rows that must have a vector; whether they had one. */
struct run {
	char row[RUN_ROWS_MAX][RUN_NAME_MAX];
	bool row_seen[RUN_ROWS_MAX];
	size_t row_count;
	char packet[RUN_ROWS_MAX][RUN_NAME_MAX];
	bool packet_seen[RUN_ROWS_MAX];
	size_t packet_count;
	unsigned vectors, failed;
};

enum section { STATE, EVENTS, STREAM, PACKETS, DECODE, BYTES };

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

/* `row NAME`: marks it as having a vector. */
static void
see_row(struct run *run, struct vector *vector, struct words *words)
{
	const char *name = vector_word(vector, words);

	for (size_t i = 0; i < run->row_count && !vector->failed; i++) {
		if (strcmp(run->row[i], name) == 0) {
			run->row_seen[i] = true;
			return;
		}
	}
	vector_fail(vector, "rows.txt has no such row");
}

static bool
is_alone(const struct words *words, const char *name)
{
	return words->count == 1 && strcmp(words->word[0], name) == 0;
}

/* A line that only names the section that begins; false: it is none. */
static bool
enter(struct vector *vector, struct words *words, enum section *section)
{
	static const char *const names[] = { "", "events", "stream", "packets",
		"decode", "bytes" };

	if (strcmp(words->word[0], "undecoded") == 0 && *section == PACKETS) {
		vector->undecoded = true;
		if (words->count < 2)
			vector_fail(vector, "the reason is missing");
		return true;
	}
	for (enum section s = EVENTS; s <= BYTES; s++) {
		if (!is_alone(words, names[s]))
			continue;
		if (s <= *section)
			vector_fail(vector, "out of order: %s", names[s]);
		if (*section == STATE)
			vector_state_done(vector);
		*section = s;
		return true;
	}
	return false;
}

static void
obey(struct run *run, struct vector *vector, struct words *words,
    enum section *section)
{
	if (enter(vector, words, section))
		return;
	if (*section == PACKETS)
		gather(vector, vector->packets, words);
	else if (*section == DECODE)
		gather(vector, vector->decode, words);
	else if (*section == BYTES)
		gather(vector, vector->bytes, words);
	else if (*section == STATE && strcmp(words->word[0], "row") == 0) {
		words->next = 1;
		see_row(run, vector, words);
	} else if (*section == STATE)
		vector_state(vector, words);
	else if (*section == STREAM)
		vector_stream(vector, words);
	else
		vector_event(vector, words);
	if (*section < PACKETS && words->next != words->count)
		vector_fail(vector, "too much: %s", words->word[words->next]);
}

/* Plays FILE line by line. */
static void
play(struct run *run, struct vector *vector, FILE *file)
{
	char line[RUN_LINE_MAX];
	enum section section = STATE;

	while (!vector->failed && fgets(line, sizeof(line), file) != NULL) {
		struct words words = { 0 };
		char *rest = line, *word;

		vector->line++;
		if (vector->line == 1 && strncmp(line, "# ", 2) != 0)
			vector_fail(vector, "line 1 is no sentence (`# ...`)");
		if (line[0] == '#')
			continue;
		if (strchr(line, '\n') == NULL)
			vector_fail(vector, "the line does not end");
		while ((word = strtok_r(rest, " \n", &rest)) != NULL) {
			if (words.count == VECTOR_WORDS_MAX)
				vector_fail(vector, "too many words");
			else
				words.word[words.count++] = word;
		}
		if (words.count != 0 && !vector->failed)
			obey(run, vector, &words, &section);
	}
	if (section < PACKETS)
		vector_fail(vector, "no packets are expected");
	if (section < DECODE && !vector->undecoded)
		vector_fail(vector, "no decode is expected");
}

/* Prints how WHAT differs, beginning with the first word that does. */
static void
compare(struct vector *vector, const char *what, const char *expected,
    const char *found)
{
	size_t at = 0, word = 0;

	if (strcmp(expected, found) == 0)
		return;
	while (expected[at] == found[at]) {
		if (expected[at++] == ' ')
			word = at;
	}
	vector_fail(vector, "%s differ", what);
	printf("  expected: %s\n  found:    %s\n", expected, found);
	printf("  first difference: %.*s instead of %.*s\n",
	    (int)strcspn(found + word, " "), found + word,
	    (int)strcspn(expected + word, " "), expected + word);
}

/* Our reader and libipt must see the same, in what both know. */
static void
compare_readers(struct vector *vector, const char *ours)
{
	static const char *const foreign[] = { "BBP", "BEP", "TRIG" };
	static const char extra[] = ".HW";
	char *mine = strdup(ours), *libipt, *at;

	for (size_t i = 0; i < TZ_ARRAY_LEN(foreign); i++) {
		if (strstr(ours, foreign[i]) != NULL) {
			free(mine);
			return;
		}
	}
	/* libipt looks for PWRE's HW elsewhere. */
	while ((at = strstr(mine, extra)) != NULL)
		memmove(at, at + sizeof(extra) - 1,
		    strlen(at + sizeof(extra) - 1) + 1);
	libipt = packet_text_read(
	    vector->fake->stream, vector->fake->stream_bytes);
	compare(vector, "libipt's packets and ours", libipt, mine);
	free(libipt);
	free(mine);
}

static char *
hex_text(const uint8_t *bytes, size_t count)
{
	char *text = calloc(count + 1, 3);

	for (size_t i = 0; text != NULL && i < count; i++)
		sprintf(
		    text + 3 * i, i + 1 < count ? "%02X " : "%02X", bytes[i]);
	return text;
}

/* Notes which packets TEXT has. */
static void
see_packets(struct run *run, const char *text)
{
	for (; *text != '\0';
	     text += strcspn(text, " "), text += *text == ' ') {
		for (size_t i = 0; i < run->packet_count; i++) {
			const char *name = run->packet[i];
			size_t length = strlen(name);

			if (strncmp(text, name, length) == 0 &&
			    (strchr(name, '(') != NULL ||
				strchr(" (", text[length]) != NULL))
				run->packet_seen[i] = true;
		}
	}
}

static void
check(struct run *run, struct vector *vector)
{
	struct fake *fake = vector->fake;
	char *packets, *decode, *bytes;

	pt_unit_sync_output(fake->unit);
	packets = reader_text(fake->stream, fake->stream_bytes);
	compare(vector, "packets", vector->packets, packets);
	if (!vector->failed)
		compare_readers(vector, packets);
	if (!vector->failed && !vector->undecoded) {
		decode = event_text_read(fake->stream, fake->stream_bytes,
		    fake->profile.errata_on ? fake->profile.signature : 0);
		compare(vector, "decode", vector->decode, decode);
		free(decode);
	}
	bytes = hex_text(fake->stream, fake->stream_bytes);
	if (!vector->failed && vector->bytes[0] != '\0')
		compare(vector, "bytes", vector->bytes, bytes);
	if (!vector->failed)
		see_packets(run, packets);
	free(bytes);
	free(packets);
}

static void
run_file(struct run *run, const char *path)
{
	struct vector *vector = calloc(1, sizeof(*vector));
	FILE *file = fopen(path, "r");

	assert_non_null(vector);
	vector->path = path;
	vector->fake = fake_create();
	if (file == NULL) {
		vector_fail(vector, "cannot be read");
	} else {
		play(run, vector, file);
		fclose(file);
	}
	if (!vector->failed)
		check(run, vector);
	run->vectors++;
	run->failed += vector->failed;
	fake_destroy(vector->fake);
	free(vector);
}

static int
is_vector(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && strcmp(entry->d_name + length - 4, ".ptv") == 0;
}

static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The first word of each line of rows.txt that is no comment. */
static void
read_rows(struct run *run, const char *folder)
{
	char path[RUN_LINE_MAX], line[RUN_LINE_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/rows.txt", folder);
	file = fopen(path, "r");
	if (file == NULL) {
		printf("%s: cannot be read\n", path);
		exit(1);
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		assert_true(run->row_count < RUN_ROWS_MAX);
		snprintf(run->row[run->row_count++], RUN_NAME_MAX, "%.*s",
		    (int)strcspn(line, " \n"), line);
	}
	fclose(file);
}

static void
add_packet(void *arg, const char *name)
{
	struct run *run = arg;

	assert_true(run->packet_count < RUN_ROWS_MAX);
	snprintf(run->packet[run->packet_count++], RUN_NAME_MAX, "%s", name);
}

/* Counts and prints what had no vector. */
static unsigned
missing(const struct run *run)
{
	unsigned count = 0;

	for (size_t i = 0; i < run->row_count; i++) {
		if (!run->row_seen[i] && ++count)
			printf("no vector: row %s\n", run->row[i]);
	}
	for (size_t i = 0; i < run->packet_count; i++) {
		if (!run->packet_seen[i] && ++count)
			printf("no vector: packet %s\n", run->packet[i]);
	}
	return count;
}

int
main(int argc, char **argv)
{
	struct run *run = calloc(1, sizeof(*run));
	struct dirent **entries = NULL;
	int count;
	bool bad;

	if (argc != 2 || run == NULL) {
		printf("usage: run FOLDER\n");
		return 2;
	}
	read_rows(run, argv[1]);
	reader_each_name(add_packet, run);
	count = scandir(argv[1], &entries, is_vector, by_bytes);
	for (int i = 0; i < count; i++) {
		char path[RUN_LINE_MAX];

		snprintf(
		    path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
		run_file(run, path);
		free(entries[i]);
	}
	free(entries);
	bad = missing(run) != 0 || run->failed != 0 || count <= 0;
	printf("%u vectors, %u failed; %zu rows, %zu packets and forms\n",
	    run->vectors, run->failed, run->row_count, run->packet_count);
	free(run);
	return bad;
}
