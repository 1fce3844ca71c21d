#include "harness/cost/code.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/load/elf/elf_function.h"

/* A block to be filled; NULL: no memory. */
static struct code_piece *
add_block(struct code *code, size_t bytes, struct tz_error *err)
{
	struct code_piece *more = code->block;

	if ((code->count & (code->count - 1)) == 0)
		more = realloc(code->block,
		    (code->count == 0 ? 1 : 2 * code->count) * sizeof(*more));
	if (more == NULL) {
		(void)tz_error(err, TZ_EIO, "out of memory");
		return NULL;
	}
	code->block = more;
	more = &code->block[code->count];
	*more = (struct code_piece){ .bytes = malloc(bytes + 1) };
	if (more->bytes == NULL) {
		(void)tz_error(err, TZ_EIO, "out of memory");
		return NULL;
	}
	code->count++;
	return more;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes of LENGTH characters TEXT; NULL, or what is wrong with it. */
static const char *
read_bytes(const char *text, size_t length, struct code_piece *block)
{
	size_t i = 0;

	while (i < length) {
		int high, low;

		if (text[i] == ' ' || text[i] == '\t' || text[i] == '\r') {
			i++;
			continue;
		}
		high = digit(text[i]);
		low = i + 1 < length ? digit(text[i + 1]) : -1;
		if (high < 0)
			return "not a hexadecimal digit";
		if (low < 0)
			return "half a byte";
		block->bytes[block->count++] = (uint8_t)(high << 4 | low);
		i += 2;
	}
	if (block->count == 0)
		return "no code";
	return block->count > COST_BYTES_MAX ? "more than 4096 bytes" : NULL;
}

/* The measurement in TEXT, in cycles an iteration; NULL, or what is wrong. */
static const char *
read_measured(const char *text, unsigned iterations, struct code_piece *block)
{
	char *end;

	errno = 0;
	block->measured = strtod(text, &end) / iterations;
	if (end == text || errno != 0 ||
	    (*end != '\0' && *end != ',' && *end != '\r'))
		return "the measurement is not a number";
	/* Also refuses what is not a number at all. */
	return block->measured > 0 && block->measured < 1e12
	    ? NULL
	    : "the measurement is not above 0";
}

static int
read_line(const char *path, size_t number, const char *line,
    unsigned iterations, struct code *code, struct tz_error *err)
{
	const char *comma = iterations == 0 ? NULL : strchr(line, ',');
	size_t length = comma == NULL ? strlen(line) : (size_t)(comma - line);
	struct code_piece *block = add_block(code, length / 2, err);
	const char *wrong;

	if (block == NULL)
		return -TZ_EIO;
	block->line = number;
	wrong = read_bytes(line, length, block);
	if (wrong == NULL && iterations != 0)
		wrong = comma == NULL
		    ? "no measurement after a comma"
		    : read_measured(comma + 1, iterations, block);
	if (wrong == NULL)
		return 0;
	free(block->bytes);
	code->count--;
	return tz_error(err, TZ_EFORMAT, "%s:%zu: %s", path, number, wrong);
}

/* True if neither the first field of LINE nor its second begins as it has to. */
static bool
is_header(const char *line)
{
	const char *comma = strchr(line, ',');

	return comma != NULL && comma != line && digit(line[0]) < 0 &&
	    (isalpha((unsigned char)comma[1]) || comma[1] == '_');
}

int
code_read_text(FILE *file, const char *path, unsigned iterations,
    struct code *code, struct tz_error *err)
{
	char *line = NULL;
	size_t size = 0, number = 0;
	int error = 0;

	*code = (struct code){ .count = 0 };
	while (error == 0) {
		ssize_t length = getline(&line, &size, file);

		if (length < 0)
			break;
		number++;
		if (length > 0 && line[length - 1] == '\n')
			line[--length] = '\0';
		if (strlen(line) != (size_t)length)
			error = tz_error(err, TZ_EFORMAT, "%s:%zu: a NUL byte",
			    path, number);
		else if (line[strspn(line, " \t\r")] != '\0' && line[0] != '#')
			error = read_line(
			    path, number, line, iterations, code, err);
		if (error != 0 && iterations != 0 && number == 1 &&
		    is_header(line))
			error = 0;
	}
	free(line);
	if (error == 0 && ferror(file))
		error = tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	if (error == 0 && code->count == 0)
		error = tz_error(
		    err, TZ_EFORMAT, "%s: no line with code", path);
	return error;
}

/* Marks the first byte of each basic block of FUNCTION in BEGINS. */
static void
find_begins(const struct elf_function *function, bool *begins)
{
	struct insn insn;

	begins[0] = true;
	for (size_t at = 0; at < function->count; at += insn.length) {
		uint64_t target;

		if (!insn_decode(function->bytes + at, function->count - at,
			function->va + at, &insn))
			return;
		if (!insn_is_transfer(insn.class))
			continue;
		if (at + insn.length < function->count)
			begins[at + insn.length] = true;
		target = insn.target - function->va;
		if ((insn.class == INSN_COND ||
			insn.class == INSN_JMP_DIRECT) &&
		    target < function->count)
			begins[target] = true;
	}
}

static int
add_range(struct code *code, const struct elf_function *function, size_t begin,
    size_t end, struct tz_error *err)
{
	struct code_piece *block = add_block(code, end - begin, err);

	if (block == NULL)
		return -TZ_EIO;
	block->name = strdup(function->name);
	if (block->name == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	block->va = function->va + begin;
	block->function_va = function->va;
	block->count = end - begin;
	memcpy(block->bytes, function->bytes + begin, end - begin);
	return 0;
}

static int
add_function(struct code *code, const struct elf_function *function,
    struct tz_error *err)
{
	bool *begins = calloc(function->count, sizeof(*begins));
	size_t begin = 0;
	int error = 0;

	if (begins == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	find_begins(function, begins);
	for (size_t end = 1; error == 0 && end <= function->count; end++) {
		if (end < function->count && !begins[end])
			continue;
		error = add_range(code, function, begin, end, err);
		begin = end;
	}
	free(begins);
	return error;
}

int
code_read_elf(
    const char *path, const char *name, struct code *code, struct tz_error *err)
{
	struct elf_function *functions;
	size_t count;
	int error = elf_functions_read(path, name, &functions, &count, err);

	*code = (struct code){ .count = 0 };
	for (size_t i = 0; error == 0 && i < count; i++)
		error = add_function(code, &functions[i], err);
	elf_functions_free(functions, count);
	return error;
}

void
code_free(struct code *code)
{
	for (size_t i = 0; i < code->count; i++) {
		free(code->block[i].name);
		free(code->block[i].bytes);
	}
	free(code->block);
}

static void
judge(const struct profile_cost *model, const struct code_piece *block,
    enum code_mode mode, struct cost_insn *insn, struct code_cost *cost)
{
	for (size_t at = 0; at < block->count;
	     at += insn[cost->insns++].facts.length) {
		struct cost_insn *next = &insn[cost->insns];

		if (!cost_insn(model, block->bytes + at, block->count - at,
			block->va + at, next)) {
			snprintf(cost->reason, sizeof(cost->reason),
			    "no instruction at byte %zu", at);
			return;
		}
		if (next->uops == NULL) {
			snprintf(cost->reason, sizeof(cost->reason),
			    "%s at byte %zu is not in the table",
			    next->facts.form, at);
			return;
		}
	}
	if (mode == CODE_UNROLLED)
		cost_unrolled(model, insn, cost->insns, &cost->result);
	else
		cost_run(model, insn, cost->insns, &cost->result);
}

int
code_cost(const struct profile_cost *model, const struct code_piece *block,
    enum code_mode mode, struct code_cost *cost, struct tz_error *err)
{
	struct cost_insn *insn;

	*cost = (struct code_cost){ .insns = 0 };
	if (block->count > COST_BYTES_MAX) {
		snprintf(cost->reason, sizeof(cost->reason),
		    "%zu bytes without a branch, more than %d", block->count,
		    COST_BYTES_MAX);
		return 0;
	}
	insn = calloc(block->count, sizeof(*insn));
	if (insn == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	judge(model, block, mode, insn, cost);
	free(insn);
	return 0;
}
