#include "traces/external/decoder_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_DIGITS 16

static const char *const format_names[DECODER_LINE_FORMATS] = {
	[DECODER_LINE_ANY] = "any",
	[DECODER_LINE_PERF] = "perf",
	[DECODER_LINE_PTXED] = "ptxed",
	[DECODER_LINE_PLAIN] = "plain",
};

/* A word of a line, and the number of blanks before it. */
struct word {
	const char *text;
	size_t length, blanks;
};

const char *
decoder_line_format_name(enum decoder_line_format format)
{
	return format_names[format];
}

enum decoder_line_format
decoder_line_format_find(const char *name)
{
	unsigned format = DECODER_LINE_PERF;

	while (format < DECODER_LINE_FORMATS &&
	    strcmp(name, format_names[format]) != 0)
		format++;
	return (enum decoder_line_format)format;
}

/* The word at *AT; moves *AT past it.  False: none is left. */
static bool
next_word(const char **at, struct word *word)
{
	size_t blanks = strspn(*at, " \t\r");

	word->blanks = blanks;
	word->text = *at + blanks;
	word->length = strcspn(word->text, " \t\r");
	*at = word->text + word->length;
	return word->length != 0;
}

static bool
word_is(const struct word *word, const char *text)
{
	return strlen(text) == word->length &&
	    memcmp(word->text, text, word->length) == 0;
}

/* True if WORD is 1 to 16 hexadecimal digits, with or without 0x. */
static bool
word_is_address(const struct word *word, uint64_t *value)
{
	const char *digits = word->text;
	size_t length = word->length;

	if (length > 2 && digits[0] == '0' && tolower(digits[1]) == 'x') {
		digits += 2;
		length -= 2;
	}
	if (length == 0 || length > ADDRESS_DIGITS)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isxdigit((unsigned char)digits[i]))
			return false;
	*value = strtoull(digits, NULL, 16);
	return true;
}

/* "[003]": perf's CPU. */
static bool
word_is_cpu(const struct word *word, uint32_t *cpu)
{
	if (word->length < 3 || word->text[0] != '[' ||
	    word->text[word->length - 1] != ']')
		return false;
	for (size_t i = 1; i + 1 < word->length; i++)
		if (!isdigit((unsigned char)word->text[i]))
			return false;
	*cpu = (uint32_t)strtoul(&word->text[1], NULL, 10);
	return true;
}

/* "cpu0.pt: 35168 bytes" heads a list of topaz decode. */
static bool
word_is_heading(const struct word *word)
{
	return word->length > 4 &&
	    memcmp(&word->text[word->length - 4], ".pt:", 4) == 0;
}

static bool
is_blank(const char *text)
{
	text += strspn(text, " \t\r");
	return *text == '\0' || *text == '#';
}

/* perf's error lines, also in lists of other formats: "... cpu 2 pid ..." */
static bool
parse_error_line(const char *text, struct decoder_line *line)
{
	static const char begin[] = "instruction trace error";
	const char *cpu;

	text += strspn(text, " \t");
	if (strncmp(text, begin, sizeof(begin) - 1) != 0)
		return false;
	cpu = strstr(text, " cpu ");
	if (cpu != NULL && isdigit((unsigned char)cpu[5]))
		line->cpu = (uint32_t)strtoul(&cpu[5], NULL, 10);
	line->kind = DECODER_LINE_GAP;
	return true;
}

/* True if WORD, which ends with ':', names another event, such as "branches:u:". */
static bool
is_other_event(const struct word *word)
{
	static const char *const ours[] = { "instructions", "cycles" };

	if (!isalpha((unsigned char)word->text[0]))
		return false;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ours); i++)
		if (strncmp(word->text, ours[i], strlen(ours[i])) == 0)
			return false;
	return true;
}

/*
 * The address is the first number after the CPU and the words that end with ':' (time,
 * event).  If none of these is printed, a number may be a tid.  After the comm, perf
 * right-aligns only addresses in 16 columns: a number that fills them is preferred.
 */
