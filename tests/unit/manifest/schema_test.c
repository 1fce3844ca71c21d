/*
 * Goal: a manifest is read as it is written, and one that is wrong is one line
 * with the place and the cause. Method: a right one with one thing changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/manifest/fixture.h"

#include <cmocka.h>

static const char *root;

/* The right manifest with FROM for TO: what is said about it. */
static const struct {
	const char *from, *to, *said;
} wrongs[] = {
	{ "os: native", "os: native\n@x",
	    ":3:1: found character that cannot start any token" },
	{ "os: native", "os: native\nbogus: 1",
	    ":3:1: unexpected key \"bogus\"" },
	{ "name: ctl, at: 0", "name: ctl, bogus: 1, at: 0",
	    ":13:21: unexpected key \"bogus\"" },
	{ "os: native\n", "", ": the key \"os\" is missing" },
	{ "os: native", "os: native\nos: native",
	    " the key \"os\" is there twice" },
	{ "os: native", "os: [native]",
	    ":2:5: a text is wanted, this is a list" },
	{ "bytes: 24", "bytes: many", ":11:12: not a number: 'many'" },
	{ "strict: true", "strict: maybe",
	    ":25:75: not one of the words that it may be: maybe" },
	{ "cpus: all", "cpus: some",
	    "not one of the words that it may be: some" },
	{ "settings: manual=x", "settings: &a x\nmodule: *a", "lias" },
	{ "[text: /dev/x,",
	    "[value: 1, value: 2, value: 3, value: 4, value: 5, ",
	    "more than 5 entries" },
	{ "instances: [\"\", b]", "instances: [a, b, c, d, e]",
	    ":6:25: more than 4 entries" },
	{ "text: abc", "text: abcde", ":20:9: \"word\": the text has more" },
	{ "value: 3, variants", "value: 0x123456789, variants",
	    ":19:9: \"freq\": 0x123456789 has more than 32 bits" },
	{ "[{value: 5}", "[{value: 0x123456789}",
	    ":19:60: \"freq\": 0x123456789 has more than 32 bits" },
	{ "at: 16, bytes: 8", "at: 17, bytes: 8",
	    ":15:9: \"more\": at 17 there are not 8 bytes in \"set\"" },
	{ "at: 4, bytes: 4, text: abc", "at: 4, bytes: 3, value: 1",
	    "\"word\": 1, 2, 4 or 8 bytes, not 3" },
	{ "at: 8, bytes: 8, slot", "at: 8, bytes: 2, slot",
	    "\"fd\" has to have 8 bytes" },
	{ "data: more", "data: less",
	    ":15:9: \"less\": no such block of data" },
	{ "text: abc", "text: abc, value: 1", "more than one of value, slot" },
	{ "{name: word, at: 4, bytes: 4, text: abc}",
	    "{name: word, at: 0, bytes: 8, data: more}",
	    "operation \"set\" has more than 96 values" },
	{ "name: exit", "name: cpus",
	    ":26:12: \"cpus\": two operations of that name" },
	{ "name: exit", "name: Exit", ":26:12: \"Exit\": letters a to z only" },
	{ "call: sem_wait", "call: sem_post_wait",
	    ":25:24: \"sem_post_wait\": no such call" },
	{ "needs: [loaded]", "needs: [loaded*]",
	    "\"loaded*\": '*' stands for an instance, and there is none" },
	{ "actors: [1, 2]", "actors: [1, 4]", "actor 4: they are numbered" },
	{ "name: two-2", "name: one",
	    ":29:12: \"one\": two scenarios of that name" },
	{ "name: one", "name: \"one:\"", "a to z, 0 to 9 and '-' only" },
	{ "cpus: 2", "cpus: 9", "1 to 8 CPUs are possible" },
	{ "steps: open+set}", "steps: open+sett}",
	    ":28:45: step 1, \"sett\": no such operation" },
	{ "steps: open+set}", "steps: 1wait}",
	    "\"1wait\": step 0, \"wait\": a step that nothing before it" },
	{ "steps: open+set}", "steps: open+exit+open}",
	    "step 2, \"open\": a step that nothing before it allows" },
	{ "prefixes: [\"\", open,", "prefixes: [\"\", open, open,",
	    "\"open\": this prefix is there twice" },
	{ "prefixes: [\"\", open", "prefixes: [\"\", openn",
	    ":8:16: step 0, \"openn\": no such operation" },
	{ "fields: [ctl]", "fields: [cto]",
	    ":31:15: \"cto\": no operation that configures has such a field" },
	{ "when: {field: ctl", "when: {field: word2",
	    "\"word2\": no operation that configures has such a field" },
	{ "shift: 4", "shift: 64", "a shift is at most 63" },
	{ "msr: 0x571", "msr: 0x10",
	    ":32:42: 0x10: no register of the trace unit" },
	{ "os: native", "os: native\nleaves: [{name: l, msr: 0x10}]",
	    ":3:25: 0x10: no register of the trace unit" },
	{ "os: native",
	    "os: native\nleaves: [{name: l, msr: 0x570, mask: 1, value: 2}]",
	    ":3:48: the value has bits beyond the mask" },
	{ "configure: setb", "configure: sett",
	    ":35:14: \"sett\": no such operation" },
	{ "configure: setb", "configure: cpus",
	    ":35:14: \"cpus\": the operation is no system call" },
	{ "  configure: setb\n", "", "the key \"configure\" is missing" },
	{ "word: user, field: ctl", "word: user, field: ctll",
	    ":37:27: \"ctll\": \"setb\" has no such field with a number" },
	{ "word: user, field: ctl", "word: user, field: word",
	    "\"word\": \"setb\" has no such field with a number" },
	{ "word: user,", "word: u=r,", "\"u=r\": not a word for the guest" },
	{ "shift: 3", "shift: 64", "a shift is at most 63" },
	{ "word: low, ", "", "the key \"word\" is missing" },
	{ "configures: true", "position: {page: freqq}",
	    "\"freqq\": the operation has no such field" },
	{ "configures: true", "position: {page: word}",
	    "\"word\": a position is a number or behind a pointer to one" },
	{ "configures: true", "position: {page: freq, mapped: 8}",
	    "a position is either \"mapped\" or has \"page\"" },
	{ "configures: true", "position: {}",
	    "a position is either \"mapped\" or has \"page\"" },
	{ "configures: true", "period: freqq",
	    "\"freqq\": the operation has no such field with a number" },
	{ "configures: true", "period: word",
	    "\"word\": the operation has no such field with a number" },
	{ "configures: true", "position: {mapped: 0x100000000}",
	    "\"mapped\": at most" },
	/* Names that are files, modules and programs. */
	{ "name: x", "name: y", ":1:7: \"y\": not the name of the folder" },
	{ "name: x", "name: ../../x", ":1:7: \"../../x\": a name has 1 to 31" },
	{ "name: x", "name: .x", ":1:7: \".x\": a name has" },
	{ "name: x", "name: -x", ":1:7: \"-x\": a name has" },
	{ "name: x", "name: \"\"", ":1:7: \"\": a name has" },
	{ "name: x", "name: \"x\\n\"", ":1:7: \"x?\": a name has" },
	{ "name: x", "name: x0123456789012345678901234567890123",
	    ":1:7: \"x0123456789012345678901234567890123\": a name has" },
	{ "os: native", "os: ../kpi/native",
	    ":2:5: \"../kpi/native\": a name" },
	{ "os: native", "os: native\nmodule: a/b",
	    ":3:9: \"a/b\": a name has" },
	{ "owner: o", "owner: ../o", ":3:8: \"../o\": a name has" },
	{ "actor: a", "actor: a b", ":4:8: \"a b\": a name has" },
	{ "owner: o", "owner: o\nsources: []", ":4:10: too few entries" },
	{ "owner: o", "owner: o\nsources: [a.c, /etc/passwd]",
	    ":4:16: \"/etc/passwd\": not a file below the folder" },
	{ "owner: o", "owner: o\nsources: [a/../../b.c]",
	    ":4:11: \"a/../../b.c\": not a file below" },
	{ "owner: o", "owner: o\nsources: [..]", ":4:11: \"..\": not a file" },
	{ "owner: o", "owner: o\nsources: [\"\"]", ":4:11: \"\": not a file" },
	{ "owner: o", "owner: o\nsources: [\"a\\nb.c\"]",
	    ":4:11: \"a?b.c\": a control character" },
	{ "owner: o", "owner: o\ntree_source: ../a.c",
	    ":4:14: \"../a.c\": not a file below the folder" },
	/* Names that refer to nothing. */
	{ "args: [slot: fd], ", "args: [slot: fx], ",
	    ":25:41: \"fx\": no operation has this result" },
	{ "slot: fd*}", "slot: gd*}",
	    ":14:9: \"gd*\": no operation has this result" },
	{ "needs: [open], ", "needs: [opened], ",
	    ":25:60: \"opened\": no operation gives this state" },
	{ "gives: [open*]}", "gives: [open*], takes: [none]}",
	    "\"none\": no operation gives this state" },
	{ "settings: manual=x", "settings: manuel=x",
	    ":5:11: 'manuel=x': no word that the guest reads" },
	{ "settings: manual=x", "settings: mode=none",
	    ":5:11: 'mode=none': no word that the guest reads" },
	{ "settings: manual=x", "settings: ithread_cpu=0",
	    "'ithread_cpu=0': no word that the guest reads" },
	{ "settings: manual=x", "settings: manual=x =1",
	    ":5:11: '=1': not KEY=VALUE" },
	{ "settings: manual=x", "settings: manual=x heap",
	    ":5:11: 'heap': not KEY=VALUE" },
	{ "settings: slice=1", "settings: slice=1k",
	    ":29:50: 'slice=1k': the value is not a number" },
	{ "settings: slice=1", "settings: slice=0xfffffffffffffffff",
	    "'slice=0xfffffffffffffffff': the value is not a number" },
	{ "settings: slice=1", "settings: slice=18446744073709551616",
	    "the value is not a number of 64 bits" },
	{ "settings: slice=1",
	    "settings: slice=", "the value is not a number" },
	{ "owner: o", "owner: o\nlives: [open+none]",
	    ":4:9: step 1, \"none\": no such operation" },
	{ "configures: true",
	    "answers: [{name: x, at: 20, bytes: 8, is: cpus}]",
	    "\"x\": not 1, 2, 4 or 8 bytes in the block" },
	{ "configures: true", "answers: [{name: x, at: 0, bytes: 3, is: cpus}]",
	    "\"x\": not 1, 2, 4 or 8 bytes in the block" },
	{ "configures: true",
	    "answers: [{name: x, at: 0, bytes: 8, per: 17, is: written}]",
	    "\"x\": not 1, 2, 4 or 8 bytes in the block" },
	{ "configures: true",
	    "answers: [{name: x, at: 0, bytes: 8, is: cpus, mask: 0}]",
	    "\"x\": a mask of 0" },
	{ "configures: true",
	    "answers: [{name: x, at: 0, bytes: 8, is: given}]",
	    "\"x\": what is given has \"of\", an operation" },
	{ "configures: true", "answers: [{name: x, at: 0, bytes: 8, is: it}]",
	    "not one of the words that it may be: it" },
	{ "owner: o", "owner: o\naccepts: [set.1, sett.1]",
	    ":4:18: step 0, \"sett.1\": no such operation" },
	{ "owner: o", "owner: o\naccepts: [set.1+set.1]",
	    ":4:11: \"set.1+set.1\": more than one step" },
	{ "owner: o", "owner: o\naccepts: [set.2]",
	    ":4:11: \"set.2\": one of its values is invalid" },
	{ "owner: o", "owner: o\nwithout: [pmi-lost, none]",
	    ":4:21: \"none\": no such check" },
	{ "owner: o", "owner: o\nexit_code: 256",
	    "exit code 256: 1 to 255 are possible" },
	{ "\nos: ", "\ncalls: [{name: x, is: lock}]\nos: ",
	    ":2:9: \"x\": a lock needs \"ends\", the call that unlocks" },
	{ "\nos: ", "\ncalls: [{name: x, is: sync, ends: y}]\nos: ",
	    "\"x\": only a lock has \"ends\"" },
	{ "\nos: ", "\ncalls: [{name: x, is: noise}]\nos: ", "noise" },
};

