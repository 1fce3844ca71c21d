#define _GNU_SOURCE
#include "harness/flags.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/load/text_list.h"
#include "harness/manifest/schema.h"
#include "harness/manifest/yaml_position.h"

static const struct {
	const char *text;
	bool more;
} allowed[] = {
#define CFLAG(text, more, effect) { text, more },
#include "harness/cflags.def"
#undef CFLAG
};

/* Options of -W that pass arguments to other programs. */
static const char *const handed_on[] = { "-Wa,", "-Wl,", "-Wp," };

struct flags {
	const struct flags_file *file;
	struct text_list list;
	struct tz_error *err;
};

const char *
flags_allowed(size_t index)
{
	return index < TZ_ARRAY_LEN(allowed) ? allowed[index].text : NULL;
}

/* Sets the error of entry INDEX of KEY. */
static int flags_error(const struct flags *flags, const char *key,
    uint32_t index, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static int
flags_error(const struct flags *flags, const char *key, uint32_t index,
    const char *fmt, ...)
{
	const struct flags_file *file = flags->file;
	struct position at;
	char where[32], text[384];
	va_list args;

	snprintf(where, sizeof(where), "%s/%" PRIu32, key, index);
	at = position_find(file->text, file->text_bytes, where);
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return tz_error(flags->err, TZ_EFORMAT, "%s:%u:%u: %s: %s", file->path,
	    at.line, at.column, key, text);
}

static bool
has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool
is_printable(const char *text)
{
	for (; *text != '\0'; text++) {
		if (iscntrl((unsigned char)*text))
			return false;
	}
	return true;
}

/* True if PATH is FOLDER, or is in it. */
static bool
is_within(const char *path, const char *folder)
{
	size_t bytes = strlen(folder);

	return strncmp(path, folder, bytes) == 0 &&
	    (path[bytes] == '\0' || path[bytes] == '/');
}

/* Paths "/..." and "../..." may lead out of the driver's folder. */
static bool
leads_out(const char *text)
{
	return text[0] == '/' || strcmp(text, "..") == 0 ||
	    has_prefix(text, "../");
}

static int
add_include(struct flags *flags, uint32_t index, const char *text)
{
	const struct flags_file *file = flags->file;
	char path[PATH_MAX], folder[PATH_MAX], found[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s%s%s",
		text[0] == '/' ? "" : file->dir, text[0] == '/' ? "" : "/",
		text) >= (int)sizeof(path))
		return flags_error(
		    flags, "include", index, "\"%.60s...\": too long", text);
	if (text[0] == '\0' || realpath(path, found) == NULL ||
	    realpath(file->dir, folder) == NULL || stat(found, &st) != 0)
		return flags_error(flags, "include", index, "\"%s\": %s", text,
		    text[0] == '\0' ? "no folder" : strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return flags_error(
		    flags, "include", index, "\"%s\": not a folder", text);
	if (!leads_out(text) && !is_within(found, folder))
		return flags_error(flags, "include", index,
		    "\"%s\": not in the driver's folder; a path out of it "
		    "begins with / or ../",
		    text);
	/* -ffile-prefix-map ends the folder at the first '='. */
	if (strchr(found, '=') != NULL || !is_printable(found))
		return flags_error(flags, "include", index,
		    "\"%s\": a path with '=' or a control character", text);
	text_list_add(&flags->list, "-I%s", found);
	text_list_add(&flags->list, "-ffile-prefix-map=%s=%s", found, text);
	return 0;
}

static size_t
identifier_bytes(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				      "0123456789";

	return isdigit((unsigned char)text[0]) ? 0 : strspn(text, letters);
}

static int
add_define(struct flags *flags, const struct schema *schema, uint32_t index)
{
	const char *text = schema->defines[index];
	size_t bytes = identifier_bytes(text);

	if (bytes == 0 || (text[bytes] != '\0' && text[bytes] != '=') ||
	    !is_printable(text))
		return flags_error(flags, "defines", index,
		    "\"%s\": neither NAME nor NAME=VALUE", text);
	for (uint32_t i = 0; i < index; i++) {
		if (identifier_bytes(schema->defines[i]) == bytes &&
		    strncmp(schema->defines[i], text, bytes) == 0)
			return flags_error(flags, "defines", index,
			    "\"%.*s\" is there twice", (int)bytes, text);
	}
	text_list_add(&flags->list, "-D%s", text);
	return 0;
}

static bool
is_allowed(const char *text)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(handed_on); i++) {
		if (has_prefix(text, handed_on[i]))
			return false;
	}
	for (size_t i = 0; i < TZ_ARRAY_LEN(allowed); i++) {
		if (allowed[i].more ? has_prefix(text, allowed[i].text)
				    : strcmp(text, allowed[i].text) == 0)
			return is_printable(text);
	}
	return false;
}

static int
add_cflag(struct flags *flags, uint32_t index, const char *text)
{
	if (!is_allowed(text))
		return flags_error(flags, "cflags", index,
		    "\"%s\": none of the flags that a manifest may give "
		    "(harness/cflags.def)",
		    text);
	text_list_add(&flags->list, "%s", text);
	return 0;
}

int
flags_read(const struct schema *schema, const struct flags_file *file,
    char ***flags, struct tz_error *err)
{
	struct flags all = { .file = file, .err = err };
	int error = 0;
	uint32_t i;

	*flags = NULL;
	for (i = 0; error == 0 && i < schema->include_count; i++)
		error = add_include(&all, i, schema->include[i]);
	for (i = 0; error == 0 && i < schema->defines_count; i++)
		error = add_define(&all, schema, i);
	for (i = 0; error == 0 && i < schema->cflags_count; i++)
		error = add_cflag(&all, i, schema->cflags[i]);
	if (error == 0 && all.list.failed)
		error = tz_error(err, TZ_EIO, "%s: out of memory", file->path);
	if (error == 0)
		*flags = all.list.at;
	else
		text_list_free(&all.list);
	return error;
}
