/* The names of slots and states, and errors with their place in the file. */
#define _GNU_SOURCE
#include "harness/manifest/compile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/manifest/yaml_position.h"

int
compile_error(const struct compiler *compiler, const char *fmt, ...)
{
	struct position at = position_find(
	    compiler->text, compiler->text_bytes, compiler->where);
	char text[384];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return tz_error(compiler->err, TZ_EFORMAT, "%s:%u:%u: %s",
	    compiler->path, at.line, at.column, text);
}

void
compile_at(struct compiler *compiler, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(compiler->where, sizeof(compiler->where), fmt, args);
	va_end(args);
}

/* NAME, with a final '*' replaced by the suffix of the instance. */
static int
full_name(const struct compiler *compiler, const char *name, char to[64])
{
	size_t bytes = strlen(name);
	bool starred = bytes != 0 && name[bytes - 1] == '*';

	if (starred && compiler->suffix == NULL)
		return compile_error(compiler,
		    "\"%s\": '*' stands for an instance, and there is none",
		    name);
	if (bytes == 0 || bytes > 31)
		return compile_error(
		    compiler, "\"%s\": names have 1 to 31 characters", name);
	snprintf(to, 64, "%.*s%s", (int)(bytes - starred), name,
	    starred ? compiler->suffix : "");
	return 0;
}

/* The index of NAME in LIST; adds NAME if it is new. */
static int
intern(struct compiler *compiler, const char *name, char **list,
    unsigned *count, unsigned max, unsigned *index)
{
	char full[64];
	int error = full_name(compiler, name, full);
	unsigned i;

	if (error != 0)
		return error;
	for (i = 0; i < *count && strcmp(list[i], full) != 0; i++)
		continue;
	*index = i;
	if (i < *count)
		return 0;
	if (i == max)
		return compile_error(
		    compiler, "\"%s\": more than %u of these names", full, max);
	list[i] = strdup(full);
	if (list[i] == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	(*count)++;
	return 0;
}

int
compile_slot(struct compiler *compiler, const char *name, uint16_t *slot)
{
	struct manifest *manifest = compiler->manifest;
	unsigned index = 0;
	int error = intern(compiler, name, manifest->slot,
	    &manifest->slot_count, SCRIPT_SLOTS, &index);

	*slot = (uint16_t)index;
	return error;
}

int
compile_known_slot(struct compiler *compiler, const char *name, uint16_t *slot)
{
	unsigned known = compiler->manifest->slot_count;
	int error = compile_slot(compiler, name, slot);

	if (error == 0 && *slot >= known)
		return compile_error(
		    compiler, "\"%s\": no operation has this result", name);
	return error;
}

/* The mask of the states NAMES; KNOWN: a new state is an error. */
static int
add_states(struct compiler *compiler, const char *key, char *const *names,
    unsigned count, bool known, uint64_t *mask)
{
	struct manifest *manifest = compiler->manifest;
	size_t length = strlen(compiler->where);
	unsigned i, index = 0;
	int error = 0;

	*mask = 0;
	for (i = 0; error == 0 && i < count; i++) {
		unsigned there = manifest->state_count;

		snprintf(compiler->where + length,
		    sizeof(compiler->where) - length, "%s/%u", key, i);
		error = intern(compiler, names[i], manifest->state,
		    &manifest->state_count, SCHEMA_STATES_MAX, &index);
		if (error == 0 && known && index >= there)
			error = compile_error(compiler,
			    "\"%s\": no operation gives this state, and it is "
			    "not in \"initial\"",
			    names[i]);
		*mask |= TZ_BIT(index);
	}
	compiler->where[length] = '\0';
	return error;
}

int
compile_states(struct compiler *compiler, const char *key, char *const *names,
    unsigned count, uint64_t *mask)
{
	return add_states(compiler, key, names, count, false, mask);
}

int
compile_known_states(struct compiler *compiler, const char *key,
    char *const *names, unsigned count, uint64_t *mask)
{
	return add_states(compiler, key, names, count, true, mask);
}
