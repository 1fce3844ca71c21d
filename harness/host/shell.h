/*
 * Words as a POSIX shell reads them: what topaz prints to be pasted.
 */
#ifndef TOPAZ_HARNESS_HOST_SHELL_H
#define TOPAZ_HARNESS_HOST_SHELL_H

#include <stdio.h>

/* A space and WORD, in single quotes unless a shell leaves it as it is. */
void shell_put_word(FILE *file, const char *word);

#endif
