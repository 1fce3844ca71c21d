/*
 * Goal: a line of text says which CPU is which model and what shows on it; what says
 * the same gives the same text, and what is wrong is named. Method: lines, good and
 * bad.
 */
#include "emu/profile/cpu_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HYBRID (UINT32_C(1) << 15)

static struct cpu_set cpu_set;

/* TEXT and ERRATA are taken, and are said again as WANT. */
static void
expect(const char *text, const char *errata, const char *want)
{
	struct tz_error err = { "" };

	if (cpu_set_parse(text, errata, &cpu_set, &err) != 0)
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(cpu_set.text, want);
	assert_int_equal(
	    strspn(cpu_set.text, "abcdefghijklmnopqrstuvwxyz0123456789,+-"),
	    strlen(cpu_set.text));
}

static void
expect_again(const char *text, const char *errata, const char *want)
{
	expect(text, errata, want);
	expect(want, NULL, want);
}

static void
expect_error(const char *text, const char *errata, int code, const char *want)
{
	struct tz_error err = { "" };

	assert_int_equal(cpu_set_parse(text, errata, &cpu_set, &err), -code);
	if (strstr(err.text, want) == NULL)
		fail_msg("%s: \"%s\", not \"%s\"", text, err.text, want);
}

/* The models of CPUs 0 to 7, a letter each, the last one of their names. */
static void
expect_cpus(const char *letters)
{
	char got[9] = "";

	for (unsigned cpu = 0; cpu < 8; cpu++) {
		const char *name = cpu_set_of(&cpu_set, cpu)->name;

		got[cpu] = name[strlen(name) - 1];
	}
	assert_string_equal(got, letters);
}

static void
a_list_goes_round_the_cpus(void **state)
{
	(void)state;
	expect_again("alderlake-p", NULL, "alderlake-p");
	expect_cpus("pppppppp");
	expect_again(
	    "alderlake-p,alderlake-e", NULL, "alderlake-p,alderlake-e");
	expect_cpus("pepepepe");
	expect_again("alderlake-p*2,alderlake-e", NULL,
	    "alderlake-p,alderlake-p,alderlake-e");
	expect_cpus("ppeppepp");
	expect("alderlake-p*5,alderlake-e*3", NULL,
	    "alderlake-p,alderlake-p,alderlake-p,alderlake-p,alderlake-p,"
	    "alderlake-e,alderlake-e,alderlake-e");
	expect_cpus("pppppeee");
}

static void
what_says_the_same_is_the_same_text(void **state)
{
	(void)state;
	expect("alderlake-p*4", NULL, "alderlake-p");
	expect("alderlake-p,alderlake-e,alderlake-p,alderlake-e", NULL,
	    "alderlake-p,alderlake-e");
	expect("skylake+skl014+bdm70", NULL, "skylake+bdm70+skl014");
	expect("skylake", "skl014,bdm70", "skylake+bdm70+skl014");
	expect("skylake+skl014", "bdm70,skl014", "skylake+bdm70+skl014");
}

static void
an_erratum_shows_where_the_model_has_it(void **state)
{
	(void)state;
	expect_again("skylake", "skl014", "skylake+skl014");
	assert_int_equal(cpu_set.profile[0].errata_on,
	    UINT32_C(1) << PROFILE_ERRATUM_SKL014);
	assert_int_equal(profile_find("skylake")->errata_on, 0);
	/* Two models of one clock, one of which has it. */
	expect_again(
	    "goldmont-plus,goldmont", "apl12", "goldmont-plus,goldmont+apl12");
	assert_int_equal(cpu_set.profile[0].errata_on, 0);
	assert_int_equal(
	    cpu_set.profile[1].errata_on, UINT32_C(1) << PROFILE_ERRATUM_APL12);
	expect("granite-rapids", "skz84", "granite-rapids+skz84");
	assert_int_equal(cpu_set_of(&cpu_set, 5)->errata_on,
	    UINT32_C(1) << PROFILE_ERRATUM_SKZ84);
}

static void
the_cost_model_is_for_every_cpu(void **state)
{
	(void)state;
	expect_again("alderlake-p,alderlake-e+cost", NULL,
	    "alderlake-p,alderlake-e+cost");
	assert_true(cpu_set_has_cost(&cpu_set));
	assert_true(cpu_set_of(&cpu_set, 1)->cost);
	expect(
	    "skylake+cost+skl014+cost", "bdm70", "skylake+bdm70+skl014+cost");
	cpu_set_use_cost(&cpu_set);
	assert_string_equal(cpu_set.text, "skylake+bdm70+skl014+cost");
	expect("skylake", NULL, "skylake");
	assert_false(cpu_set_has_cost(&cpu_set));
	cpu_set_use_cost(&cpu_set);
	assert_string_equal(cpu_set.text, "skylake+cost");
	assert_false(profile_find("skylake")->cost);
	/* It is no erratum. */
	expect_error(
	    "skylake", "cost", TZ_ENOENT, "--errata cost: no such erratum");
}

/* CPUID leaf 7, EDX, and leaf 1AH, EAX, of CPU. */
static void
expect_leaves(unsigned cpu, uint32_t edx, uint32_t eax)
{
	const struct profile_cpu about = { .apic_id = cpu, .cpu_count = 8 };
	uint32_t out[4];

	profile_cpuid(cpu_set_of(&cpu_set, cpu), &about, 7, 0, out);
	assert_int_equal(out[PROFILE_EDX], edx);
	profile_cpuid(cpu_set_of(&cpu_set, cpu), &about, 0, 0, out);
	assert_true((edx != 0) == (out[PROFILE_EAX] >= 0x1a));
	profile_cpuid(cpu_set_of(&cpu_set, cpu), &about, 0x1a, 0, out);
	assert_int_equal(edx != 0 ? out[PROFILE_EAX] : 0, eax);
	profile_cpuid(cpu_set_of(&cpu_set, cpu), &about, 0x1a, 1, out);
	assert_int_equal(edx != 0 ? out[PROFILE_EAX] : 0, 0);
}

