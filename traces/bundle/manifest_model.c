#include "traces/bundle/manifest_model.h"

#include "emu/profile/profile.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *
model_format(const struct bundle_model *model)
{
	json_t *row, *errata = json_array();
	char signature[16];

	snprintf(signature, sizeof(signature), "0x%" PRIx32, model->signature);
	row = json_pack(
	    "{s:s, s:s}", "profile", model->profile, "signature", signature);
	for (enum profile_erratum n = 0; n < PROFILE_ERRATUM_COUNT; n++)
		if (model->errata >> n & 1)
			json_array_append_new(
			    errata, json_string(profile_erratum_name(n)));
	if (json_array_size(errata) != 0)
		json_object_set(row, "errata", errata);
	json_decref(errata);
	return row;
}

json_t *
manifest_models_format(const struct bundle_info *info)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < info->cpu_count; i++)
		json_array_append_new(list, model_format(&info->model[i]));
	return list;
}

static bool
model_get_signature(const json_t *row, uint32_t *signature)
{
	const char *text = json_string_value(json_object_get(row, "signature"));
	char *end;

	if (text == NULL || strncmp(text, "0x", 2) != 0 ||
	    strlen(text) > strlen("0x12345678") ||
	    strspn(text + 2, "0123456789abcdef") != strlen(text + 2))
		return false;
	*signature = (uint32_t)strtoul(text + 2, &end, 16);
	return end != text + 2;
}

/* A missing member means an empty list. */
static bool
model_get_errata(const json_t *row, uint32_t *errata)
{
	const json_t *list = json_object_get(row, "errata"), *key;
	enum profile_erratum erratum;
	size_t i;

	*errata = 0;
	if (list != NULL && !json_is_array(list))
		return false;
	json_array_foreach(list, i, key)
	{
		if (!json_is_string(key))
			return false;
		erratum = profile_erratum_find(json_string_value(key));
		if (erratum == PROFILE_ERRATUM_COUNT)
			return false;
		*errata |= UINT32_C(1) << erratum;
	}
	return true;
}

/* Fills MODEL from ROW.  NULL: success; otherwise the missing or bad member. */
static const char *
model_parse(const json_t *row, struct bundle_model *model)
{
	const char *profile = json_string_value(
	    json_object_get(row, "profile"));

	if (profile == NULL || strlen(profile) >= sizeof(model->profile))
		return "profile";
	memcpy(model->profile, profile, strlen(profile) + 1);
	if (!model_get_signature(row, &model->signature))
		return "signature";
	return model_get_errata(row, &model->errata) ? NULL : "errata";
}

const char *
manifest_models_parse(
    const json_t *cpu, unsigned version, struct bundle_info *info)
{
	const json_t *list = json_object_get(cpu, "models");
	const char *bad = NULL;

	if (version > 1 && json_array_size(list) != info->cpu_count)
		return "models";
	for (unsigned i = 0; bad == NULL && i < info->cpu_count; i++)
		bad = model_parse(version > 1 ? json_array_get(list, i) : cpu,
		    &info->model[i]);
	return bad;
}
