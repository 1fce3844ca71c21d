/*
 * Goal: the performance counters and the Debug Store do what their vectors
 * say, and each row of their tables has one.  Method: README.md; the memory
 * is an array, by linear address.
 */
#include "emu/ds/ds.h"
#include "emu/pmu/pmu.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY_BYTES 0x10000u
#define PAGE_BYTES   0x1000u
#define WORDS_MAX    80
#define ROWS_MAX     512
#define FILES_MAX    16

static const char *const signals[] = {
#define SIGNAL(name, text) #name,
#include "emu/pmu/signal.def"
#undef SIGNAL
};

static const char *const values[] = {
#define VALUE(name, text) #name,
#include "emu/ds/value.def"
#undef VALUE
};

/* The rows that vectors have to name. */
static const char *const tables[] = {
#define AREA(name, index, text) "area " #name,
#include "emu/ds/area.def"
#undef AREA
#define DEBUGCTL(name, bit, needs, text) "debugctl " #name,
#include "emu/ds/debugctl.def"
#undef DEBUGCTL
#define RECORD(offset, first, last, value) "record " #offset "." #value,
#include "emu/ds/record.def"
#undef RECORD
#define ADAPTIVE(group, index, value) "adaptive " #group "." #index,
#include "emu/ds/adaptive.def"
#undef ADAPTIVE
#define EVENT(select, umask, families, signal, text, citation) \
 "event " #select "." #umask "." #families,
#include "emu/pmu/event.def"
#undef EVENT
#define MSR(first, count, kind, version, name, citation) "msr " name,
#include "emu/pmu/msr.def"
#undef MSR
	"msr IA32_DEBUGCTL",
	"msr IA32_DS_AREA",
};

struct player {
	const char *file;
	unsigned line;
	char name[64];
	struct pmu pmu;
	struct ds ds;
	uint64_t memory[MEMORY_BYTES / 8];
	bool unmapped[MEMORY_BYTES / PAGE_BYTES];
	struct pmu_outcome outcome;
	struct ds_result result;
	bool named[ROWS_MAX];
	unsigned vectors;
};

/* The words of a line. */
struct words {
	char *word[WORDS_MAX];
	unsigned count;
};

static void
refuse(const struct player *player, const char *text, const char *word)
{
	fail_msg("%s:%u: %s: %s: %s", player->file, player->line, player->name,
	    text, word);
}

static uint64_t
number(const struct player *player, const char *word)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(word, &end, 16);
	if (*word == '\0' || *end != '\0' || errno != 0)
		refuse(player, "not a number", word);
	return value;
}

static void
expect(
    const struct player *player, const char *what, uint64_t is, uint64_t should)
{
	if (is != should)
		fail_msg("%s:%u: %s: %s is %llx, not %llx", player->file,
		    player->line, player->name, what, (unsigned long long)is,
		    (unsigned long long)should);
}

static size_t
find_name(const struct player *player, const char *const *names, size_t count,
    const char *word, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == length &&
		    memcmp(names[i], word, length) == 0)
			return i;
	refuse(player, "no such name", word);
	return 0;
}

static bool
reach(
    const struct player *player, struct gva va, size_t count, struct gva *fault)
{
	for (uint64_t at = va.u; at < va.u + count; at++) {
		fault->u = at;
		if (at >= MEMORY_BYTES || player->unmapped[at / PAGE_BYTES])
			return false;
	}
	return true;
}

static bool
port_read(
    void *arg, struct gva va, void *bytes, size_t count, struct gva *fault)
{
	struct player *player = arg;

	if (!reach(player, va, count, fault))
		return false;
	memcpy(bytes, (const char *)player->memory + va.u, count);
	return true;
}

static bool
port_write(void *arg, struct gva va, const void *bytes, size_t count,
    struct gva *fault)
{
	struct player *player = arg;

	if (!reach(player, va, count, fault))
		return false;
	memcpy((char *)player->memory + va.u, bytes, count);
	return true;
}

static struct ds_port
port_of(struct player *player)
{
	return (struct ds_port){
		.arg = player, .read = port_read, .write = port_write
	};
}

static void
set_profile(struct player *player, const char *name)
{
	const struct profile *profile = profile_find(name);

	if (profile == NULL)
		refuse(player, "no such profile", name);
	pmu_reset(&player->pmu, profile);
	ds_reset(&player->ds, profile);
}

static enum fault
write_msr(struct player *player, uint32_t index, uint64_t value)
{
	return ds_owns_msr(index) ? ds_wrmsr(&player->ds, index, value)
				  : pmu_wrmsr(&player->pmu, index, value);
}

static enum fault
read_msr(struct player *player, uint32_t index, uint64_t *value)
{
	return ds_owns_msr(index) ? ds_rdmsr(&player->ds, index, value)
				  : pmu_rdmsr(&player->pmu, index, value);
}

