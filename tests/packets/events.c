#include <stdlib.h>
#include <string.h>

#include "emu/pt/inject.h"
#include "emu/pt/packet/nonbranch.h"
#include "emu/pt/sync.h"
#include "tests/packets/vector.h"

#define WRMSR_BYTES   2
#define XRSTORS_BYTES 4

/* Writes IA32_RTIT_CTL as the instruction at the current address. */
static void
write_ctl(struct vector *vector, uint64_t ctl)
{
	struct fake *fake = vector->fake;

	if (pt_unit_wrmsr(fake->unit, 0x570, ctl, &fake->at,
		fake->at.ip + WRMSR_BYTES) != FAULT_NONE)
		vector_fail(vector, "WRMSR of IA32_RTIT_CTL faults");
	fake->at.ip += WRMSR_BYTES;
}

static void
event_start(struct vector *vector, struct words *words)
{
	(void)words;
	write_ctl(vector, vector->ctl | CTL_TRACE_EN);
}

static void
event_stop(struct vector *vector, struct words *words)
{
	(void)words;
	write_ctl(vector, vector->ctl);
}

/* The outcome of an instruction that may fault: the word "faults", or none. */
static void
check_fault(struct vector *vector, struct words *words, enum fault fault)
{
	bool expected = words->next != words->count;

	if (expected && strcmp(vector_word(vector, words), "faults") != 0)
		vector_fail(vector, "only `faults` may stand here");
	else if (expected != (fault != FAULT_NONE))
		vector_fail(vector, expected ? "no fault came" : "it faults");
}

/* wrmsr INDEX VALUE [faults] */
static void
event_wrmsr(struct vector *vector, struct words *words)
{
	struct fake *fake = vector->fake;
	uint32_t index = (uint32_t)vector_hex(vector, words, UINT32_MAX);
	uint64_t value = vector_hex(vector, words, UINT64_MAX);
	enum fault fault;

	if (!pt_unit_owns_msr(index))
		vector_fail(vector, "no trace MSR: %x", index);
	if (vector->failed)
		return;
	fault = pt_unit_wrmsr(
	    fake->unit, index, value, &fake->at, fake->at.ip + WRMSR_BYTES);
	if (fault == FAULT_NONE)
		fake->at.ip += WRMSR_BYTES;
	check_fault(vector, words, fault);
}

/* rdmsr INDEX VALUE */
static void
event_rdmsr(struct vector *vector, struct words *words)
{
	uint32_t index = (uint32_t)vector_hex(vector, words, UINT32_MAX);
	uint64_t value = vector_hex(vector, words, UINT64_MAX), found = 0;

	if (!pt_unit_owns_msr(index))
		vector_fail(vector, "no trace MSR: %x", index);
	if (vector->failed)
		return;
	if (pt_unit_rdmsr(vector->fake->unit, index, &found) != FAULT_NONE)
		vector_fail(vector, "it faults");
	else if (found != value)
		vector_fail(vector, "it reads %llx", (unsigned long long)found);
}

static void
event_xsaves(struct vector *vector, struct words *words)
{
	struct fake *fake = vector->fake;

	(void)words;
	pt_unit_xsaves(fake->unit, vector->image, &fake->at);
	fake->at.ip += XRSTORS_BYTES;
}

/* xrstors [faults]; xrstors-init: from the initial state. */
static void
event_xrstors(struct vector *vector, struct words *words)
{
	struct fake *fake = vector->fake;
	enum fault fault = pt_unit_xrstors(
	    fake->unit, vector->image, &fake->at, fake->at.ip + XRSTORS_BYTES);

	if (fault == FAULT_NONE)
		fake->at.ip += XRSTORS_BYTES;
	check_fault(vector, words, fault);
}

static void
event_xrstors_init(struct vector *vector, struct words *words)
{
	struct fake *fake = vector->fake;

	check_fault(vector, words,
	    pt_unit_xrstors(
		fake->unit, NULL, &fake->at, fake->at.ip + XRSTORS_BYTES));
}

/* image OFFSET VALUE: changes 8 bytes of what XSAVES stored. */
static void
event_image(struct vector *vector, struct words *words)
{
	uint64_t at = vector_hex(vector, words, PT_XSTATE_BYTES - 8);
	uint64_t value = vector_hex(vector, words, UINT64_MAX);

	for (unsigned i = 0; i < 8; i++)
		vector->image[at + i] = (uint8_t)(value >> (8 * i));
}

/* saved OFFSET VALUE: what XSAVES stored there. */
static void
event_saved(struct vector *vector, struct words *words)
{
	uint64_t at = vector_hex(vector, words, PT_XSTATE_BYTES - 8);
	uint64_t value = vector_hex(vector, words, UINT64_MAX), found = 0;

	for (unsigned i = 0; i < 8; i++)
		found |= (uint64_t)vector->image[at + i] << (8 * i);
	if (found != value)
		vector_fail(vector, "it holds %llx", (unsigned long long)found);
}

/*
 * at ADDRESS: execution got there without a branch; a unit whose overflow is over but
 * for the address is told.
 */
