#include "tests/unit/emu/retired.h"

#include "emu/base/exec_log.h"

#include <Zydis/Zydis.h>
#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RTIT_CTL 0x570

/* The run of instructions whose end the next word tells. */
struct open_run {
	uint64_t va, end;
};

struct expand {
	const struct guest *guest;
	unsigned cpu;
	struct retired_list *list;
	struct open_run *dict;
	size_t dict_count;
	struct open_run run;
	uint64_t cr3;
	uint8_t cpl;
};

static void
append(struct retired_list *list, struct retired item)
{
	if (list->count == list->room) {
		list->room = list->room * 2 + 1024;
		list->item = realloc(
		    list->item, list->room * sizeof(*list->item));
		assert_non_null(list->item);
	}
	list->item[list->count++] = item;
}

static void
add(struct expand *x, enum retired_kind kind, uint32_t arg, uint64_t ip)
{
	append(x->list,
	    (struct retired){ (uint8_t)kind, x->cpl, arg, ip, x->cr3 });
}

/* Length of the instruction at VA; is it a string one with a REP prefix? */
static unsigned
length_at(const struct expand *x, uint64_t va, bool *rep)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	uint8_t bytes[15];
	size_t count = sizeof(bytes);

	while (count > 0 &&
	    !machine_read(
		x->guest->machine, x->cpu, (struct gva){ va }, bytes, count))
		count--;
	ZydisDecoderInit(
	    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&decoder, NULL, bytes, count, &insn)))
		fail_msg("no instruction at 0x%llx", (unsigned long long)va);
	*rep = (insn.attributes &
		   (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
		       ZYDIS_ATTRIB_HAS_REPNE)) != 0;
	return insn.length;
}

/* Retires the open run up to END; REP_VA: where the next run begins, or 0. */
static void
close_run(struct expand *x, uint64_t end, uint64_t rep_va)
{
	uint64_t va = x->run.va;

	while (va < end) {
		bool rep;
		unsigned length = length_at(x, va, &rep);

		if (!(rep && va + length == end && va == rep_va))
			add(x, RETIRED_INSN, 0, va);
		va += length;
	}
	assert_true(va == end || end == x->run.va);
	x->run = (struct open_run){ 0, 0 };
}

static uint64_t
address(const uint32_t *word)
{
	return word[0] | (uint64_t)word[1] << 32;
}

static size_t
expand_extra(struct expand *x, const uint32_t *word)
{
	switch (word[0] >> 2) {
	case EXEC_LOG_CONTEXT:
		x->cpl = (uint8_t)word[1];
		x->cr3 = address(word + 2);
		return 4;
	case EXEC_LOG_MSR:
		add(x, RETIRED_MSR, word[1], address(word + 2));
		return 4;
	case EXEC_LOG_STEP:
		add(x, RETIRED_INSN, 0, address(word + 1));
		return 3;
	case EXEC_LOG_EVENT:
		add(x, RETIRED_EVENT, word[1], address(word + 2));
		return 4;
	case EXEC_LOG_STOPPED:
		add(x, RETIRED_STOPPED, 0, 0);
		return 1;
	case EXEC_LOG_TIME:
		add(x, RETIRED_TIME, 0, address(word + 1));
		return 3;
	default:
		fail_msg("word 0x%x of the truth", word[0]);
		return 1;
	}
}

static struct open_run *
define(struct expand *x, uint32_t n)
{
	if (n >= x->dict_count) {
		size_t count = (size_t)n * 2 + 1024;

		x->dict = realloc(x->dict, count * sizeof(*x->dict));
		assert_non_null(x->dict);
		memset(&x->dict[x->dict_count], 0,
		    (count - x->dict_count) * sizeof(*x->dict));
		x->dict_count = count;
	}
	return &x->dict[n];
}

static size_t
expand_word(struct expand *x, const uint32_t *word)
{
	struct open_run *entry = NULL;
	size_t used = 1;

	switch (word[0] & 3) {
	case EXEC_LOG_CUT:
		if (x->run.end != 0)
			close_run(x, address(word + 1), 0);
		return 3;
	case EXEC_LOG_EXTRA:
		close_run(x, x->run.end, 0);
		return expand_extra(x, word);
	case EXEC_LOG_DEFINE:
		entry = define(x, word[0] >> 2);
		entry->va = address(word + 1);
		entry->end = entry->va + word[3];
		used = 4;
		break;
	default:
		assert_in_range(word[0] >> 2, 0, x->dict_count - 1);
		entry = &x->dict[word[0] >> 2];
		break;
	}
	close_run(x, x->run.end, entry->va);
	x->run = *entry;
	return used;
}

