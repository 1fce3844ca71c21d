#include "harness/explore/describe/place.h"

#include <stdio.h>
#include <string.h>

/* Fills in PLACE; the function's name ends at a character of END. */
static void
fill(const struct symbol_place *symbol, const char *end,
    struct finding_place *place)
{
	if (symbol->name != NULL) {
		snprintf(place->function, sizeof(place->function), "%.*s",
		    (int)strcspn(symbol->name, end), symbol->name);
		place->offset_bytes = (uint32_t)symbol->offset_bytes;
	}
	if (symbol->file != NULL) {
		snprintf(place->file, sizeof(place->file), "%s", symbol->file);
		place->line = symbol->line;
	}
}

void
place_find(struct runner *runner, uint64_t va, struct finding_place *place)
{
	struct symbol_place symbol;

	*place = (struct finding_place){ .line = 0 };
	symbols_find(runner_symbols(runner), va, NULL, &symbol);
	fill(&symbol, "", place);
}

void
place_find_own(struct runner *runner, uint64_t rip, struct finding_place *place)
{
	struct symbol_place symbol;

	*place = (struct finding_place){ .line = 0 };
	if (rip == 0)
		return;
	(void)runner_place(runner, rip, &symbol);
	fill(&symbol, ".", place);
}
