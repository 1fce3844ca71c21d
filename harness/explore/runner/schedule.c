#include "harness/explore/runner/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/host/input.h"

#define TOKEN_MAGIC "tz1"
#define TOKEN_PARTS 6

/* Appends; false: no room. */
static bool append(char *text, size_t text_size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool
append(char *text, size_t text_size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;
	int count;

	va_start(ap, fmt);
	count = vsnprintf(text + used, text_size - used, fmt, ap);
	va_end(ap);
	return count >= 0 && (size_t)count < text_size - used;
}

bool
schedule_format(const struct schedule *schedule, char *text, size_t text_size)
{
	bool fits = true;

	text[0] = '\0';
	for (unsigned i = 0; i < schedule->count; i++) {
		const struct deviation *deviation = &schedule->deviation[i];
		const struct deviation_info *kind = deviation_info(
		    deviation->kind);

		fits = fits &&
		    append(text, text_size, "%s%u@%" PRIu64 "=%s",
			i == 0 ? "" : ",", deviation->cpu, deviation->insns,
			kind->word);
		if (kind->parameter[0] != '\0')
			fits = fits &&
			    append(text, text_size, "%s%" PRIu64,
				deviation->kind == DEVIATION_SWITCH ? "" : "+",
				deviation->param);
	}
	return fits;
}

/* Parses a decimal number at *AT and advances *AT. */
static bool
parse_number(const char **at, uint64_t *value)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*value = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

/* Parses "1@4182=pmi" at *AT and advances *AT. */
static bool
parse_deviation(const char **at, struct deviation *deviation)
{
	uint64_t cpu;
	size_t length;

	if (!parse_number(at, &cpu) || cpu > UINT8_MAX || *(*at)++ != '@' ||
	    !parse_number(at, &deviation->insns) || *(*at)++ != '=')
		return false;
	deviation->cpu = (uint8_t)cpu;
	deviation->param = 0;
	length = strcspn(*at, ",+");
	if (strncmp(*at, "cpu", 3) == 0 && length > 3) {
		*at += 3;
		deviation->kind = DEVIATION_SWITCH;
		return parse_number(at, &deviation->param);
	}
	deviation->kind = deviation_find(*at, length);
	if (deviation->kind == DEVIATION_COUNT ||
	    deviation->kind == DEVIATION_SWITCH)
		return false;
	*at += length;
	if (deviation_info(deviation->kind)->parameter[0] == '\0')
		return true;
	return *(*at)++ == '+' && parse_number(at, &deviation->param);
}

int
schedule_parse(
    const char *text, struct schedule *schedule, struct tz_error *err)
{
	const char *at = text, *begin;

	*schedule = (struct schedule){ .count = 0 };
	while (*at != '\0') {
		begin = at;
		if (schedule->count == SCHEDULE_MAX)
			return tz_error(err, TZ_EUSAGE,
			    "deviations '%s': more than %d", text,
			    SCHEDULE_MAX);
		if (!parse_deviation(
			&at, &schedule->deviation[schedule->count]) ||
		    (*at != '\0' && *at != ','))
			return tz_error(err, TZ_EUSAGE,
			    "deviation '%.*s': not CPU@INSNS=DEVIATION; see: "
			    "topaz list deviations",
			    (int)strcspn(begin, ","), begin);
		schedule->count++;
		if (*at == ',' && *++at == '\0')
			return tz_error(err, TZ_EUSAGE,
			    "deviations '%s': nothing after the last ','",
			    text);
	}
	return 0;
}

bool
token_format(const struct token *token, char *text, size_t text_size)
{
	char deviations[TOKEN_TEXT_BYTES];
	char cpus[16] = "";

	if (token->cpus != 0)
		snprintf(cpus, sizeof(cpus), "@%u", token->cpus);
	text[0] = '\0';
	return schedule_format(
		   &token->schedule, deviations, sizeof(deviations)) &&
	    append(text, text_size,
		TOKEN_MAGIC ":%s%s%s%s%s%s:%s:%" PRIu64 ":%s:%04x", token->name,
		cpus, token->layout[0] != '\0' ? "," : "", token->layout,
		token->steps[0] != '\0' ? "=" : "", token->steps,
		token->profile, token->seed, deviations, token->check);
}

static bool
copy_part(char *to, size_t to_size, const char *from, size_t length)
{
	if (length >= to_size)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

int
token_parse_subject(const char *text, struct token *token, struct tz_error *err)
{
	size_t length = strcspn(text, "@,=");
	const char *at = text + length;
	uint64_t cpus = 0;
	bool good = length != 0 &&
	    copy_part(token->name, sizeof(token->name), text, length);

	token->layout[0] = token->steps[0] = '\0';
	if (good && *at == '@') {
		at++;
		good = parse_number(&at, &cpus) && cpus != 0 && cpus <= 64;
	}
	token->cpus = (unsigned)cpus;
	if (good && *at == ',') {
		length = strcspn(++at, "=");
		good = length != 0 &&
		    copy_part(token->layout, sizeof(token->layout), at, length);
		at += length;
	}
	if (good && *at == '=') {
		length = strlen(++at);
		good = length != 0 &&
		    copy_part(token->steps, sizeof(token->steps), at, length);
		at += length;
	}
	if (!good || *at != '\0')
		return tz_error(err, TZ_EUSAGE,
		    "'%s': not NAME[@CPUS][,LAYOUT]...[=STEPS]", text);
	return 0;
}

/* Reads the first line of FILE. */
static int
read_file(const char *file, char *text, size_t text_size, struct tz_error *err)
{
	uint8_t *bytes;
	size_t count, length;
	int error = input_read(file, INPUT_TOKEN, &bytes, &count, err);

	if (error != 0)
		return error;
	length = strcspn((const char *)bytes, "\r\n");
	if (!copy_part(text, text_size, (const char *)bytes, length))
		error = tz_error(
		    err, TZ_EUSAGE, "%s: its first line is no token", file);
	free(bytes);
	return error;
}

static int
parse_parts(char *text, struct token *token, struct tz_error *err)
{
	char *part[TOKEN_PARTS], *at = text;
	const char *seed;
	unsigned count = 0;
	int error;

	while (count < TOKEN_PARTS && (part[count++] = at) != NULL) {
		at = strchr(at, ':');
		if (at == NULL)
			break;
		*at++ = '\0';
	}
	if (count != TOKEN_PARTS || at != NULL ||
	    strcmp(part[0], TOKEN_MAGIC) != 0)
		return tz_error(err, TZ_EUSAGE,
		    "token '%s': not " TOKEN_MAGIC
		    ":SUBJECT:PROFILE:SEED:DEVIATIONS:CHECK",
		    text);
	error = token_parse_subject(part[1], token, err);
	if (error != 0)
		return error;
	if (!copy_part(token->profile, sizeof(token->profile), part[2],
		strlen(part[2])))
		return tz_error(err, TZ_EUSAGE,
		    "profile '%.60s...' of a token: too long", part[2]);
	seed = part[3];
	if (!parse_number(&seed, &token->seed) || *seed != '\0')
		return tz_error(err, TZ_EUSAGE,
		    "seed '%s' of a token: not a number of 64 bits", part[3]);
	token->check = (uint16_t)strtoul(part[5], NULL, 16);
	if (strlen(part[5]) != 4 ||
	    strspn(part[5], "0123456789abcdefABCDEF") != 4)
		return tz_error(err, TZ_EUSAGE,
		    "check '%s' of a token: not four hexadecimal digits",
		    part[5]);
	return schedule_parse(part[4], &token->schedule, err);
}

int
token_parse(const char *text, struct token *token, struct tz_error *err)
{
	char copy[2 * TOKEN_TEXT_BYTES];
	int error;

	*token = (struct token){ .cpus = 0 };
	if (text[0] == '@') {
		error = read_file(text + 1, copy, sizeof(copy), err);
		if (error != 0)
			return error;
	} else if (!copy_part(copy, sizeof(copy), text, strlen(text))) {
		return tz_error(err, TZ_EUSAGE, "the token is too long");
	}
	return parse_parts(copy, token, err);
}

void
schedule_kinds(const struct schedule *schedule, char *text, size_t text_size)
{
	text[0] = '\0';
	for (unsigned kind = 0; kind < DEVIATION_COUNT; kind++) {
		for (unsigned i = 0; i < schedule->count; i++) {
			if (schedule->deviation[i].kind != kind)
				continue;
			append(text, text_size, "%s%s",
			    text[0] == '\0' ? "" : "+",
			    deviation_info((enum deviation_kind)kind)->word);
			break;
		}
	}
}