void
retired_expand(
    const struct guest *guest, unsigned cpu, struct retired_list *list)
{
	const struct guest_words *words = &guest->exec_log[cpu];
	struct expand *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	*list = (struct retired_list){ 0 };
	x->guest = guest;
	x->cpu = cpu;
	x->list = list;
	for (size_t i = 0; i < words->count;)
		i += expand_word(x, &words->word[i]);
	close_run(x, x->run.end, 0);
	free(x->dict);
	free(x);
}

void
retired_free(struct retired_list *list)
{
	free(list->item);
}

struct image {
	const struct guest *guest;
	unsigned cpu;
};

static int
read_image(uint8_t *bytes, size_t size, const struct pt_asid *asid, uint64_t ip,
    void *arg)
{
	const struct image *image = arg;

	(void)asid;
	while (size > 0 &&
	    !machine_read(image->guest->machine, image->cpu, (struct gva){ ip },
		bytes, size))
		size--;
	return size == 0 ? -pte_nomap : (int)size;
}

/* INT n is not in the trace: its FUP stands for it. */
static bool
is_software_interrupt(const struct retired_list *list, size_t i)
{
	return i + 1 < list->count && list->item[i + 1].kind == RETIRED_EVENT &&
	    list->item[i + 1].ip > list->item[i].ip &&
	    list->item[i + 1].ip - list->item[i].ip <= 2 &&
	    (list->item[i + 1].arg == 3 || list->item[i + 1].arg >= 0x30);
}

/* The instructions that the trace must show. */
static void
pick_traced(const struct retired_list *list, struct retired_list *traced)
{
	bool on = false, next = false;

	*traced = (struct retired_list){ 0 };
	for (size_t i = 0; i < list->count; i++) {
		const struct retired *item = &list->item[i];

		if (item->kind == RETIRED_MSR && item->arg == RTIT_CTL) {
			next = item->ip & 1;
			on = on && next;
		}
		if (item->kind != RETIRED_INSN)
			continue;
		if (on && !is_software_interrupt(list, i))
			append(traced, *item);
		on = next;
	}
}

static void
compare(struct pt_insn_decoder *decoder, const struct retired_list *traced)
{
	size_t at = 0;
	int status = pt_insn_sync_forward(decoder);
	struct pt_insn insn;

	while (status >= 0) {
		while (status >= 0 && (status & pts_event_pending)) {
			struct pt_event event;

			status = pt_insn_event(decoder, &event, sizeof(event));
		}
		if (status < 0 || (status & pts_eos))
			break;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.iclass == ptic_error && status < 0)
			break;
		if (at == traced->count)
			fail_msg("decodes further than it ran, at 0x%llx",
			    (unsigned long long)insn.ip);
		if (insn.ip != traced->item[at].ip)
			fail_msg("instruction %zu decodes to 0x%llx, it was "
				 "0x%llx",
			    at, (unsigned long long)insn.ip,
			    (unsigned long long)traced->item[at].ip);
		at++;
	}
	if (status < 0 && status != -pte_eos)
		fail_msg("libipt after %zu instructions: %s", at,
		    pt_errstr(pt_errcode(status)));
	if (at != traced->count)
		fail_msg("%zu of %zu instructions decode; the next is 0x%llx",
		    at, traced->count, (unsigned long long)traced->item[at].ip);
}

void
retired_assert_decodes(
    const struct guest *guest, unsigned cpu, const struct retired_list *list)
{
	struct image from = { guest, cpu };
	struct retired_list traced;
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	uint8_t *begin = guest->ram + GUEST_TRACE_PA(cpu);

	memset(&config, 0, sizeof(config));
	config.size = sizeof(config);
	config.begin = begin;
	config.end = begin + guest->counters[cpu].trace_bytes;
	decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_image_set_callback(
			     pt_insn_get_image(decoder), read_image, &from),
	    0);
	pick_traced(list, &traced);
	compare(decoder, &traced);
	pt_insn_free_decoder(decoder);
	retired_free(&traced);
}
