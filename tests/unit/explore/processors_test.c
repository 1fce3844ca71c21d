/*
 * Goal: which processors are looked at, and what they accept.  Method: what comes for
 * the manifest of insntrace, which supports hybrid parts, and for one that does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/explore/runner/support.h"
#include "harness/explore/search/life_values.h"
#include "harness/explore/search/processors.h"

static const char *drivers;

static struct manifest *
driver(const char *name)
{
	struct manifest *manifest;
	struct tz_error err;

	if (manifest_read(drivers, name, &manifest, &err) != 0)
		fail_msg("%s", err.text);
	return manifest;
}

static struct cpu_set
mix_of(const char *words, unsigned cpus)
{
	struct cpu_set cpu_set;
	struct layout layout;
	struct tz_error err;

	assert_int_equal(cpu_set_parse("skylake", NULL, &cpu_set, &err), 0);
	if (layout_parse(words, &layout, &err) != 0 ||
	    layout_cpu_set(&layout, cpus, &cpu_set, &err) != 0)
		fail_msg("%s: %s", words, err.text);
	return cpu_set;
}

static void
words_say_what_a_cpu_lacks(void **state)
{
	static const char *const bad[] = { "no-", "no-such", "no-mtc@",
		"no-mtc@8", "no-mtc@-1", "no-mtc@11", "no-mtc@1@1", "profile-",
		"profile-none" };
	struct cpu_set cpu_set = mix_of("", 2);
	struct layout layout;
	struct tz_error err;

	(void)state;
	assert_int_equal(cpu_set.count, 1);
	assert_int_equal(cpu_set.profile[0].pt_ebx, 0xf);
	cpu_set = mix_of("no-mtc", 2);
	assert_int_equal(cpu_set.count, 1);
	assert_int_equal(cpu_set.profile[0].pt_ebx, 0x7);
	cpu_set = mix_of("profile-alderlake-n", 2);
	assert_int_equal(cpu_set.count, 1);
	assert_int_equal(cpu_set.profile[0].pt_ebx, 0x1ff);
	cpu_set = mix_of("profile-alderlake-n,no-mtc@1,no-cr3", 4);
	assert_int_equal(cpu_set.count, 4);
	assert_int_equal(cpu_set_of(&cpu_set, 0)->pt_ebx, 0x1fe);
	assert_int_equal(cpu_set_of(&cpu_set, 1)->pt_ebx, 0x1f6);
	assert_int_equal(cpu_set_of(&cpu_set, 3)->pt_ebx, 0x1fe);
	assert_true(cpu_set_of(&cpu_set, 3)->hybrid);
	for (size_t i = 0; i < TZ_ARRAY_LEN(bad); i++) {
		assert_int_equal(
		    layout_parse(bad[i], &layout, &err), -TZ_EUSAGE);
		assert_non_null(strstr(err.text, bad[i]));
	}
	assert_int_equal(layout_parse("pages,stale", &layout, &err), 0);
	assert_string_equal(layout.settings, "heap=pages stale_rtit=1");
	assert_int_equal(layout_parse("no-mtc@2", &layout, &err), 0);
	assert_int_equal(
	    layout_cpu_set(&layout, 2, &cpu_set, &err), -TZ_EUSAGE);
	assert_string_equal(err.text, "layout 'no-mtc@2': there is no CPU 2");
}

/* What WRMSR accepts of allocbuf with VARIANT, on two CPUs. */
static enum support
supports(const struct manifest *manifest, const char *words, const char *text)
{
	struct cpu_set cpu_set = mix_of(words, 2);
	struct sequence sequence;
	struct tz_error err;
	const char *field;
	enum support support;

	assert_int_equal(sequence_parse(manifest, text, &sequence, &err), 0);
	support = support_of(&cpu_set, 2, manifest, &sequence, 0, &field);
	assert_true((support == SUPPORT_ALL) == (field == NULL));
	return support;
}

static void
wrmsr_decides_what_is_supported(void **state)
{
	struct manifest *manifest = driver("insntrace");

	(void)state;
	/* MTCEn, PTWEn, a range. */
	assert_int_equal(supports(manifest, "", "allocbuf.16"), SUPPORT_ALL);
	assert_int_equal(
	    supports(manifest, "no-mtc@0", "allocbuf.16"), SUPPORT_SOME);
	assert_int_equal(
	    supports(manifest, "no-mtc", "allocbuf.16"), SUPPORT_NONE);
	assert_int_equal(supports(manifest, "", "allocbuf.31"), SUPPORT_NONE);
	assert_int_equal(
	    supports(manifest, "profile-alderlake-n", "allocbuf.31"),
	    SUPPORT_ALL);
	assert_int_equal(supports(manifest, "no-ranges-0", "allocbuf.20.38.41"),
	    SUPPORT_NONE);
	/* It asks for nothing. */
	assert_int_equal(supports(manifest, "no-mtc", "init"), SUPPORT_ALL);
	manifest_free(manifest);
}

static void
usual_is_what_any_tracing_needs(void **state)
{
	static const char *const usual[] = { "", "no-mtc", "no-ranges-0",
		"profile-alderlake-n", "no-psb-cyc@1" };
	static const char *const others[] = { "no-pt", "no-topa", "no-topa@1",
		"no-topa-multi", "no-xsaves", "profile-broadwell" };
	struct cpu_set cpu_set;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(usual); i++) {
		cpu_set = mix_of(usual[i], 2);
		assert_true(support_is_usual(&cpu_set, 2, profile_at(0)));
	}
	for (size_t i = 0; i < TZ_ARRAY_LEN(others); i++) {
		cpu_set = mix_of(others[i], 2);
		assert_false(support_is_usual(&cpu_set, 2, profile_at(0)));
	}
}