static void
event_at(struct vector *vector, struct words *words)
{
	struct fake *fake = vector->fake;

	fake->at.ip = vector_hex(vector, words, UINT64_MAX);
	if (!vector->failed && pt_unit_wants_ip(fake->unit))
		pt_unit_resolve(fake->unit, fake->at.ip);
}

static void
event_ptwrite(struct vector *vector, struct words *words)
{
	unsigned bytes = (unsigned)vector_decimal(vector, words, 8);
	uint64_t value = vector_hex(vector, words, UINT64_MAX);

	if (bytes != 4 && bytes != 8)
		vector_fail(vector, "PTWRITE writes 4 or 8 bytes");
	if (!vector->failed)
		pt_unit_ptwrite(
		    vector->fake->unit, &vector->fake->at, value, bytes);
}

/* if 0|1: STI, CLI or POPF was executed; the current address is the next one. */
static void
event_if(struct vector *vector, struct words *words)
{
	vector->fake->at.if_flag = vector_decimal(vector, words, 1) != 0;
	pt_unit_if_changed(vector->fake->unit, &vector->fake->at);
}

static void
event_shutdown(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_shutdown(vector->fake->unit, &vector->fake->at);
}

/* mwait HINTS EXT: to the C-state that the hints name. */
static void
event_mwait(struct vector *vector, struct words *words)
{
	struct pt_power power = { .mwait = true };

	power.hints = (uint8_t)vector_hex(vector, words, 0xff);
	power.ext = (uint8_t)vector_decimal(vector, words, 3);
	power.cstate = power.hints >> 4;
	power.sub = power.hints & 0xf;
	if (!vector->failed)
		pt_unit_power_enter(
		    vector->fake->unit, &vector->fake->at, &power);
}

/* sleep C SUB [hw]: HLT, INIT, or by hardware. */
static void
event_sleep(struct vector *vector, struct words *words)
{
	struct pt_power power = { 0 };

	power.cstate = (uint8_t)vector_decimal(vector, words, 15);
	power.sub = (uint8_t)vector_decimal(vector, words, 15);
	if (words->next != words->count) {
		power.hw = true;
		if (strcmp(vector_word(vector, words), "hw") != 0)
			vector_fail(vector, "only `hw` may stand here");
	}
	if (!vector->failed)
		pt_unit_power_enter(
		    vector->fake->unit, &vector->fake->at, &power);
}

/* wake LAST DEEPEST REASON */
static void
event_wake(struct vector *vector, struct words *words)
{
	uint8_t last = (uint8_t)vector_decimal(vector, words, 15);
	uint8_t deepest = (uint8_t)vector_decimal(vector, words, 15);
	uint8_t reason = (uint8_t)vector_decimal(vector, words, 15);

	pt_unit_power_exit(
	    vector->fake->unit, &vector->fake->at, last, deepest, reason);
}

static void
event_exstop(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_exstop(vector->fake->unit, &vector->fake->at);
}

static void
event_tsx_begin(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_tsx(vector->fake->unit, &vector->fake->at, true);
}

static void
event_tsx_commit(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_tsx(vector->fake->unit, &vector->fake->at, false);
}

static void
event_smi(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_smi(vector->fake->unit, &vector->fake->at);
}

/* rsm on|off: TraceEn in SMRAM. */
static void
event_rsm(struct vector *vector, struct words *words)
{
	const char *what = vector_word(vector, words);

	if (vector->failed)
		return;
	if (strcmp(what, "on") != 0 && strcmp(what, "off") != 0)
		vector_fail(vector, "neither on nor off: %s", what);
	else
		pt_unit_rsm(vector->fake->unit, &vector->fake->at,
		    strcmp(what, "on") == 0);
}

/* senter: GETSEC[SENTER] or [ENTERACCS]. */
static void
event_senter(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_senter(vector->fake->unit);
}

/* acm: an authenticated code module has run. */
static void
event_acm(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_acm(vector->fake->unit, &vector->fake->at);
}

static void
event_mnt(struct vector *vector, struct words *words)
{
	pt_unit_maintenance(
	    vector->fake->unit, vector_hex(vector, words, UINT64_MAX));
}

static void
event_vmptrld(struct vector *vector, struct words *words)
{
	uint64_t vmcs = PT_VMCS_NONE;

	if (words->next != words->count &&
	    strcmp(words->word[words->next], "none") == 0)
		words->next++;
	else
		vmcs = vector_hex(vector, words, UINT64_MAX);
	if (!vector->failed)
		pt_unit_vmptrld(vector->fake->unit, vmcs);
}

static void
event_vmxon(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_vmxon(vector->fake->unit, &vector->fake->at);
}