static void
a_wrong_manifest_is_one_line_with_its_place(void **state)
{
	struct manifest *manifest;
	size_t i, right = 0;
	const char *said;

	(void)state;
	for (i = 0; i < TZ_ARRAY_LEN(wrongs); i++) {
		int error = fixture_read(
		    fixture_with(wrongs[i].from, wrongs[i].to), &manifest,
		    &said);

		if (error != -TZ_EFORMAT || strchr(said, '\n') != NULL ||
		    strstr(said, wrongs[i].said) == NULL)
			print_error("%s: %d, \"%s\" instead of \"%s\"\n",
			    wrongs[i].to, error, said, wrongs[i].said);
		else
			right++;
		assert_null(manifest);
	}
	assert_int_equal(right, TZ_ARRAY_LEN(wrongs));
}

static void
a_driver_may_have_words_of_its_own(void **state)
{
	struct manifest *manifest;
	const char *said;

	(void)state;
	if (fixture_read(fixture_with("settings: manual=x",
			     "settings: manual=x mine=1\nwords: [mine]"),
		&manifest, &said) != 0)
		fail_msg("%s", said);
	manifest_free(manifest);
}

static void
nothing_and_no_mapping_are_wrong(void **state)
{
	struct manifest *manifest;
	const char *said;

	(void)state;
	assert_int_equal(fixture_read("", &manifest, &said), -TZ_EFORMAT);
	assert_string_equal(said, "driver.yaml:1:1: there is nothing in it");
	assert_int_equal(fixture_read("- a\n", &manifest, &said), -TZ_EFORMAT);
	assert_string_equal(said,
	    "driver.yaml:1:1: keys and values are wanted, this is a list");
}

