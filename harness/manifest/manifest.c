#define _GNU_SOURCE
#include "harness/manifest/manifest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/manifest/compile.h"

static int
read_text(const char *path, struct manifest *manifest, struct tz_error *err)
{
	size_t text_bytes;
	char *text = schema_text(path, &text_bytes, err);
	int error;

	if (text == NULL)
		return -TZ_ENOENT;
	error = schema_load(path, text, text_bytes, &manifest->schema, err);
	if (error == 0)
		error = manifest_compile(manifest, path, text, text_bytes, err);
	free(text);
	return error;
}

int
manifest_read(const char *root, const char *driver, struct manifest **manifest,
    struct tz_error *err)
{
	char path[PATH_MAX];
	int error;

	if (strchr(driver, '/') != NULL || driver[0] == '.' ||
	    snprintf(path, sizeof(path), "%s/%s/driver.yaml", root, driver) >=
		(int)sizeof(path))
		return tz_error(
		    err, TZ_ENOENT, "%s: not the name of a driver", driver);
	*manifest = calloc(1, sizeof(**manifest));
	if (*manifest == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = read_text(path, *manifest, err);
	if (error != 0) {
		manifest_free(*manifest);
		*manifest = NULL;
	}
	return error;
}

void
manifest_free(struct manifest *manifest)
{
	unsigned place;
	size_t i;

	for (i = 0; i < manifest->op_count; i++) {
		for (place = 0; place < manifest->op[i].place_count; place++)
			free(manifest->op[i].place[place].variant);
		free(manifest->op[i].place);
	}
	free(manifest->op);
	for (i = 0; i < manifest->slot_count; i++)
		free(manifest->slot[i]);
	for (i = 0; i < manifest->state_count; i++)
		free(manifest->state[i]);
	free(manifest->word);
	free(manifest->scenario);
	free(manifest->prefix);
	free(manifest->scenario_steps);
	free(manifest->accepted);
	free(manifest->refused);
	if (manifest->schema != NULL)
		schema_free(manifest->schema);
	free(manifest);
}

const char *
manifest_actor(const struct manifest *manifest)
{
	const char *actor = manifest->schema->actor;

	return actor != NULL ? actor : "";
}

const char *
manifest_without(const struct manifest *manifest, size_t index)
{
	const struct schema *schema = manifest->schema;

	return index < schema->without_count ? schema->without[index] : NULL;
}

const char *
manifest_stores_to(const struct manifest *manifest, size_t index)
{
	const struct schema *schema = manifest->schema;

	return index < schema->stores_to_count ? schema->stores_to[index]
					       : NULL;
}

bool
manifest_call(
    const struct manifest *manifest, size_t index, struct call_row *call)
{
	const struct schema *schema = manifest->schema;

	if (index >= schema->calls_count)
		return false;
	*call = (struct call_row){
		.class = (enum call_class)schema->calls[index].is,
		.pattern = schema->calls[index].name,
		.partner = schema->calls[index].ends
	};
	return true;
}

const char *
manifest_life(const struct manifest *manifest, size_t index)
{
	const struct schema *schema = manifest->schema;

	return index < schema->lives_count ? schema->lives[index] : NULL;
}

const char *
manifest_settings(const struct manifest *manifest)
{
	const char *settings = manifest->schema->settings;

	return settings != NULL ? settings : "";
}

size_t
manifest_scenario_count(const struct manifest *manifest)
{
	return manifest->schema->scenarios_count;
}

const struct manifest_scenario *
manifest_scenario_at(const struct manifest *manifest, size_t index)
{
	TZ_ASSERT(index < manifest->schema->scenarios_count);
	return &manifest->scenario[index];
}

const struct manifest_scenario *
manifest_scenario(const struct manifest *manifest, const char *name)
{
	size_t i;

	for (i = 0; i < manifest->schema->scenarios_count; i++) {
		if (strcmp(manifest->scenario[i].name, name) == 0)
			return &manifest->scenario[i];
	}
	return NULL;
}

size_t
manifest_op_count(const struct manifest *manifest)
{
	return manifest->op_count;
}

const char *
manifest_op_name(const struct manifest *manifest, size_t op)
{
	TZ_ASSERT(op < manifest->op_count);
	return manifest->op[op].name;
}

const char *
manifest_op_title(const struct manifest *manifest, size_t op)
{
	const char *title;

	TZ_ASSERT(op < manifest->op_count);
	title = manifest->op[op].schema->title;
	return title != NULL ? title : manifest->op[op].name;
}

unsigned
manifest_op_variants(const struct manifest *manifest, size_t op)
{
	TZ_ASSERT(op < manifest->op_count);
	return manifest->op[op].variant_count;
}

const char *
manifest_run_word(const struct manifest *manifest, size_t index)
{
	return index < manifest->word_count ? manifest->word[index].word : NULL;
}

bool
manifest_is_hybrid(const struct manifest *manifest)
{
	return manifest->schema->hybrid;
}

unsigned
manifest_exit_code(const struct manifest *manifest)
{
	return manifest->schema->exit_code;
}

bool
manifest_is_atomic(const struct manifest *manifest)
{
	return manifest->schema->atomic;
}

size_t
manifest_leaves(const struct manifest *manifest,
    struct check_expect expect[CHECK_EXPECT_MAX])
{
	const struct schema *schema = manifest->schema;

	for (size_t i = 0; i < schema->leaves_count; i++) {
		const struct schema_left *row = &schema->leaves[i];

		expect[i] = (struct check_expect){
			.msr = row->msr,
			.mask = row->mask != NULL ? *row->mask : UINT64_MAX,
			.value = row->value,
			.field = row->name,
		};
	}
	return schema->leaves_count;
}

bool
manifest_has_positions(const struct manifest *manifest)
{
	size_t i;

	for (i = 0; i < manifest->op_count; i++) {
		if (manifest->op[i].position.kind != SCRIPT_NO_POSITION)
			return true;
	}
	return false;
}
