#include "tests/packets/suite.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/packets/reader.h"
#include "tests/unit/pt/packet_text.h"

#define SUITE_ROWS_MAX 512
#define SUITE_NAME_MAX 64
#define SUITE_LINE_MAX 1024
/* Of a difference: words before it, and in all. */
#define SUITE_BEFORE 3
#define SUITE_SHOWN  12

/* The rows that must have a vector; whether they had one. */
struct suite {
	const struct suite_player *player;
	char row[SUITE_ROWS_MAX][SUITE_NAME_MAX];
	bool row_seen[SUITE_ROWS_MAX];
	size_t row_count;
	char packet[SUITE_ROWS_MAX][SUITE_NAME_MAX];
	bool packet_seen[SUITE_ROWS_MAX];
	size_t packet_count;
	unsigned vectors, failed;
};

/* `row NAME`: marks it as having a vector. */
static void
see_row(struct suite *suite, struct vector *vector, struct words *words)
{
	const char *name = vector_word(vector, words);

	for (size_t i = 0; i < suite->row_count && !vector->failed; i++) {
		if (strcmp(suite->row[i], name) == 0) {
			suite->row_seen[i] = true;
			return;
		}
	}
	vector_fail(vector, "rows.txt has no such row: %s", name);
}

/* The state is known where the first section behind it begins. */
static void
enter(struct suite *suite, struct vector *vector, enum vector_section section)
{
	bool code = suite->player->code;

	if (!vector->begun && (!code || section == VECTOR_CODE)) {
		vector->begun = true;
		vector_state_done(vector);
		if (!vector->failed)
			suite->player->begin(vector);
	}
	if (code && (section == VECTOR_STREAM || section == VECTOR_BYTES))
		vector_fail(vector, "not with guest code");
}

static void
obey(void *arg, struct vector *vector, enum vector_section section,
    struct words *words)
{
	struct suite *suite = arg;

	if (words == NULL) {
		enter(suite, vector, section);
		return;
	}
	if (section == VECTOR_STATE && strcmp(words->word[0], "row") == 0) {
		words->next = 1;
		see_row(suite, vector, words);
	} else if (section == VECTOR_STATE)
		vector_state(vector, words);
	else if (section == VECTOR_STREAM)
		vector_stream(vector, words);
	else
		suite->player->event(vector, words);
	if (words->next != words->count)
		vector_fail(vector, "too much: %s", words->word[words->next]);
}

/* The word at *TEXT, which moves on to the next; "-" at its end. */
static int
take_word(const char **text, const char **word)
{
	size_t length = strcspn(*text, " ");

	*word = length == 0 ? "-" : *text;
	*text += length;
	*text += **text == ' ';
	return length == 0 ? 1 : (int)length;
}

/* Prints both from a little before the word at FIRST on, side by side. */
static void
show_difference(
    const char *what, const char *expected, const char *found, size_t first)
{
	printf("       %-28s found (%s)\n", "expected", what);
	for (size_t i = 0; i < first + SUITE_SHOWN; i++) {
		const char *one, *other;
		int a, b;

		if (*expected == '\0' && *found == '\0')
			return;
		a = take_word(&expected, &one);
		b = take_word(&found, &other);
		if (i + SUITE_BEFORE >= first)
			printf("  %c%4zu %-28.*s %.*s\n", i < first ? ' ' : '!',
			    i + 1, a, one, b, other);
	}
	if (*expected != '\0' || *found != '\0')
		printf("       ...\n");
}

/* Where both differ, fails the vector at SECTION and shows how WHAT does. */
static void
compare(struct vector *vector, enum vector_section section, const char *what,
    const char *expected, const char *found)
{
	size_t words = 0, at = 0;

	if (strcmp(expected, found) == 0)
		return;
	for (; expected[at] == found[at]; at++)
		words += expected[at] == ' ';
	words += (expected[at] == '\0' && found[at] == ' ') ||
	    (expected[at] == ' ' && found[at] == '\0');
	vector->line = vector->section_line[section];
	vector_fail(vector, "%s differ, first word %zu", what, words + 1);
	show_difference(what, expected, found, words);
}

/*
 * Our reader and libipt must see the same, in what both know, where the vector does
 * not say what libipt sees.
 */
