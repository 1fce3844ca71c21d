/*
 * Quoting for a POSIX shell: for command lines that users paste.
 */
#ifndef TOPAZ_HARNESS_HOST_SHELL_H
#define TOPAZ_HARNESS_HOST_SHELL_H

#include <stdio.h>

/* Prints a space and WORD, in single quotes unless a shell reads WORD unchanged. */
void shell_put_word(FILE *file, const char *word);

#endif
