#define _GNU_SOURCE
#include "harness/load/text_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
text_list_add(struct text_list *strings, const char *fmt, ...)
{
	char **grown;
	char *text;
	va_list ap;

	if (strings->failed)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	grown = reallocarray(
	    strings->at, strings->count + 2, sizeof(*strings->at));
	if (grown != NULL)
		strings->at = grown;
	if (grown == NULL || text == NULL) {
		free(text);
		strings->failed = true;
		return;
	}
	strings->at[strings->count++] = text;
	strings->at[strings->count] = NULL;
}

void
text_list_free(struct text_list *strings)
{
	size_t i;

	for (i = 0; i < strings->count; i++)
		free(strings->at[i]);
	free(strings->at);
	*strings = (struct text_list){ .at = NULL };
}