static uint32_t
index_of(const struct player *player, const char *word)
{
	uint32_t index = (uint32_t)number(player, word);

	if (!ds_owns_msr(index) && !pmu_owns_msr(index))
		refuse(player, "an MSR of another unit", word);
	return index;
}

static void
do_vector(struct player *player, const struct words *words)
{
	snprintf(player->name, sizeof(player->name), "%s", words->word[1]);
	memset(player->memory, 0, sizeof(player->memory));
	memset(player->unmapped, 0, sizeof(player->unmapped));
	player->vectors++;
	set_profile(player, "skylake");
}

static void
do_row(struct player *player, const struct words *words)
{
	char row[96];

	snprintf(row, sizeof(row), "%s %s", words->word[1], words->word[2]);
	player->named[find_name(
	    player, tables, TZ_ARRAY_LEN(tables), row, strlen(row))] = true;
}

static void
do_profile(struct player *player, const struct words *words)
{
	set_profile(player, words->word[1]);
}

static void
do_wrmsr(struct player *player, const struct words *words)
{
	enum fault fault = write_msr(player, index_of(player, words->word[1]),
	    number(player, words->word[2]));

	expect(player, "the fault", fault,
	    words->count > 3 ? FAULT_GP : FAULT_NONE);
}

static void
do_rdmsr(struct player *player, const struct words *words)
{
	bool gp = strcmp(words->word[2], "gp") == 0;
	uint64_t value = 0;
	enum fault fault = read_msr(
	    player, index_of(player, words->word[1]), &value);

	expect(player, "the fault", fault, gp ? FAULT_GP : FAULT_NONE);
	if (!gp)
		expect(
		    player, "the MSR", value, number(player, words->word[2]));
}

static void
do_bits(struct player *player, const struct words *words)
{
	uint32_t index = index_of(player, words->word[1]);
	uint64_t mask = number(player, words->word[2]);

	for (unsigned bit = 0; bit < 64; bit++)
		expect(player, "a bit's fault",
		    write_msr(player, index, TZ_BIT(bit)),
		    mask >> bit & 1 ? FAULT_NONE : FAULT_GP);
}

static uint64_t *
word_at(struct player *player, const char *word, unsigned index)
{
	uint64_t va = number(player, word) + index * UINT64_C(8);

	if (va % 8 != 0 || va >= MEMORY_BYTES)
		refuse(player, "no word of the memory", word);
	return &player->memory[va / 8];
}

static void
do_poke(struct player *player, const struct words *words)
{
	for (unsigned i = 2; i < words->count; i++)
		*word_at(player, words->word[1], i - 2) = number(
		    player, words->word[i]);
}

static void
do_peek(struct player *player, const struct words *words)
{
	for (unsigned i = 2; i < words->count; i++)
		expect(player, "a word",
		    *word_at(player, words->word[1], i - 2),
		    number(player, words->word[i]));
}

static void
do_unmap(struct player *player, const struct words *words)
{
	word_at(player, words->word[1], 0);
	player->unmapped[number(player, words->word[1]) / PAGE_BYTES] = true;
}

/* NAME=VALUE; returns the value, and the number of NAME in *INDEX. */
static uint64_t
assignment(const struct player *player, const char *const *names, size_t count,
    const char *word, size_t *index)
{
	const char *sign = strchr(word, '=');

	if (sign == NULL)
		refuse(player, "no =", word);
	*index = find_name(player, names, count, word, (size_t)(sign - word));
	return number(player, sign + 1);
}

static void
do_count(struct player *player, const struct words *words)
{
	struct pmu_slice slice = { { 0 } };

	for (unsigned i = 2; i < words->count; i++) {
		size_t index;
		uint64_t count = assignment(player, signals,
		    TZ_ARRAY_LEN(signals), words->word[i], &index);

		slice.count[index] = count;
	}
	player->outcome = pmu_count(&player->pmu,
	    number(player, words->word[1]) != 0, &slice,
	    (player->ds.debugctl & DS_DEBUGCTL_FREEZE_PERFMON) != 0);
}

static void
do_overflow(struct player *player, const struct words *words)
{
	expect(player, "the overflow", player->outcome.overflows,
	    number(player, words->word[1]));
}

static void
do_pmi(struct player *player, const struct words *words)
{
	expect(player, "the PMI", player->outcome.pmi,
	    number(player, words->word[1]));
}

static void
do_due(struct player *player, const struct words *words)
{
	expect(player, "what is due", player->outcome.pebs,
	    number(player, words->word[1]));
}

static void
do_branch(struct player *player, const struct words *words)
{
	const struct ds_branch branch = { .from = number(
					      player, words->word[1]),
		.to = number(player, words->word[2]) };
	const struct ds_port port = port_of(player);

	ds_store_branch(&player->ds, &port, &branch, &player->result);
}

static void
do_records(struct player *player, const struct words *words)
{
	expect(player, "whether it is recorded",
	    ds_records_branches(
		&player->ds, number(player, words->word[1]) != 0),
	    number(player, words->word[2]));
}