static void
a_driver_that_is_not_there_is_no_entry(void **state)
{
	struct manifest *manifest;
	struct tz_error err;

	(void)state;
	assert_int_equal(
	    manifest_read(root, "nonesuch", &manifest, &err), -TZ_ENOENT);
	assert_non_null(strstr(err.text, "nonesuch/driver.yaml"));
	assert_int_equal(
	    manifest_read(root, "../driver/x", &manifest, &err), -TZ_ENOENT);
}

static void
what_is_written_is_read(void **state)
{
	struct manifest *manifest = fixture_manifest();
	const struct manifest_scenario *two;

	(void)state;
	assert_string_equal(manifest_actor(manifest), "a");
	assert_string_equal(manifest_settings(manifest), "manual=x");
	assert_int_equal(manifest_scenario_count(manifest), 2);
	two = manifest_scenario(manifest, "two-2");
	assert_ptr_equal(two, manifest_scenario_at(manifest, 1));
	assert_null(manifest_scenario(manifest, "two"));
	assert_string_equal(two->title, "Two");
	assert_string_equal(two->settings, "slice=1");
	assert_int_equal(two->cpus, 2);
	assert_string_equal(manifest_scenario(manifest, "one")->settings, "");
	assert_int_equal(manifest_op_count(manifest), 7);
	assert_string_equal(manifest_op_name(manifest, 1), "openb");
	assert_string_equal(manifest_op_name(manifest, 3), "setb");
	assert_int_equal(manifest_op_variants(manifest, 0), 1);
	assert_int_equal(manifest_op_variants(manifest, 2), 5);
	manifest_free(manifest);
}

