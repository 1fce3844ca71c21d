#define _GNU_SOURCE
#include "harness/cmd/trace/bundle_symbols.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/load/elf/elf.h"
#include "harness/load/elf/symbols.h"

struct bundle_symbols {
	struct image *images;
	size_t count;
	struct symbols *symbols;
};

static int
describe_objects(const struct bundle *bundle, struct bundle_symbols *symbols,
    struct tz_error *err)
{
	size_t i;
	int error = 0;

	for (i = 0; error == 0 && i < bundle->object_count; i++) {
		const struct bundle_object *object = &bundle->objects[i];
		char *path;

		if (asprintf(&path, "%s/%s", bundle->path, object->file) < 0)
			return tz_error(err, TZ_EIO, "out of memory");
		error = elf_describe(object->name, path,
		    &symbols->images[symbols->count++], err);
		free(path);
	}
	return error;
}

int
bundle_symbols_open(const struct bundle *bundle,
    struct bundle_symbols **symbols, struct tz_error *err)
{
	struct bundle_symbols *made = calloc(1, sizeof(*made));
	int error = 0;

	if (made != NULL)
		made->images = calloc(
		    bundle->object_count + 1, sizeof(*made->images));
	if (made == NULL || made->images == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	else
		error = describe_objects(bundle, made, err);
	if (error == 0) {
		made->symbols = symbols_create(made->images, made->count);
		if (made->symbols == NULL)
			error = tz_error(err, TZ_EIO, "out of memory");
	}
	if (error != 0) {
		bundle_symbols_close(made);
		made = NULL;
	}
	*symbols = made;
	return error;
}

void
bundle_symbols_close(struct bundle_symbols *symbols)
{
	size_t i;

	if (symbols == NULL)
		return;
	symbols_destroy(symbols->symbols);
	for (i = 0; i < symbols->count; i++)
		image_free(&symbols->images[i]);
	free(symbols->images);
	free(symbols);
}

bool
bundle_symbols_name(void *arg, uint64_t va, char *text, size_t size)
{
	struct bundle_symbols *symbols = arg;
	struct symbol_place place;

	symbols_find(symbols->symbols, va, NULL, &place);
	if (place.name == NULL)
		return false;
	symbols_format(symbols->symbols, va, NULL, text, size);
	return true;
}