static void
do_sample(struct player *player, const struct words *words)
{
	const struct ds_port port = port_of(player);
	struct ds_sample sample;

	memset(&sample, 0xee, sizeof(sample));
	for (unsigned i = 2; i < words->count; i++) {
		size_t index;
		uint64_t value = assignment(player, values,
		    TZ_ARRAY_LEN(values), words->word[i], &index);

		sample.value[index] = value;
	}
	ds_store_sample(&player->ds, &port, &sample,
	    number(player, words->word[1]), &player->result);
}

static void
do_reset(struct player *player, const struct words *words)
{
	const struct ds_port port = port_of(player);
	struct gva fault = { 0 };
	uint64_t value = 0;

	if (!ds_reset_value(&player->ds, &port,
		(unsigned)number(player, words->word[1]),
		number(player, words->word[2]) != 0, &value, &fault))
		refuse(player, "a page fault", words->word[0]);
	expect(
	    player, "the reset value", value, number(player, words->word[3]));
}

static void
expect_end(struct player *player, const struct words *words, enum ds_end end,
    struct gva where)
{
	expect(player, "the end", player->result.end, end);
	expect(player, "its address", where.u, number(player, words->word[1]));
}

static void
do_stored(struct player *player, const struct words *words)
{
	expect_end(player, words, DS_STORED, player->result.record);
}

static void
do_full(struct player *player, const struct words *words)
{
	expect_end(player, words, DS_FULL, player->result.record);
}

static void
do_read_fault(struct player *player, const struct words *words)
{
	expect_end(player, words, DS_READ_FAULT, player->result.fault);
}

static void
do_write_fault(struct player *player, const struct words *words)
{
	expect_end(player, words, DS_WRITE_FAULT, player->result.fault);
}

static void
do_threshold(struct player *player, const struct words *words)
{
	expect(player, "the threshold", player->result.pmi,
	    number(player, words->word[1]));
}

/* A line's first word, and how many words follow at least. */
static const struct {
	const char *word;
	unsigned least;
	void (*play)(struct player *player, const struct words *words);
} commands[] = {
	{ "vector", 1, do_vector },
	{ "row", 2, do_row },
	{ "profile", 1, do_profile },
	{ "wrmsr", 2, do_wrmsr },
	{ "rdmsr", 2, do_rdmsr },
	{ "bits", 2, do_bits },
	{ "poke", 2, do_poke },
	{ "peek", 2, do_peek },
	{ "unmap", 1, do_unmap },
	{ "count", 2, do_count },
	{ "overflow", 1, do_overflow },
	{ "pmi", 1, do_pmi },
	{ "due", 1, do_due },
	{ "branch", 2, do_branch },
	{ "records", 2, do_records },
	{ "sample", 2, do_sample },
	{ "reset", 3, do_reset },
	{ "stored", 1, do_stored },
	{ "full", 1, do_full },
	{ "read-fault", 1, do_read_fault },
	{ "write-fault", 1, do_write_fault },
	{ "threshold", 1, do_threshold },
};

static void
play_words(struct player *player, const struct words *words)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].word, words->word[0]) != 0)
			continue;
		if (words->count <= commands[i].least)
			refuse(player, "too few words", words->word[0]);
		if (player->vectors == 0 && i != 0)
			refuse(player, "before a vector", words->word[0]);
		commands[i].play(player, words);
		return;
	}
	refuse(player, "no such line", words->word[0]);
}

static void
play_file(struct player *player, const char *path)
{
	char line[2048];
	FILE *file = fopen(path, "r");

	if (file == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	player->file = path;
	player->line = 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		struct words words = { .count = 0 };
		char *rest = line, *word;

		player->line++;
		while (words.count < WORDS_MAX &&
		    (word = strtok_r(rest, " \t\n", &rest)) != NULL)
			words.word[words.count++] = word;
		if (words.count > 0 && words.word[0][0] != '#')
			play_words(player, &words);
	}
	fclose(file);
}

static const char *folder = ".";

static int
is_vectors(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot != NULL && strcmp(dot, ".rec") == 0;
}

static void
vectors_and_their_rows(void **state)
{
	static struct player player;
	struct dirent **files;
	int count = scandir(folder, &files, is_vectors, alphasort);
	unsigned missing = 0;

	(void)state;
	assert_in_range(count, 1, FILES_MAX);
	for (int i = 0; i < count; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", folder, files[i]->d_name);
		play_file(&player, path);
		free(files[i]);
	}
	free(files);
	assert_true(TZ_ARRAY_LEN(tables) <= ROWS_MAX);
	for (size_t i = 0; i < TZ_ARRAY_LEN(tables); i++)
		if (!player.named[i]) {
			print_message("no vector has: row %s\n", tables[i]);
			missing++;
		}
	assert_int_equal(missing, 0);
	print_message(
	    "%u vectors, %zu rows\n", player.vectors, TZ_ARRAY_LEN(tables));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_and_their_rows),
	};

	if (argc > 1)
		folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