/* In FOLDER/NAME/driver.yaml. */
static void
write_manifest(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/driver.yaml", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
remove_manifest(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/driver.yaml", folder, name);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)rmdir(path);
}

static void
a_manifest_may_be_like_another(void **state)
{
	static const struct {
		const char *text, *said; /* NULL: it is right */
	} rows[] = {
		{ "name: y\nlike: x\n", NULL },
		{ "name: y\nlike: x\nsettings: manual=other\n", NULL },
		{ "name: y\nlike: z\n", "z/driver.yaml" },
		{ "name: y\nlike: y\n",
		    "y/driver.yaml:2:7: not the name of another driver" },
		{ "name: y\nlike: ../x\n",
		    "y/driver.yaml:2:7: \"../x\": a name has 1 to 31" },
		{ "name: y\nlike: w\n",
		    "w/driver.yaml:2:7: another driver is like this one" },
		{ "name: y\nlike: v\n",
		    "v/driver.yaml:1:1: the key \"os\" is missing" },
		{ "name: y\nlike: x\nlives: [none]\n",
		    "y/driver.yaml:3:9: step 0, \"none\": no such operation" },
	};
	char folder[] = "/tmp/topaz-like-XXXXXX";
	struct manifest *manifest;
	struct tz_error err;

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_manifest(folder, "x", fixture_with("name: x", "name: x"));
	write_manifest(folder, "w", "name: w\nlike: x\n");
	write_manifest(folder, "v", "name: v\n");
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		int error;

		write_manifest(folder, "y", rows[i].text);
		error = manifest_read(folder, "y", &manifest, &err);
		if (rows[i].said != NULL) {
			assert_true(error < 0);
			if (strstr(err.text, rows[i].said) == NULL)
				fail_msg(
				    "%s instead of %s", err.text, rows[i].said);
			continue;
		}
		if (error != 0)
			fail_msg("%s", err.text);
		assert_string_equal(manifest_settings(manifest),
		    i == 0 ? "manual=x" : "manual=other");
		assert_int_equal(manifest_op_count(manifest), 7);
		assert_null(manifest_scenario(manifest, "one"));
		assert_string_equal(
		    manifest_scenario(manifest, "y-two-2")->settings,
		    "slice=1");
		manifest_free(manifest);
	}
	for (const char *name = "vwxy"; *name != '\0'; name++)
		remove_manifest(folder, (char[]){ *name, '\0' });
	assert_int_equal(rmdir(folder), 0);
}

