/*
 * Hostile inputs: what a case is, and what makes one.  Everything is a function of a
 * case's number and of the seed.
 */
#ifndef TOPAZ_TESTS_HOSTILE_HOSTILE_H
#define TOPAZ_TESTS_HOSTILE_HOSTILE_H

#include <stdio.h>

#include "emu/base/base.h"

#define HOSTILE_ARGS_MAX 16
#define HOSTILE_PATH     512

/* A case is one command in a folder of its own, which is the current one. */
struct hostile {
	unsigned number;
	uint64_t random;              /* state of hostile_draw() */
	char dir[HOSTILE_PATH];       /* its folder, absolute */
	char base[HOSTILE_PATH];      /* where the right inputs are */
	char what[160];               /* one line: what is hostile */
	char about[160];              /* words, one of which its error has to
					 have; '|' between them; "": any */
	char *argv[HOSTILE_ARGS_MAX]; /* without the program */
	unsigned argc;
	bool diagnoses; /* the compiler may say more than one line */
	bool plain;     /* nothing is compiled or run: quick */
};

/* A number below BOUND (not 0), by the case's state. */
uint64_t hostile_draw(struct hostile *hostile, uint64_t bound);

void hostile_arg(struct hostile *hostile, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void hostile_say(struct hostile *hostile, const char *about, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* Files below the case's folder; their folders are made. */
void hostile_write(
    struct hostile *hostile, const char *name, const void *bytes, size_t count);
void hostile_text(struct hostile *hostile, const char *name, const char *text);
/* The file or folder NAME of the right inputs, copied to the same name. */
void hostile_copy(struct hostile *hostile, const char *name);
/* Content of NAME in the case's folder, with a NUL; to be freed. */
char *hostile_read(struct hostile *hostile, const char *name, size_t *count);
/* What is no regular file, or too large, in the place of NAME; says what. */
const char *hostile_replace(struct hostile *hostile, const char *name);

/* NAME with a few bytes changed, cut, doubled or put in; says what. */
const char *hostile_damage(struct hostile *hostile, const char *name);

/* Makers: each draws one case of its kind. */
void hostile_manifest(struct hostile *hostile);
void hostile_source(struct hostile *hostile);
void hostile_bundle(struct hostile *hostile);
void hostile_token(struct hostile *hostile);
void hostile_findings(struct hostile *hostile);
void hostile_option(struct hostile *hostile);

#endif