static void
a_mix_is_a_hybrid_part(void **state)
{
	(void)state;
	expect("skylake", NULL, "skylake");
	expect_leaves(0, 0, 0);
	expect("raptorlake-e", NULL, "raptorlake-e");
	expect_leaves(0, HYBRID, 0x20000001);
	expect("arrowlake-p,arrowlake-e", NULL, "arrowlake-p,arrowlake-e");
	expect_leaves(6, HYBRID, 0x40000003);
	expect_leaves(7, HYBRID, 0x20000003);
	/* Models that no part mixes have no number. */
	expect("skylake,cometlake", NULL, "skylake,cometlake");
	expect_leaves(0, HYBRID, 0x40000000);
	assert_false(profile_find("skylake")->hybrid);
}

/* Leaf 0AH of each CPU has the counters that all of them have. */
static void
a_hybrid_part_announces_common_counters(void **state)
{
	static const struct {
		const char *text;
		uint32_t gp, fixed;
	} rows[] = {
		{ "alderlake-p", 8, 4 },
		{ "alderlake-e", 6, 3 },
		{ "alderlake-p,alderlake-e", 6, 3 },
		{ "alderlake-e*3,alderlake-p", 6, 3 },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct tz_error err;

		assert_int_equal(
		    cpu_set_parse(rows[i].text, NULL, &cpu_set, &err), 0);
		for (unsigned cpu = 0; cpu < 4; cpu++) {
			const struct profile_cpu about = { .apic_id = cpu,
				.cpu_count = 4 };
			const struct profile *profile = cpu_set_of(
			    &cpu_set, cpu);
			uint32_t out[4];

			profile_cpuid(profile, &about, 0x0a, 0, out);
			assert_int_equal(
			    out[PROFILE_EAX] >> 8 & 0xff, rows[i].gp);
			assert_int_equal(
			    out[PROFILE_EDX] & 0x1f, rows[i].fixed);
			assert_int_equal(
			    out[PROFILE_ECX], (1u << rows[i].fixed) - 1);
			/* A core may have more. */
			assert_int_equal(profile_gp_counters(profile),
			    profile->core_type == 0x40 ? 8 : 6);
		}
	}
}

static void
a_bad_line_is_refused_by_its_cause(void **state)
{
	(void)state;
	expect_error("", NULL, TZ_EUSAGE, "--profile : a name is missing");
	expect_error(
	    "skylake,", NULL, TZ_EUSAGE, "skylake,: a name is missing");
	expect_error(",skylake", NULL, TZ_EUSAGE, "a name is missing");
	expect_error("*2", NULL, TZ_EUSAGE, "a name is missing");
	expect_error("+skl014", NULL, TZ_EUSAGE, "a name is missing");
	expect_error("skylake,pentium", NULL, TZ_ENOENT,
	    "--profile pentium: no such profile");
	expect_error("skylake*", NULL, TZ_EUSAGE, "skylake*: behind '*'");
	expect_error("skylake*0", NULL, TZ_EUSAGE, "behind '*'");
	expect_error("skylake*9", NULL, TZ_EUSAGE, "a count of CPUs, 1 to 8");
	expect_error("skylake*2x", NULL, TZ_EUSAGE, "behind '*'");
	expect_error("skylake*2*2", NULL, TZ_EUSAGE, "behind '*'");
	expect_error("skylake*8,skylake", NULL, TZ_EUSAGE, "more than 8 CPUs");
	expect_error("alderlake-p,raptorlake-e", NULL, TZ_EUSAGE,
	    "one crystal clock and one TSC, those of alderlake-p are 38400000 "
	    "and 3187200000 Hz, those of raptorlake-e 38400000 and 2995200000");
	expect_error("skylake+", NULL, TZ_ENOENT, "--errata : no such erratum");
	expect_error(
	    "skylake", "skl15", TZ_ENOENT, "--errata skl15: no such erratum");
	expect_error("alderlake-p,alderlake-e", "skl014", TZ_EUSAGE,
	    "--errata skl014: alderlake-p,alderlake-e does not have it");
	expect_error("skylake", "skl014,apl11", TZ_EUSAGE,
	    "--errata apl11: skylake does not have it");
}

static void
the_longest_line_has_room(void **state)
{
	char line[256] = "";

	(void)state;
	for (unsigned i = 0; i < 7; i++)
		strcat(line, "alderlake-e-old,");
	strcat(line, "alderlake-p");
	for (enum profile_erratum n = 0; n < PROFILE_ERRATUM_COUNT; n++) {
		if ((profile_find("alderlake-p")->errata >> n & 1) == 0)
			continue;
		strcat(line, "+");
		strcat(line, profile_erratum_name(n));
	}
	expect_again(line, NULL, line);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_goes_round_the_cpus),
		cmocka_unit_test(what_says_the_same_is_the_same_text),
		cmocka_unit_test(an_erratum_shows_where_the_model_has_it),
		cmocka_unit_test(the_cost_model_is_for_every_cpu),
		cmocka_unit_test(a_mix_is_a_hybrid_part),
		cmocka_unit_test(a_hybrid_part_announces_common_counters),
		cmocka_unit_test(a_bad_line_is_refused_by_its_cause),
		cmocka_unit_test(the_longest_line_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
