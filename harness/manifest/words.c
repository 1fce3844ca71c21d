#include "harness/manifest/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER true
#define TEXT   false
#define WORD(reader, key, kind, preset, text) \
 { reader, key, preset, text, kind },
static const struct word words[] = {
#include "harness/guest/words.def"
};
#undef WORD
#undef TEXT
#undef NUMBER

const struct word *
word_at(size_t index)
{
	return index < TZ_ARRAY_LEN(words) ? &words[index] : NULL;
}

static bool
is_equal(const char *name, const char *text, size_t length)
{
	return name != NULL && strlen(name) == length &&
	    strncmp(name, text, length) == 0;
}

static bool
reads(const struct word_readers *readers, const char *reader)
{
	const char *const all[] = { "kernel", readers->os, readers->program[0],
		readers->program[1] };

	for (size_t i = 0; i < TZ_ARRAY_LEN(all); i++) {
		if (all[i] != NULL && strcmp(all[i], reader) == 0)
			return true;
	}
	return false;
}

/* True for a number as the guest reads it: decimal, or 0x with lower-case digits. */
static bool
is_number(const char *text, size_t length)
{
	bool hex = length > 2 && text[0] == '0' && text[1] == 'x';
	size_t digits = hex ? 2 : 0;

	if (length - digits > (hex ? 16u : 20u) || length == digits)
		return false;
	if (strspn(text + digits, hex ? "0123456789abcdef" : "0123456789") <
	    length - digits)
		return false;
	errno = 0;
	(void)strtoull(text, NULL, hex ? 16 : 10);
	return errno == 0;
}

static bool
is_own(const struct word_readers *readers, const char *key, size_t length)
{
	for (size_t i = 0; i < readers->own_count; i++) {
		if (is_equal(readers->own[i], key, length))
			return true;
	}
	return false;
}

/* True if KEY is a parameter by which `topaz run` changes the configuration. */
static bool
is_of_run(const struct schema_run *run, const char *key, size_t length)
{
	for (uint32_t i = 0; run != NULL && i < run->words_count; i++) {
		if (is_equal(run->words[i].word, key, length))
			return true;
	}
	return false;
}

static int
check_number(const char *word, size_t length, size_t key, struct tz_error *err)
{
	if (is_number(word + key + 1, length - key - 1))
		return 0;
	return tz_error(err, TZ_EUSAGE,
	    "'%.*s': the value is not a number of 64 bits, decimal or 0x...",
	    length < 60 ? (int)length : 60, word);
}

static int
check_word(const char *word, size_t length, const struct word_readers *readers,
    struct tz_error *err)
{
	size_t key = strcspn(word, "= ");
	int shown = length < 60 ? (int)length : 60;

	if (key == 0 || key >= length || strcspn(word, "\t\r\n") < length)
		return tz_error(
		    err, TZ_EUSAGE, "'%.*s': not KEY=VALUE", shown, word);
	if (is_own(readers, word, key))
		return 0;
	if (is_of_run(readers->run, word, key))
		return check_number(word, length, key, err);
	for (size_t i = 0; i < TZ_ARRAY_LEN(words); i++) {
		if (!is_equal(words[i].key, word, key) ||
		    !reads(readers, words[i].reader))
			continue;
		return words[i].number ? check_number(word, length, key, err)
				       : 0;
	}
	return tz_error(err, TZ_EUSAGE,
	    "'%.*s': no word that the guest reads; see: topaz list words",
	    shown, word);
}

int
words_check(
    const char *line, const struct word_readers *readers, struct tz_error *err)
{
	for (;;) {
		size_t length;
		int error;

		line += strspn(line, " ");
		length = strcspn(line, " ");
		if (length == 0)
			return 0;
		error = check_word(line, length, readers, err);
		if (error != 0)
			return error;
		line += length;
	}
}
