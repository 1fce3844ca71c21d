/*
 * Goal: a bundle says of each CPU which processor it was and what showed on it; one
 * of before that said so, version 1, still opens.
 * Method: bundles and members of manifests made here, good and bad.
 */
#include "fixture.h"

#include "emu/profile/profile.h"
#include "harness/host/folder/tree.h"
#include "traces/bundle/digest.h"
#include "traces/bundle/manifest_model.h"

#include <jansson.h>

#define BIT(erratum) (UINT32_C(1) << PROFILE_ERRATUM_##erratum)

/* A bundle of three CPUs in DIR. */
static void
make_mixed(const char *dir)
{
	struct bundle_info info = {
		.model = { { "alderlake-p", 0x90672, BIT(BDM70) },
		    { "alderlake-e", 0x90672, BIT(BDM70) | BIT(APL11) },
		    { "skylake", 0x506e3, 0 } },
	};
	struct bundle_writer *writer;
	struct tz_error err;

	assert_int_equal(bundle_create(dir, 3, &writer, &err), 0);
	assert_int_equal(bundle_finish(writer, &info, &err), 0);
}

static void
expect_model(const struct bundle *bundle, uint32_t cpus, const char *profile,
    uint32_t signature, uint32_t errata)
{
	struct bundle_model model = bundle_model_of(bundle, cpus);

	assert_string_equal(model.profile, profile);
	assert_int_equal(model.signature, signature);
	assert_int_equal(model.errata, errata);
}

static void
each_cpu_has_a_model_of_its_own(void **state)
{
	const struct bundle_stream cpu = { .id = 2 };
	const struct bundle_stream thread = { .thread = true, .id = 2 };
	char dir[] = "traces-XXXXXX";
	struct bundle *bundle;
	struct tz_error err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	make_mixed(dir);
	assert_int_equal(bundle_open(dir, &bundle, &err), 0);
	expect_model(bundle, 1, "alderlake-p", 0x90672, BIT(BDM70));
	expect_model(
	    bundle, 2, "alderlake-e", 0x90672, BIT(BDM70) | BIT(APL11));
	expect_model(bundle, 4, "skylake", 0x506e3, 0);
	/* What several have in common, and what shows on any of them. */
	expect_model(bundle, 3, "", 0x90672, BIT(BDM70) | BIT(APL11));
	expect_model(bundle, 6, "", 0, BIT(BDM70) | BIT(APL11));
	expect_model(bundle, 0, "", 0, BIT(BDM70) | BIT(APL11));
	assert_int_equal(bundle_stream_cpus(&cpu), 4);
	assert_int_equal(bundle_stream_cpus(&thread), 0);
	bundle_close(bundle);
	(void)tree_remove(dir);
}

/* The manifest in DIR, whose members "cpu" and "topaz" become others. */
static void
set_cpu(const char *dir, int version, json_t *cpu)
{
	char path[64], check[DIGEST_TEXT_BYTES];
	json_t *root;
	char *text;

	snprintf(path, sizeof(path), "%s/manifest.json", dir);
	root = json_load_file(path, 0, NULL);
	assert_non_null(root);
	json_object_set_new(root, "topaz", json_integer(version));
	json_object_set_new(root, "cpu", cpu);
	json_object_del(root, "check");
	text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
	digest_bytes(text, strlen(text), check);
	free(text);
	json_object_set_new(root, "check", json_string(check));
	assert_int_equal(json_dump_file(root, path, 0), 0);
	json_decref(root);
}

static json_t *
version_1_cpu(void)
{
	return json_pack("{s:s, s:s, s:i}", "profile", "kabylake", "signature",
	    "0x906e9", "count", 3);
}

static void
a_bundle_of_version_1_opens(void **state)
{
	char dir[] = "traces-XXXXXX";
	struct bundle *bundle;
	struct tz_error err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	make_mixed(dir);
	set_cpu(dir, 1, version_1_cpu());
	if (bundle_open(dir, &bundle, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(bundle->info.cpu_count, 3);
	for (unsigned i = 0; i < 3; i++)
		expect_model(bundle, UINT32_C(1) << i, "kabylake", 0x906e9, 0);
	expect_model(bundle, 0, "kabylake", 0x906e9, 0);
	bundle_close(bundle);
	set_cpu(dir, BUNDLE_VERSION, version_1_cpu());
	assert_int_equal(bundle_open(dir, &bundle, &err), -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "\"models\""));
	for (int i = 0; i < 2; i++) {
		set_cpu(dir, i == 0 ? 0 : BUNDLE_VERSION + 1, version_1_cpu());
		assert_int_equal(bundle_open(dir, &bundle, &err), -TZ_EFORMAT);
		assert_non_null(strstr(err.text, "\"topaz\" is a version"));
	}
	(void)tree_remove(dir);
}

static void
a_model_is_read_as_it_is_written(void **state)
{
	static const struct {
		const char *row, *bad; /* NULL: good */
	} rows[] = {
		{ "{'profile': 'p', 'signature': '0x1'}", NULL },
		{ "{'profile': 'p', 'signature': '0x1', 'errata': ['skl014']}",
		    NULL },
		{ "{'signature': '0x1'}", "profile" },
		{ "{'profile': 1, 'signature': '0x1'}", "profile" },
		{ "{'profile': 'p'}", "signature" },
		{ "{'profile': 'p', 'signature': '506e3'}", "signature" },
		{ "{'profile': 'p', 'signature': '0x'}", "signature" },
		{ "{'profile': 'p', 'signature': '0x123456789'}", "signature" },
		{ "{'profile': 'p', 'signature': '0x1', 'errata': ['skl15']}",
		    "errata" },
		{ "{'profile': 'p', 'signature': '0x1', 'errata': [1]}",
		    "errata" },
		{ "{'profile': 'p', 'signature': '0x1', 'errata': 'skl014'}",
		    "errata" },
		{ "[]", "profile" },
		{ "", "models" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct bundle_info info = { .cpu_count = 1 };
		char text[256];
		const char *bad;
		json_t *cpu;

		snprintf(text, sizeof(text), "{'models': [%s]}", rows[i].row);
		for (char *at = text; (at = strchr(at, '\'')) != NULL;)
			*at = '"';
		cpu = json_loads(text, 0, NULL);
		assert_non_null(cpu);
		bad = manifest_models_parse(cpu, BUNDLE_VERSION, &info);
		if (rows[i].bad == NULL)
			assert_null(bad);
		else
			assert_string_equal(bad, rows[i].bad);
		json_decref(cpu);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cpu_has_a_model_of_its_own),
		cmocka_unit_test(a_bundle_of_version_1_opens),
		cmocka_unit_test(a_model_is_read_as_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