/*
 * How many there are for LIVES copies of a life, on *LAYOUTS processors; *DIFFER: with one
 * CPU that differs.
 */
static size_t
count_all(const struct manifest *manifest, size_t lives, const char *text,
    size_t *differ, size_t *layouts)
{
	struct sequence life[2], sequence;
	struct sequence_values values = {
		.manifest = manifest, .life = life, .life_count = lives
	};
	struct processors processors;
	char layout[TOKEN_WORDS_BYTES], last[TOKEN_WORDS_BYTES] = "";
	struct tz_error err;
	unsigned cpus;
	size_t count = 0;

	*differ = *layouts = 0;
	for (size_t i = 0; i < TZ_ARRAY_LEN(life); i++)
		assert_int_equal(
		    sequence_parse(manifest, text, &life[i], &err), 0);
	processors_begin(&processors, &values);
	while (processors_next(&processors, &sequence, &cpus, layout)) {
		if (count++ == 0)
			assert_int_equal(strncmp(layout, "profile-alderlake-n",
					     strlen("profile-alderlake-n")),
			    0);
		if (strstr(layout, "no-x") != NULL ||
		    strstr(layout, "no-topa") != NULL)
			assert_memory_equal(sequence.step, life[0].step,
			    life[0].count * sizeof(sequence.step[0]));
		*layouts += strcmp(layout, last) != 0;
		memcpy(last, layout, sizeof(last));
		*differ += strchr(layout, '@') != NULL;
		assert_true(cpus == 2 || strchr(layout, '@') == NULL);
		assert_int_equal(sequence.count, life[0].count);
	}
	return count;
}

static void
each_configuration_meets_each_processor(void **state)
{
	struct manifest *manifest = driver("insntrace");
	const char *life = "open+init+allocbuf+start";
	size_t differ, differ_two, count, two, layouts;

	(void)state;
	count = count_all(manifest, 1, life, &differ, &layouts);
	/* The complete one, 20 features; on 2 CPUs 2 kinds of them, and the 9 that any
	 * tracing needs. */
	assert_int_equal(layouts, 1 + 20 + 2 * (2 + 9));
	assert_true(count > 200);
	assert_true(differ > 20 && differ < count / 2);
	/* What asks for nothing that is lacking comes in one life only. */
	two = count_all(manifest, 2, life, &differ_two, &layouts);
	assert_int_equal(differ_two, 2 * differ);
	assert_true(two - differ_two > count - differ + 50);
	assert_true(two - differ_two < 2 * (count - differ) - 100);
	/* What configures nothing comes where something is lacking that each may need. */
	assert_int_equal(
	    count_all(manifest, 1, "open+init", &differ, &layouts), 9 + 2 * 9);
	assert_int_equal(differ, 2 * 9);
	assert_int_equal(
	    count_all(manifest, 2, "open+init", &differ, &layouts), 2 * 27);
	assert_int_equal(layouts, 27);
	manifest_free(manifest);
	manifest = driver("freebsd-pt");
	count = count_all(
	    manifest, 1, "open+alloc+map+config+start", &differ, &layouts);
	assert_int_equal(layouts, 1 + 20);
	assert_true(count > 100);
	assert_int_equal(differ, 0);
	manifest_free(manifest);
}

/* The CPUs that TEXT comes with among the values of LIFE; 0: it does not come. */
static unsigned
cpus_of_value(
    const struct manifest *manifest, const char *text, const char *wanted)
{
	struct sequence life, sequence;
	struct sequence_values values = {
		.manifest = manifest, .life = &life, .life_count = 1
	};
	struct tz_error err;
	char name[512];
	unsigned cpus = 0;

	assert_int_equal(sequence_parse(manifest, text, &life, &err), 0);
	while (life_value_next(&values, &sequence)) {
		assert_true(
		    sequence_format(manifest, &sequence, name, sizeof(name)));
		if (strcmp(name, wanted) != 0)
			continue;
		assert_int_equal(cpus, 0);
		cpus = life_value_cpus(&values, 2);
	}
	return cpus;
}

static void
values_that_no_register_has_come_once(void **state)
{
	struct manifest *manifest = driver("insntrace");
	const char *one = "open+init+allocbuf+map+start";
	const char *two = "open+init+allocbuf+allocbuf+map";

	(void)state;
	/* 16 chunks, on the CPUs of the scenario that begins in this way. */
	assert_int_equal(
	    cpus_of_value(manifest, one, "open+init+allocbuf.3+map+start"), 1);
	assert_int_equal(
	    cpus_of_value(manifest, two, "open+init+allocbuf+allocbuf.3+map"),
	    2);
	/* One chunk and stop_on_full: two values that are accepted together. */
	assert_int_equal(
	    cpus_of_value(manifest, one, "open+init+allocbuf.2.9+map+start"),
	    1);
	/* User only: processors.h has it. */
	assert_int_equal(
	    cpus_of_value(manifest, one, "open+init+allocbuf.12+map+start"), 0);
	manifest_free(manifest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_say_what_a_cpu_lacks),
		cmocka_unit_test(wrmsr_decides_what_is_supported),
		cmocka_unit_test(usual_is_what_any_tracing_needs),
		cmocka_unit_test(each_configuration_meets_each_processor),
		cmocka_unit_test(values_that_no_register_has_come_once),
	};

	if (argc != 2)
		return 2;
	drivers = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
