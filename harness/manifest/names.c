#include "harness/manifest/names.h"

#include <stdio.h>
#include <string.h>

#include "harness/load/elf/image.h"
#include "harness/manifest/schema.h"
#include "harness/manifest/yaml_position.h"

#define NAME_CHARS \
 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

struct names {
	const char *path, *text;
	size_t text_bytes;
	struct tz_error *err;
};

/* -TZ_EFORMAT for VALUE at the path KEY ("KEY/INDEX" in a list); WHY is the cause. */
static int
refuse(const struct names *names, const char *key, const char *value,
    const char *why)
{
	struct position at = position_find(names->text, names->text_bytes, key);

	return tz_error(names->err, TZ_EFORMAT, "%s:%u:%u: \"%.100s\": %s",
	    names->path, at.line, at.column, value, why);
}

/* Checks the name of a module, a program or a folder. */
static int
check_plain(const struct names *names, const char *key, const char *value)
{
	size_t length;

	if (value == NULL)
		return 0;
	length = strspn(value, NAME_CHARS);
	if (length == 0 || value[length] != '\0' || value[0] == '-' ||
	    length >= IMAGE_NAME_BYTES)
		return refuse(names, key, value,
		    "a name has 1 to 31 letters, digits, '_' and '-', and does "
		    "not begin with '-'");
	return 0;
}

/* True if PATH has a component "..". */
static bool
goes_up(const char *path)
{
	while (*path != '\0') {
		size_t length = strcspn(path, "/");

		if (length == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += length;
		path += *path == '/';
	}
	return false;
}

/* Checks the path of a file below a folder. */
static int
check_file(const struct names *names, const char *key, const char *value)
{
	if (value == NULL)
		return 0;
	for (const char *c = value; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return refuse(names, key, value,
			    "a control character in a file's name");
	}
	if (value[0] == '\0' || value[0] == '/' || goes_up(value))
		return refuse(names, key, value,
		    "not a file below the folder: neither '/' at its begin nor "
		    "\"..\"");
	return 0;
}

/* Checks that NAME is the folder's name, by which users name the driver. */
static int
check_folder(const struct names *names, const char *name)
{
	const char *end = strrchr(names->path, '/');
	const char *begin = end;

	while (begin != NULL && begin > names->path && begin[-1] != '/')
		begin--;
	if (begin == NULL || begin == end ||
	    ((size_t)(end - begin) == strlen(name) &&
		strncmp(begin, name, strlen(name)) == 0))
		return 0;
	return refuse(
	    names, "name", name, "not the name of the folder that it is in");
}

int
names_check(const struct schema *schema, const char *path, const char *text,
    size_t text_bytes, struct tz_error *err)
{
	const struct names names = { path, text, text_bytes, err };
	const struct {
		const char *key, *value;
	} plain[] = {
		{ "name", schema->name },
		{ "like", schema->like },
		{ "os", schema->os },
		{ "module", schema->module },
		{ "owner", schema->owner },
		{ "actor", schema->actor },
	};
	char key[32];
	int error = 0;

	for (size_t i = 0; error == 0 && i < TZ_ARRAY_LEN(plain); i++)
		error = check_plain(&names, plain[i].key, plain[i].value);
	if (error == 0)
		error = check_folder(&names, schema->name);
	if (error == 0)
		error = check_file(&names, "tree_source", schema->tree_source);
	for (uint32_t i = 0; error == 0 && i < schema->sources_count; i++) {
		snprintf(key, sizeof(key), "sources/%u", i);
		error = check_file(&names, key, schema->sources[i]);
	}
	for (uint32_t i = 0; error == 0 && i < schema->parts_count; i++) {
		snprintf(key, sizeof(key), "parts/%u", i);
		error = check_file(&names, key, schema->parts[i]);
	}
	return error;
}