static struct decoder_line
parse_perf(const char *text)
{
	struct decoder_line line = { .cpu = DECODER_LINE_NO_CPU };
	bool wide = false, other = false, first = true;
	struct word word;
	uint64_t value;

	if (is_blank(text) || parse_error_line(text, &line))
		return line;
	for (; next_word(&text, &word); first = false) {
		bool colon = word.text[word.length - 1] == ':';

		if (word_is(&word, "insn:") || word_is(&word, "ilen:") ||
		    word_is(&word, "=>") ||
		    (word.text[0] == '(' && line.kind == DECODER_LINE_INSN))
			break;
		if (word_is_cpu(&word, &line.cpu) || colon) {
			line.kind = DECODER_LINE_NOTHING;
			wide = false;
			other |= colon && is_other_event(&word);
		} else if (!wide && word_is_address(&word, &value)) {
			bool fills = word.blanks + word.length >=
			    ADDRESS_DIGITS;

			if (line.kind != DECODER_LINE_INSN || fills)
				line.ip = value;
			line.kind = DECODER_LINE_INSN;
			wide = fills && !first;
		}
	}
	if (other) {
		line.kind = DECODER_LINE_NOTHING;
	} else if (line.kind != DECODER_LINE_INSN) {
		line.kind = DECODER_LINE_BAD;
		line.cause = "no address in it";
	}
	return line;
}

/* "[overflow]", "[1a2b, 400580: error: ...]", "[?, 0: ...]", "[1a2b: ...]". */
static bool
is_ptxed_gap(const char *text)
{
	static const char hex[] = "0123456789abcdefABCDEF?";
	size_t digits = strspn(&text[1], hex);

	return strncmp(text, "[overflow", 9) == 0 ||
	    (digits != 0 && strchr(":,", text[1 + digits]) != NULL);
}

static struct decoder_line
parse_ptxed(const char *text)
{
	struct decoder_line line = { .cpu = DECODER_LINE_NO_CPU };
	struct word word;
	uint64_t value;

	if (is_blank(text) || parse_error_line(text, &line))
		return line;
	if (strncmp(text, "? ", 2) == 0)
		text += 2; /* speculative */
	if (text[0] == '[') {
		line.kind = is_ptxed_gap(text) ? DECODER_LINE_GAP
					       : DECODER_LINE_NOTHING;
		return line;
	}
	if (!next_word(&text, &word) || !word_is_address(&word, &line.ip)) {
		if (word_is_heading(&word))
			return line;
		line.kind = DECODER_LINE_BAD;
		line.cause = "neither an address nor an event in brackets";
		return line;
	}
	line.kind = DECODER_LINE_INSN;
	if (next_word(&text, &word) && word.length == ADDRESS_DIGITS &&
	    word_is_address(&word, &value))
		line.ip = value;
	return line;
}

static struct decoder_line
parse_plain(const char *text)
{
	struct decoder_line line = { .cpu = DECODER_LINE_NO_CPU };
	struct word word;

	if (is_blank(text) || parse_error_line(text, &line))
		return line;
	if (next_word(&text, &word) && word_is_address(&word, &line.ip) &&
	    is_blank(text)) {
		line.kind = DECODER_LINE_INSN;
	} else {
		line.kind = DECODER_LINE_BAD;
		line.cause = "not one hexadecimal address";
	}
	return line;
}

struct decoder_line
decoder_line_parse(enum decoder_line_format format, const char *text)
{
	TZ_ASSERT(format > DECODER_LINE_ANY && format < DECODER_LINE_FORMATS);
	if (format == DECODER_LINE_PERF)
		return parse_perf(text);
	return format == DECODER_LINE_PTXED ? parse_ptxed(text)
					    : parse_plain(text);
}

enum decoder_line_format
decoder_line_recognise(const char *text)
{
	struct decoder_line line = { .cpu = DECODER_LINE_NO_CPU };
	struct word word;
	uint64_t value;
	uint32_t cpu;
	const char *rest = text;

	if (is_blank(text) || parse_error_line(text, &line))
		return DECODER_LINE_ANY;
	if (parse_plain(text).kind == DECODER_LINE_INSN)
		return DECODER_LINE_PLAIN;
	if (!next_word(&rest, &word))
		return DECODER_LINE_ANY;
	if (word.blanks == 0 && word.text[0] == '[' &&
	    !word_is_cpu(&word, &cpu))
		return DECODER_LINE_PTXED;
	if (word_is_heading(&word))
		return DECODER_LINE_PTXED;
	if (word.blanks == 0 && word.length == ADDRESS_DIGITS &&
	    word_is_address(&word, &value) && strstr(text, "insn:") == NULL &&
	    strstr(text, "=>") == NULL && strchr(text, '(') == NULL)
		return DECODER_LINE_PTXED;
	if (parse_perf(text).kind == DECODER_LINE_INSN)
		return DECODER_LINE_PERF;
	return DECODER_LINE_ANY;
}
