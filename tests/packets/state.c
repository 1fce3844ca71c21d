#include <string.h>

#include "emu/pt/sync.h"
#include "tests/packets/vector.h"

/* SDM vol. 3, table "IA32_RTIT_CTL MSR"; fields of more bits take "=N". */
static const struct ctl_name {
	const char *name;
	unsigned lo, bits;
} ctl_names[] = { { "CYCEn", 1, 1 }, { "OS", 2, 1 }, { "User", 3, 1 },
	{ "PwrEvtEn", 4, 1 }, { "FUPonPTW", 5, 1 }, { "FabricEn", 6, 1 },
	{ "CR3Filter", 7, 1 }, { "ToPA", 8, 1 }, { "MTCEn", 9, 1 },
	{ "TSCEn", 10, 1 }, { "DisRETC", 11, 1 }, { "PTWEn", 12, 1 },
	{ "BranchEn", 13, 1 }, { "MTCFreq", 14, 4 }, { "CycThresh", 19, 4 },
	{ "PSBFreq", 24, 4 }, { "EventEn", 31, 1 }, { "DisTNT", 55, 1 },
	{ "InjectPsbPmiOnEnable", 56, 1 } };

static void
state_ctl(struct vector *vector, struct words *words)
{
	vector->ctl = 0;
	while (words->next != words->count && !vector->failed) {
		const char *word = words->word[words->next++];
		size_t length = strcspn(word, "="), i = 0;
		uint64_t value = 1;

		while (i < TZ_ARRAY_LEN(ctl_names) &&
		    (strlen(ctl_names[i].name) != length ||
			strncmp(ctl_names[i].name, word, length) != 0))
			i++;
		if (i == TZ_ARRAY_LEN(ctl_names)) {
			vector_fail(
			    vector, "no bit of IA32_RTIT_CTL: %s", word);
			return;
		}
		if (word[length] == '=')
			value = vector_value(vector, word, 10);
		if (value >> ctl_names[i].bits != 0)
			vector_fail(vector, "too large: %s", word);
		vector->ctl |= value << ctl_names[i].lo;
	}
}

static void
state_profile(struct vector *vector, struct words *words)
{
	const char *name = vector_word(vector, words);
	const struct profile *profile = name ? profile_find(name) : NULL;
	struct fake *fake = vector->fake;

	if (profile == NULL) {
		vector_fail(vector, "no such profile");
		return;
	}
	fake->profile = *profile;
	fake->uarch = *profile->uarch;
	fake->profile.uarch = &fake->uarch;
	pt_unit_set_cbr(fake->unit, profile->cbr);
}

static void
state_uarch(struct vector *vector, struct words *words)
{
	struct profile_uarch *uarch = &vector->fake->uarch;

	while (words->next != words->count && !vector->failed) {
		const char *word = words->word[words->next++];
		unsigned value = (unsigned)vector_value(vector, word, 10);

		if (strncmp(word, "tnt_bits=", 9) == 0)
			uarch->tnt_bits = value;
		else if (strncmp(word, "deferred_tip=", 13) == 0)
			uarch->deferred_tip = value != 0;
		else if (strncmp(word, "ret_pops=", 9) == 0)
			uarch->ret_pops = value != 0;
		else if (strncmp(word, "pgd_jcc_ip=", 11) == 0)
			uarch->pgd_jcc_ip = value != 0;
		else
			vector_fail(vector, "unknown: %s", word);
	}
}

static void
state_errata(struct vector *vector, struct words *words)
{
	while (words->next != words->count && !vector->failed) {
		const char *word = words->word[words->next++];
		enum profile_erratum erratum = profile_erratum_find(word);

		if (erratum == PROFILE_ERRATUM_COUNT)
			vector_fail(vector, "no such erratum: %s", word);
		else
			vector->fake->profile.errata_on |= 1U << erratum;
	}
}

/* range N filter|stop A B */
static void
state_range(struct vector *vector, struct words *words)
{
	unsigned n = (unsigned)vector_decimal(vector, words, 3);
	const char *what = vector_word(vector, words);
	uint64_t low = vector_hex(vector, words, UINT64_MAX);
	uint64_t high = vector_hex(vector, words, UINT64_MAX);
	uint64_t config;

	if (vector->failed)
		return;
	if (strcmp(what, "filter") == 0)
		config = 1;
	else if (strcmp(what, "stop") == 0)
		config = 2;
	else {
		vector_fail(vector, "neither filter nor stop: %s", what);
		return;
	}
	vector->ctl |= config << (32 + 4 * n);
	fake_wrmsr(vector->fake, 0x580 + 2 * n, low);
	fake_wrmsr(vector->fake, 0x581 + 2 * n, high);
}

/* topa HEX: the next entry of the table. */
static void
state_topa(struct vector *vector, struct words *words)
{
	if (vector->topa_count == VECTOR_TOPA_MAX) {
		vector_fail(vector, "too many entries");
		return;
	}
	fake_poke(vector->fake, FAKE_TABLE + 8 * vector->topa_count++,
	    vector_hex(vector, words, UINT64_MAX));
}

