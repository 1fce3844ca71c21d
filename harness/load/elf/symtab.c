#define _GNU_SOURCE
#include "harness/load/elf/symtab.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
	uint64_t va, bytes;
	const char *name;
};

struct symtab {
	void *root; /* tsearch(3) of struct symbol */
};

static int
symbol_compare(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	return strcmp(left->name, right->name);
}

struct symtab *
symtab_create(void)
{
	return calloc(1, sizeof(struct symtab));
}

void
symtab_destroy(struct symtab *symtab)
{
	if (symtab == NULL)
		return;
	tdestroy(symtab->root, free);
	free(symtab);
}

bool
symtab_add(struct symtab *symtab, const char *name, uint64_t va, uint64_t bytes)
{
	size_t name_bytes = strlen(name) + 1;
	struct symbol *symbol = malloc(sizeof(*symbol) + name_bytes);
	struct symbol **found;

	if (symbol == NULL)
		return false;
	memcpy(symbol + 1, name, name_bytes);
	*symbol = (struct symbol){
		.va = va, .bytes = bytes, .name = (char *)(symbol + 1)
	};
	found = tsearch(symbol, &symtab->root, symbol_compare);
	if (found == NULL || *found != symbol)
		free(symbol);
	return found != NULL;
}

bool
symtab_find(const struct symtab *symtab, const char *name, uint64_t *va,
    uint64_t *bytes)
{
	struct symbol key = { .name = name };
	struct symbol *const *found = tfind(
	    &key, &symtab->root, symbol_compare);

	if (found == NULL)
		return false;
	*va = (*found)->va;
	if (bytes != NULL)
		*bytes = (*found)->bytes;
	return true;
}