/* The drivers that are here, and that no scenario is called as another is. */
static void
the_drivers_manifests_are_right(void **state)
{
	static const char *const drivers[] = { "freebsd-pt", "insntrace",
		"insntrace-freebsd", "linux-ds", "freebsd-hwpmc", "sample" };
	struct manifest *manifest[TZ_ARRAY_LEN(drivers)];
	struct tz_error err;
	size_t i, j, k;

	(void)state;
	for (i = 0; i < TZ_ARRAY_LEN(drivers); i++) {
		if (manifest_read(root, drivers[i], &manifest[i], &err) != 0)
			fail_msg("%s", err.text);
		assert_true(manifest_scenario_count(manifest[i]) >= 1);
	}
	for (i = 0; i < TZ_ARRAY_LEN(drivers); i++) {
		for (j = 0; j < manifest_scenario_count(manifest[i]); j++) {
			const char *name =
			    manifest_scenario_at(manifest[i], j)->name;

			for (k = 0; k < i; k++)
				assert_null(
				    manifest_scenario(manifest[k], name));
		}
	}
	for (i = 0; i < TZ_ARRAY_LEN(drivers); i++)
		manifest_free(manifest[i]);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_manifest_is_one_line_with_its_place),
		cmocka_unit_test(a_driver_may_have_words_of_its_own),
		cmocka_unit_test(nothing_and_no_mapping_are_wrong),
		cmocka_unit_test(a_driver_that_is_not_there_is_no_entry),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_manifest_may_be_like_another),
		cmocka_unit_test(the_drivers_manifests_are_right),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
