/*
 * Lists of strings that grow: command lines, file names.
 */
#ifndef TOPAZ_HARNESS_LOAD_TEXT_LIST_H
#define TOPAZ_HARNESS_LOAD_TEXT_LIST_H

#include "emu/base/base.h"

struct text_list {
	char **at; /* NULL-terminated once anything was added */
	size_t count;
	bool failed; /* no memory: nothing more is added */
};

/* Appends the formatted string; a failure is kept in .failed. */
void text_list_add(struct text_list *strings, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void text_list_free(struct text_list *strings);

#endif
