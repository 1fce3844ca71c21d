/* Tokens: every form of them, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/explore/runner/schedule.h"

static const char *const good[] = {
	"tz1:hwt-cpu:skylake:0::9c41",
	"tz1:hwt-cpu:skylake:0:0@4182=pmi:9c41",
	"tz1:smp-stop-vs-pmi:skylake:7:0@4182=pmi,1@4300=cpu0:00ff",
	"tz1:hwt-cpu@2,guard,seed7:skylake:0:1@0=late+64:0000",
	("tz1:hwt-cpu@4:alderlake-p,alderlake-e+bdm70+apl11:0:1@9=pmi,2@9=cpu0:"
	 "0001"),
	"tz1:sample@2,profile-alderlake-n,no-mtc@1=open:skylake:0::0001",
	("tz1:freebsd-pt@1,no-xsaves=load+open+alloc.2+1work.1-:skylake:0:"
	 "3@18446744073709551615=hold+30000:abcd"),
};

static void
tokens_round_trip(void **state)
{
	char text[TOKEN_TEXT_BYTES];
	struct token token;
	struct tz_error err;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(good); i++) {
		if (token_parse(good[i], &token, &err) != 0)
			fail_msg("%s: %s", good[i], err.text);
		assert_true(token_format(&token, text, sizeof(text)));
		assert_string_equal(text, good[i]);
	}
}

static void
parts_are_what_they_say(void **state)
{
	struct token token;
	struct tz_error err;

	(void)state;
	assert_int_equal(token_parse(good[3], &token, &err), 0);
	assert_string_equal(token.name, "hwt-cpu");
	assert_int_equal(token.cpus, 2);
	assert_string_equal(token.layout, "guard,seed7");
	assert_string_equal(token.steps, "");
	assert_int_equal(token.schedule.count, 1);
	assert_int_equal(token.schedule.deviation[0].cpu, 1);
	assert_int_equal(token.schedule.deviation[0].kind, DEVIATION_LATE);
	assert_int_equal(token.schedule.deviation[0].param, 64);
	assert_int_equal(token_parse(good[2], &token, &err), 0);
	assert_int_equal(token.seed, 7);
	assert_int_equal(token.schedule.count, 2);
	assert_int_equal(token.schedule.deviation[1].kind, DEVIATION_SWITCH);
	assert_int_equal(token.schedule.deviation[1].param, 0);
	assert_int_equal(token.schedule.deviation[1].insns, 4300);
	assert_int_equal(token.check, 0xff);
	assert_int_equal(token_parse(good[4], &token, &err), 0);
	assert_string_equal(
	    token.profile, "alderlake-p,alderlake-e+bdm70+apl11");
	assert_int_equal(token.cpus, 4);
	assert_int_equal(token.schedule.count, 2);
}

static void
wrong_tokens_are_named(void **state)
{
	static const struct {
		const char *text, *said;
	} wrong[] = {
		{ "", "token ''" },
		{ "tz2:a:skylake:0::0000", "token 'tz2" },
		{ "tz1:a:skylake:0:", "token 'tz1" },
		{ "tz1:a:skylake:0::0000:", "token 'tz1" },
		{ "tz1:a:skylake:x::0000", "seed 'x'" },
		{ "tz1:a:skylake:-1::0000", "seed '-1'" },
		{ "tz1:a:skylake: 1::0000", "seed ' 1'" },
		{ "tz1:a:skylake:::0000", "seed ''" },
		{ "tz1:a:skylake:0::000", "check '000'" },
		{ "tz1:a:skylake:0::0x12", "check '0x12'" },
		{ "tz1:a:skylake:0::-001", "check '-001'" },
		{ "tz1:a:skylake:0::000g", "check '000g'" },
		{ "tz1:a:skylake:0:0@1=what:0000", "deviation '0@1=what'" },
		{ "tz1:a:skylake:0:0@1=pmi+1:0000", "deviation '0@1=pmi+1'" },
		{ "tz1:a:skylake:0:0@1=late:0000", "deviation '0@1=late'" },
		{ "tz1:a:skylake:0:0@1=cpu:0000", "deviation '0@1=cpu'" },
		{ "tz1:a:skylake:0:@1=pmi:0000", "deviation '@1=pmi'" },
		{ "tz1:a:skylake:0:0@1=pmi,:0000", "nothing after" },
		{ "tz1:@2:skylake:0::0000", "'@2'" },
		{ "tz1:a@0:skylake:0::0000", "'a@0'" },
		{ "tz1:a=:skylake:0::0000", "'a='" },
		{ "@/nonesuch/token", "/nonesuch/token" },
	};
	struct token token;
	struct tz_error err;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(wrong); i++) {
		assert_int_not_equal(
		    token_parse(wrong[i].text, &token, &err), 0);
		if (strstr(err.text, wrong[i].said) == NULL)
			fail_msg("%s: %s", wrong[i].text, err.text);
	}
}

static void
too_many_deviations(void **state)
{
	char text[TOKEN_TEXT_BYTES] = "";
	struct schedule schedule;
	struct tz_error err;

	(void)state;
	for (unsigned i = 0; i <= SCHEDULE_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "%s0@%u=pmi", i == 0 ? "" : ",", i);
	assert_int_equal(schedule_parse(text, &schedule, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "more than 16"));
}

static void
a_file_has_a_token(void **state)
{
	char name[] = "/tmp/topaz-token-XXXXXX", at[64];
	struct token token;
	struct tz_error err;
	int fd = mkstemp(name);
	FILE *file = fdopen(fd, "w");

	(void)state;
	fprintf(file, "%s\nmore\n", good[1]);
	assert_int_equal(fclose(file), 0);
	snprintf(at, sizeof(at), "@%s", name);
	assert_int_equal(token_parse(at, &token, &err), 0);
	assert_int_equal(token.schedule.deviation[0].insns, 4182);
	remove(name);
}

static void
kinds_are_sorted_and_once(void **state)
{
	struct schedule schedule;
	struct tz_error err;
	char text[64];

	(void)state;
	assert_int_equal(schedule_parse("0@1=nmi,0@2=cpu1,0@3=pmi,1@4=cpu0",
			     &schedule, &err),
	    0);
	schedule_kinds(&schedule, text, sizeof(text));
	assert_string_equal(text, "pmi+cpu+nmi");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_round_trip),
		cmocka_unit_test(parts_are_what_they_say),
		cmocka_unit_test(wrong_tokens_are_named),
		cmocka_unit_test(too_many_deviations),
		cmocka_unit_test(a_file_has_a_token),
		cmocka_unit_test(kinds_are_sorted_and_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
