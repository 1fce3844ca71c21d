#include "tests/unit/manifest/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

const char fixture_text[] =
    "name: x\n"                          /* 1 */
    "os: native\n"                       /* 2 */
    "owner: o\n"                         /* 3 */
    "actor: a\n"                         /* 4 */
    "settings: manual=x\n"               /* 5 */
    "instances: [\"\", b]\n"             /* 6 */
    "initial: [loaded]\n"                /* 7 */
    "prefixes: [\"\", open, open+set]\n" /* 8 */
    "data:\n"                            /* 9 */
    "  - name: set\n"                    /* 10 */
    "    bytes: 24\n"                    /* 11 */
    "    fields:\n"                      /* 12 */
    "      - {name: ctl, at: 0, bytes: 8, value: 0x2008, variants: "
    "[{value: 0x200c}, {value: 1, invalid: true}]}\n"  /* 13 */
    "      - {name: fd, at: 8, bytes: 8, slot: fd*}\n" /* 14 */
    "      - {name: more, at: 16, bytes: 8, data: more, variants: "
    "[{value: 0}]}\n"  /* 15 */
    "  - name: more\n" /* 16 */
    "    bytes: 8\n"   /* 17 */
    "    fields:\n"    /* 18 */
    "      - {name: freq, at: 0, bytes: 4, value: 3, variants: "
    "[{value: 5}, {value: -1}]}\n"                       /* 19 */
    "      - {name: word, at: 4, bytes: 4, text: abc}\n" /* 20 */
    "operations:\n"                                      /* 21 */
    "  - {name: open, call: open, instances: true, args: "
    "[text: /dev/x, {value: 0, variants: [{value: 1}]}], result: fd*, "
    "gives: [open*]}\n" /* 22 */
    "  - {name: set, call: ioctl, instances: true, args: "
    "[slot: fd*, instance: true, data: set], needs: [open*], "
    "configures: true}\n" /* 23 */
    "  - {name: cpus, call: work, args: [cpus: all, cpus: absent, "
    "cpus: count], needs: [loaded]}\n" /* 24 */
    "  - {name: wait, call: sem_wait, args: [slot: fd], needs: [open], "
    "strict: true, actors: [1, 2]}\n"                              /* 25 */
    "  - {name: exit, call: exit, args: [value: 7], ends: true}\n" /* 26 */
    "scenarios:\n"                                                 /* 27 */
    "  - {name: one, title: One, cpus: 1, steps: open+set}\n"      /* 28 */
    "  - {name: two-2, title: Two, cpus: 2, settings: slice=1, steps: "
    "open-+1openb+set.1+exit}\n"                      /* 29 */
    "msrs:\n"                                         /* 30 */
    "  - {fields: [ctl], msr: 0x570, mask: 0xfffe}\n" /* 31 */
    "  - {fields: [freq, freq], add: -1, msr: 0x571, mask: 0xff0, shift: 4, "
    "when: {field: ctl, mask: 4, equals: 4}}\n" /* 32 */
    "  - {add: 9, msr: 0x572, mask: 0xff, unless: {field: freq, mask: 1, "
    "equals: 0}}\n"                                         /* 33 */
    "run:\n"                                                /* 34 */
    "  configure: setb\n"                                   /* 35 */
    "  words:\n"                                            /* 36 */
    "    - {word: user, field: ctl, mask: 0x8, shift: 3}\n" /* 37 */
    "    - {word: freq, field: freq}\n"                     /* 38 */
    "    - {word: low, field: ctl, mask: 0xff}\n";          /* 39 */

int
fixture_read(const char *text, struct manifest **manifest, const char **said)
{
	static struct tz_error err;
	char root[] = "/tmp/topaz-manifest-XXXXXX";
	char path[128];
	FILE *file;
	int error;

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/x", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/x/driver.yaml", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	err.text[0] = '\0';
	error = manifest_read(root, "x", manifest, &err);
	*said = strstr(err.text, "driver.yaml");
	if (*said == NULL)
		*said = err.text;
	unlink(path);
	snprintf(path, sizeof(path), "%s/x", root);
	rmdir(path);
	rmdir(root);
	return error;
}

struct manifest *
fixture_manifest(void)
{
	struct manifest *manifest;
	const char *said;

	if (fixture_read(fixture_text, &manifest, &said) != 0)
		fail_msg("%s", said);
	return manifest;
}

const char *
fixture_with(const char *from, const char *to)
{
	static char text[sizeof(fixture_text) + 8192];
	const char *at = strstr(fixture_text, from);

	assert_non_null(at);
	assert_true(strlen(to) < 8192);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - fixture_text),
	    fixture_text, to, at + strlen(from));
	return text;
}

struct sequence
fixture_sequence(const struct manifest *manifest, const char *text)
{
	struct sequence sequence;
	struct tz_error err;

	if (sequence_parse(manifest, text, &sequence, &err) != 0)
		fail_msg("%s", err.text);
	return sequence;
}