/* An address, the default of which is FAKE_CLIP's. */
static void
state_ip(struct vector *vector, struct words *words)
{
	vector->fake->at.ip = vector_hex(vector, words, UINT64_MAX);
	vector->at_changed = true;
}

/* msr INDEX VALUE */
static void
state_msr(struct vector *vector, struct words *words)
{
	uint32_t index = (uint32_t)vector_hex(vector, words, UINT32_MAX);
	uint64_t value = vector_hex(vector, words, UINT64_MAX);

	if (vector->failed)
		return;
	if (!pt_unit_owns_msr(index) ||
	    pt_unit_wrmsr(vector->fake->unit, index, value, &vector->fake->at,
		0) != FAULT_NONE)
		vector_fail(vector, "MSR %x refuses %llx", index,
		    (unsigned long long)value);
}

static void
state_cpu(struct vector *vector, struct words *words)
{
	while (words->next != words->count && !vector->failed) {
		const char *word = words->word[words->next++];

		if (!vector_context(vector, &vector->fake->at, word))
			vector_fail(vector, "unknown: %s", word);
	}
	vector->at_changed = true;
}

/* cpus N: of the machine that runs guest code. */
static void
state_cpus(struct vector *vector, struct words *words)
{
	vector->cpus = (unsigned)vector_decimal(vector, words, 2);
	if (vector->cpus == 0)
		vector_fail(vector, "no CPU at all");
}

/* cycles KEY=N ...: the figures of cycles.def that can be set. */
static void
state_cycles(struct vector *vector, struct words *words)
{
	static const struct {
		const char *name;
		size_t offset;
	} figures[] = {
#define SETTING(member, unit, least, most, text, cite) \
 { #member, offsetof(struct pt_cycles, member) },
#define FIXED(name, unit, value, text, cite)
#include "emu/pt/packet/cycles.def"
#undef SETTING
#undef FIXED
	};
	struct tz_error err;

	while (words->next != words->count && !vector->failed) {
		const char *word = words->word[words->next++];
		size_t length = strcspn(word, "="), i = 0;

		while (i < TZ_ARRAY_LEN(figures) &&
		    (strlen(figures[i].name) != length ||
			strncmp(figures[i].name, word, length) != 0))
			i++;
		if (i == TZ_ARRAY_LEN(figures)) {
			vector_fail(
			    vector, "no figure of cycles.def: %s", word);
			return;
		}
		*(uint32_t *)((char *)&vector->cycles + figures[i].offset) =
		    (uint32_t)vector_value(vector, word, 10);
	}
	if (pt_cycles_check(&vector->cycles, &err) != 0)
		vector_fail(vector, "%s", err.text);
}

static const struct state_key {
	const char *name;
	void (*obey)(struct vector *vector, struct words *words);
} keys[] = { { "profile", state_profile }, { "manner", state_uarch },
	{ "errata", state_errata }, { "ctl", state_ctl },
	{ "range", state_range }, { "topa", state_topa }, { "ip", state_ip },
	{ "msr", state_msr }, { "cpu", state_cpu }, { "cpus", state_cpus },
	{ "cycles", state_cycles } };

void
vector_state(struct vector *vector, struct words *words)
{
	const char *name = vector_word(vector, words);

	for (size_t i = 0; i < TZ_ARRAY_LEN(keys); i++) {
		if (strcmp(keys[i].name, name) == 0) {
			keys[i].obey(vector, words);
			return;
		}
	}
	vector_fail(vector, "unknown key: %s", name);
}

void
vector_state_done(struct vector *vector)
{
	struct fake *fake = vector->fake;

	if (vector->failed)
		return;
	if (pt_unit_set_cycles(fake->unit, &vector->cycles) != 0)
		vector_fail(vector, "out of memory");
	if (vector->topa_count == 0) {
		fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_SIZE(12));
		fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
	}
	if (fake_rdmsr(fake, 0x560) == 0)
		fake_wrmsr(fake, 0x560, FAKE_TABLE);
}

bool
vector_context(struct vector *vector, struct pt_context *at, const char *change)
{
	size_t key = strcspn(change, "=");
	bool hex = strncmp(change, "cr3=", 4) == 0;
	uint64_t value;

	if (change[key] != '=')
		return false;
	value = vector_value(vector, change, hex ? 16 : 10);
	if (hex)
		at->cr3 = value;
	else if (strncmp(change, "cpl=", 4) == 0)
		at->cpl = value & 3;
	else if (strncmp(change, "if=", 3) == 0)
		at->if_flag = value != 0;
	else if (strncmp(change, "enclave=", 8) == 0)
		at->enclave = value != 0;
	else if (strncmp(change, "nonroot=", 8) == 0)
		at->non_root = value != 0;
	else if (strncmp(change, "mode=", 5) == 0) {
		at->cs_l = value == 64;
		at->cs_d = value == 32;
		if (value != 64 && value != 32 && value != 16)
			vector_fail(vector, "no such mode: %s", change);
	} else
		return false;
	return true;
}