static void
compare_readers(struct vector *vector, const char *ours, const uint8_t *stream,
    size_t bytes)
{
	static const char *const foreign[] = { "BBP", "BEP", "TRIG" };
	static const char extra[] = ".HW";
	char *mine = strdup(ours), *libipt, *at;

	if (vector->libipt[0] != '\0') {
		free(mine);
		libipt = packet_text_read(stream, bytes);
		compare(vector, VECTOR_LIBIPT, "libipt's packets",
		    vector->libipt, libipt);
		free(libipt);
		return;
	}
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
	libipt = packet_text_read(stream, bytes);
	compare(
	    vector, VECTOR_PACKETS, "libipt's packets and ours", libipt, mine);
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
see_packets(struct suite *suite, const char *text)
{
	for (; *text != '\0';
	     text += strcspn(text, " "), text += *text == ' ') {
		for (size_t i = 0; i < suite->packet_count; i++) {
			const char *name = suite->packet[i];
			size_t length = strlen(name);

			if (strncmp(text, name, length) == 0 &&
			    (strchr(name, '(') != NULL ||
				strchr(" (", text[length]) != NULL))
				suite->packet_seen[i] = true;
		}
	}
}

/* Adds WORDS of CPU to TEXT, those of other CPUs than the first behind their name. */
static void
add_words(struct vector *vector, char *text, unsigned cpu, const char *words)
{
	size_t used = strlen(text), room = VECTOR_TEXT_MAX - used;
	const char *gap = used == 0 || *words == '\0' ? "" : " ";
	int wrote;

	if (cpu == 0)
		wrote = snprintf(text + used, room, "%s%s", gap, words);
	else
		wrote = snprintf(text + used, room, "%scpu%u:%s%s",
		    used == 0 ? "" : " ", cpu, *words == '\0' ? "" : " ",
		    words);
	if (wrote < 0 || (size_t)wrote >= room)
		vector_fail(vector, "too long");
}

static void
check(struct suite *suite, struct vector *vector)
{
	static char packets[VECTOR_TEXT_MAX], decode[VECTOR_TEXT_MAX];
	size_t bytes = 0;
	const uint8_t *stream = NULL;
	char *text;

	packets[0] = decode[0] = '\0';
	for (unsigned cpu = 0; cpu < vector->cpus && !vector->failed; cpu++) {
		stream = suite->player->stream(vector, cpu, &bytes);
		text = reader_text(stream, bytes);
		add_words(vector, packets, cpu, text);
		compare_readers(vector, text, stream, bytes);
		free(text);
		if (vector->undecoded)
			continue;
		text = suite->player->decode(vector, cpu);
		add_words(vector, decode, cpu, text);
		free(text);
	}
	if (!vector->failed)
		compare(vector, VECTOR_PACKETS, "packets", vector->packets,
		    packets);
	if (!vector->failed && !vector->undecoded)
		compare(
		    vector, VECTOR_DECODE, "decode", vector->decode, decode);
	if (!vector->failed && vector->bytes[0] != '\0') {
		text = hex_text(stream, bytes);
		compare(vector, VECTOR_BYTES, "bytes", vector->bytes, text);
		free(text);
	}
	if (!vector->failed)
		see_packets(suite, packets);
}

static void
run_file(struct suite *suite, const char *path)
{
	struct vector *vector = calloc(1, sizeof(*vector));

	assert_non_null(vector);
	vector->path = path;
	vector->cpus = 1;
	vector->fake = fake_create();
	vector_read(vector, obey, suite);
	if (!vector->failed && suite->player->end != NULL)
		suite->player->end(vector);
	if (!vector->failed)
		check(suite, vector);
	suite->vectors++;
	suite->failed += vector->failed;
	if (suite->player->destroy != NULL)
		suite->player->destroy(vector);
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

/* Does the file have a section `code`? */
static bool
has_code(const char *path)
{
	char line[SUITE_LINE_MAX];
	FILE *file = fopen(path, "r");
	bool found = false;

	while (
	    file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
		found = strcmp(line, "code\n") == 0;
	if (file != NULL)
		fclose(file);
	return found;
}

/* The first word of each line of rows.txt that is the player's. */
static bool
read_rows(struct suite *suite, const char *folder)
{
	char path[SUITE_LINE_MAX], line[SUITE_LINE_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/rows.txt", folder);
	file = fopen(path, "r");
	if (file == NULL) {
		printf("%s: cannot be read\n", path);
		return false;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		if (line[0] == '#' || line[0] == '\n' ||
		    (strncmp(line, "code-", 5) == 0) != suite->player->code)
			continue;
		assert_true(suite->row_count < SUITE_ROWS_MAX);
		snprintf(suite->row[suite->row_count++], SUITE_NAME_MAX, "%.*s",
		    (int)strcspn(line, " \n"), line);
	}
	fclose(file);
	return true;
}

static void
add_packet(void *arg, const char *name)
{
	struct suite *suite = arg;

	assert_true(suite->packet_count < SUITE_ROWS_MAX);
	snprintf(
	    suite->packet[suite->packet_count++], SUITE_NAME_MAX, "%s", name);
}

/* Counts and prints what had no vector. */
static unsigned
missing(const struct suite *suite)
{
	unsigned count = 0;

	for (size_t i = 0; i < suite->row_count; i++) {
		if (!suite->row_seen[i] && ++count)
			printf("no vector: row %s\n", suite->row[i]);
	}
	for (size_t i = 0; i < suite->packet_count; i++) {
		if (!suite->packet_seen[i] && ++count)
			printf("no vector: packet %s\n", suite->packet[i]);
	}
	return count;
}

int
suite_play(const char *folder, const struct suite_player *player)
{
	struct suite *suite = calloc(1, sizeof(*suite));
	struct dirent **entries = NULL;
	int count;
	bool bad;

	assert_non_null(suite);
	suite->player = player;
	if (!read_rows(suite, folder)) {
		free(suite);
		return 1;
	}
	/* Guest code need not show each packet: the other vectors do. */
	if (!player->code)
		reader_each_name(add_packet, suite);
	count = scandir(folder, &entries, is_vector, by_bytes);
	for (int i = 0; i < count; i++) {
		char path[SUITE_LINE_MAX];

		snprintf(
		    path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (has_code(path) == player->code)
			run_file(suite, path);
		free(entries[i]);
	}
	free(entries);
	bad = missing(suite) != 0 || suite->failed != 0 || suite->vectors == 0;
	printf("%u vectors, %u failed; %zu rows, %zu packets and forms\n",
	    suite->vectors, suite->failed, suite->row_count,
	    suite->packet_count);
	free(suite);
	return bad;
}
