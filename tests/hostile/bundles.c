/* Bundles: their manifest and each of their files. */
#define _GNU_SOURCE
#include "hostile.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "traces/bundle/digest.h"

#define MANIFEST "bundle/manifest.json"

/* One of the files of the right bundle. */
static void
choose_file(struct hostile *hostile, char name[HOSTILE_PATH])
{
	static const char *const folders[] = { "", "images/", "objects/" };
	const char *folder =
	    folders[hostile_draw(hostile, TZ_ARRAY_LEN(folders))];
	char path[2 * HOSTILE_PATH];
	struct dirent **entries;
	int count, chosen;

	snprintf(path, sizeof(path), "%s/bundle/%s", hostile->base, folder);
	count = scandir(path, &entries, NULL, alphasort);
	TZ_ASSERT(count > 2);
	do
		chosen = (int)hostile_draw(hostile, (uint64_t)count);
	while (entries[chosen]->d_type != DT_REG);
	snprintf(name, HOSTILE_PATH, "bundle/%s%.200s", folder,
	    entries[chosen]->d_name);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

/* The check of a manifest's own content, as topaz makes it. */
static void
seal(struct hostile *hostile, json_t *root)
{
	char check[DIGEST_TEXT_BYTES], *text;

	json_object_del(root, "check");
	text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
	TZ_ASSERT(text != NULL);
	digest_bytes(text, strlen(text), check);
	free(text);
	json_object_set_new(root, "check", json_string(check));
	text = json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS);
	TZ_ASSERT(text != NULL);
	hostile_text(hostile, MANIFEST, text);
	free(text);
}

static json_t *
load(struct hostile *hostile)
{
	size_t count;
	char *text = hostile_read(hostile, MANIFEST, &count);
	json_t *root = json_loadb(text, count, 0, NULL);

	TZ_ASSERT(root != NULL);
	free(text);
	return root;
}

static json_t *
odd_value(struct hostile *hostile)
{
	static const char *const texts[] = {
		"../../outside/secret", "/etc/passwd", "", "0xffffffffffffffff",
		"0x0", "cpu0.pt", "thread",
		"names-have-64-bytes-at-most-and-this-one-has-a-few-more-than-they-have"
	};
	static const json_int_t numbers[] = { 0, -1, 1, 7, 8, 9, 255, 1 << 20,
		UINT32_MAX, INT64_MAX, INT64_MIN };

	switch (hostile_draw(hostile, 6)) {
	case 0:
		return json_null();
	case 1:
		return json_array();
	case 2:
		return json_object();
	case 3:
	case 4:
		return json_integer(
		    numbers[hostile_draw(hostile, TZ_ARRAY_LEN(numbers))]);
	default:
		return json_string(
		    texts[hostile_draw(hostile, TZ_ARRAY_LEN(texts))]);
	}
}

/* Changes one member, somewhere below NODE. */
static void
change_member(struct hostile *hostile, json_t *node)
{
	for (;;) {
		size_t count = json_is_array(node) ? json_array_size(node)
						   : json_object_size(node);
		size_t at = count == 0 ? 0 : hostile_draw(hostile, count);
		void *member = NULL;
		json_t *next;

		if (count == 0)
			return;
		if (json_is_object(node)) {
			member = json_object_iter(node);
			for (size_t i = 0; i < at; i++)
				member = json_object_iter_next(node, member);
			next = json_object_iter_value(member);
		} else {
			next = json_array_get(node, at);
		}
		if ((json_is_object(next) || json_is_array(next)) &&
		    hostile_draw(hostile, 8) != 0) {
			node = next;
			continue;
		}
		if (json_is_object(node))
			json_object_iter_set_new(
			    node, member, odd_value(hostile));
		else
			json_array_set_new(node, at, odd_value(hostile));
		return;
	}
}

/* The size and the digests of NAME, "bundle/...", as it is now. */
static void
note_file(struct hostile *hostile, json_t *root, const char *name)
{
	char check[DIGEST_TEXT_BYTES];
	json_t *blocks = json_array();
	size_t count;
	char *bytes = hostile_read(hostile, name, &count);

	for (size_t at = 0; at < count; at += DIGEST_BLOCK_BYTES) {
		digest_bytes(bytes + at,
		    count - at < DIGEST_BLOCK_BYTES ? count - at
						    : DIGEST_BLOCK_BYTES,
		    check);
		json_array_append_new(blocks, json_string(check));
	}
	free(bytes);
	json_object_set_new(json_object_get(root, "files"),
	    name + strlen("bundle/"),
	    json_pack(
		"{s:I, s:o}", "bytes", (json_int_t)count, "xxh3", blocks));
}

static void
use_bundle(struct hostile *hostile)
{
	static const char *const uses[][4] = { { "verify", "bundle" },
		{ "decode", "bundle" }, { "decode", "bundle", "--insns" },
		{ "reencode", "bundle" },
		{ "export", "bundle", "--perf-data", "-oout" },
		{ "verify", "bundle", "--json" } };
	const char *const *use =
	    uses[hostile_draw(hostile, TZ_ARRAY_LEN(uses))];

	for (unsigned i = 0; i < 4 && use[i] != NULL; i++)
		hostile_arg(hostile, "%s", use[i]);
	hostile->plain = true;
}

void
hostile_bundle(struct hostile *hostile)
{
	uint64_t which = hostile_draw(hostile, 8);
	char name[HOSTILE_PATH];
	const char *file, *how;
	json_t *root;

	hostile_copy(hostile, "bundle");
	choose_file(hostile, name);
	file = strrchr(name, '/') + 1;
	if (which < 2) {
		how = hostile_replace(hostile, name);
		hostile_say(hostile, "", "%s: %s", file, how);
	} else if (which == 2) {
		how = hostile_damage(hostile, name);
		hostile_say(hostile, "", "%s: %s", file, how);
	} else if (which < 5) {
		/* Past the checks: the content is what is wrong. */
		root = load(hostile);
		do
			choose_file(hostile, name);
		while (strcmp(name, MANIFEST) == 0 ||
		    strcmp(name, "bundle/.topaz") == 0);
		how = hostile_damage(hostile, name);
		note_file(hostile, root, name);
		seal(hostile, root);
		json_decref(root);
		hostile_say(hostile, "", "%s with its digest: %s",
		    strrchr(name, '/') + 1, how);
	} else {
		root = load(hostile);
		change_member(hostile, root);
		seal(hostile, root);
		json_decref(root);
		hostile_say(hostile, "manifest.json|bundle|.pt|.zst",
		    "manifest.json with its check: another member");
	}
	use_bundle(hostile);
}