/* pebs TYPE 4|8 [ip] [ID:VALUE ...] */
static void
event_pebs(struct vector *vector, struct words *words)
{
	struct pt_block_item items[VECTOR_WORDS_MAX];
	struct pt_block block = { .items = items };
	bool with_ip = false;

	block.type = (uint8_t)vector_decimal(vector, words, 31);
	block.narrow = vector_decimal(vector, words, 8) == 4;
	while (words->next != words->count && !vector->failed) {
		char *word = words->word[words->next++];
		char *colon = strchr(word, ':');

		if (strcmp(word, "ip") == 0) {
			with_ip = true;
			continue;
		}
		if (colon == NULL) {
			vector_fail(vector, "no item: %s", word);
			return;
		}
		*colon = '=';
		items[block.count++] = (struct pt_block_item){
			.id = (uint8_t)strtoul(word, NULL, 10),
			.value = vector_value(vector, word, 16),
		};
	}
	if (!vector->failed)
		pt_unit_pebs(
		    vector->fake->unit, &vector->fake->at, &block, 1, with_ip);
}

/* time CYCLES: the TSC and the core clock read that. */
static void
event_time(struct vector *vector, struct words *words)
{
	fake_time(vector->fake, vector_decimal(vector, words, UINT64_MAX));
}

static void
event_frequency(struct vector *vector, struct words *words)
{
	uint32_t cbr = (uint32_t)vector_decimal(vector, words, 255);

	if (!vector->failed)
		pt_unit_frequency(vector->fake->unit, cbr);
}

static void
event_overflow(struct vector *vector, struct words *words)
{
	uint32_t count = (uint32_t)vector_decimal(vector, words, 1000);

	if (!pt_unit_overflow(vector->fake->unit, count))
		vector_fail(vector, "it cannot overflow now");
}

static void
event_error(struct vector *vector, struct words *words)
{
	(void)words;
	if (!pt_unit_force_error(vector->fake->unit))
		vector_fail(vector, "no error can come now");
}

static void
event_full(struct vector *vector, struct words *words)
{
	(void)words;
	if (!pt_unit_force_stop(vector->fake->unit))
		vector_fail(vector, "no output is open");
}

static void
event_fill(struct vector *vector, struct words *words)
{
	(void)words;
	if (!pt_unit_fill_to_pmi(vector->fake->unit))
		vector_fail(vector, "no region with INT comes");
}

/* psb: one beside the counter, as the processor may send it at any time. */
static void
event_psb(struct vector *vector, struct words *words)
{
	(void)words;
	pt_unit_psb(vector->fake->unit, vector->fake->at.ip);
}

static void
event_reset(struct vector *vector, struct words *words)
{
	const char *what = vector_word(vector, words);

	if (vector->failed)
		return;
	if (strcmp(what, "cold") != 0 && strcmp(what, "warm") != 0)
		vector_fail(vector, "neither cold nor warm: %s", what);
	else
		pt_unit_reset(vector->fake->unit, strcmp(what, "warm") == 0);
}

/* pmis N: so many were raised since the beginning. */
static void
event_pmis(struct vector *vector, struct words *words)
{
	uint64_t count = vector_decimal(vector, words, UINT32_MAX);

	if (vector->fake->pmi_count != count)
		vector_fail(vector, "there were %u", vector->fake->pmi_count);
}

/* repeat N jcc-taken ...: the event that follows, N times. */
static void
event_repeat(struct vector *vector, struct words *words)
{
	uint64_t count = vector_decimal(vector, words, 100000);
	size_t from = words->next;

	for (uint64_t i = 0; i < count && !vector->failed; i++) {
		words->next = from;
		vector_event(vector, words);
	}
}

static const struct event_name {
	const char *name;
	void (*obey)(struct vector *vector, struct words *words);
} names[] = { { "start", event_start }, { "stop", event_stop },
	{ "wrmsr", event_wrmsr }, { "rdmsr", event_rdmsr },
	{ "xsaves", event_xsaves }, { "xrstors", event_xrstors },
	{ "xrstors-init", event_xrstors_init }, { "image", event_image },
	{ "saved", event_saved }, { "at", event_at },
	{ "ptwrite", event_ptwrite }, { "if", event_if },
	{ "shutdown", event_shutdown }, { "mwait", event_mwait },
	{ "sleep", event_sleep }, { "wake", event_wake },
	{ "exstop", event_exstop }, { "tsx-begin", event_tsx_begin },
	{ "tsx-commit", event_tsx_commit }, { "smi", event_smi },
	{ "rsm", event_rsm }, { "senter", event_senter }, { "acm", event_acm },
	{ "mnt", event_mnt }, { "vmptrld", event_vmptrld },
	{ "vmxon", event_vmxon }, { "pebs", event_pebs },
	{ "time", event_time }, { "frequency", event_frequency },
	{ "overflow", event_overflow }, { "operational-error", event_error },
	{ "region-full-with-stop", event_full }, { "fill-to-pmi", event_fill },
	{ "psb", event_psb }, { "reset", event_reset }, { "pmis", event_pmis },
	{ "repeat", event_repeat } };

void
vector_event(struct vector *vector, struct words *words)
{
	const char *name = vector_word(vector, words);

	if (vector->failed || vector_transfer(vector, name, words))
		return;
	for (size_t i = 0; i < TZ_ARRAY_LEN(names); i++) {
		if (strcmp(names[i].name, name) == 0) {
			names[i].obey(vector, words);
			return;
		}
	}
	vector_fail(vector, "unknown event: %s", name);
}
