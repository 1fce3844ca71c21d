#include "compare.h"

#include "flags.h"

#include <stdlib.h>
#include <string.h>

#define VECTOR_PF  14
#define PART_BYTES 10 /* of a store in parts */
#define FX_CONTROL 0
#define FX_STATUS  2
#define FX_TAGS    4
#define FX_MXCSR   24
#define FX_ST      32
#define FX_XMM     160
/* SDM vol. 3, 6.8 "Enabling and Disabling Interrupts": RF of a saved image is the
 * processor's own; the machine leaves it as it was (emu/cpu/README.md). */
#define RFLAGS_SEEN (ALL | UINT64_C(0x400))

static const char *const names[16] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp",
	"rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" };

static const struct listed *
find(const struct listing *listing, uint64_t rip)
{
	for (unsigned i = 0; i < listing->count; i++) {
		/* INT3 is over when it traps. */
		if (CODE_VA + listing->item[i].at == rip ||
		    (i + 1 == listing->count &&
			CODE_VA + listing->item[i].at + 1 == rip))
			return &listing->item[i];
	}
	return NULL;
}

static uint16_t
get16(const struct state *state, unsigned at)
{
	uint16_t value;

	memcpy(&value, state->fx + at, sizeof(value));
	return value;
}

static uint64_t
get64(const struct state *state, unsigned at)
{
	uint64_t value;

	memcpy(&value, state->fx + at, sizeof(value));
	return value;
}

/* Where the outcomes are written to; NULL: only compared. */
struct report {
	FILE *out;
	const char *a_name, *b_name;
	unsigned count;
};

static void
differ(struct report *report, const char *what, uint64_t a, uint64_t b)
{
	report->count++;
	if (report->out != NULL)
		fprintf(report->out, "  %-8s %s %016llx, %s %016llx\n", what,
		    report->a_name, (unsigned long long)a, report->b_name,
		    (unsigned long long)b);
}

static void
check(struct report *report, const char *what, uint64_t a, uint64_t b)
{
	if (a != b)
		differ(report, what, a, b);
}

static void
check_float(struct report *report, const struct state *a, const struct state *b,
    uint16_t undefined)
{
	unsigned a_top = get16(a, FX_STATUS) >> 11 & 7;
	unsigned b_top = get16(b, FX_STATUS) >> 11 & 7;
	char name[16];

	check(report, "fcw", get16(a, FX_CONTROL), get16(b, FX_CONTROL));
	check(report, "fsw", get16(a, FX_STATUS) & (uint16_t)~undefined,
	    get16(b, FX_STATUS) & (uint16_t)~undefined);
	check(report, "ftw", a->fx[FX_TAGS], b->fx[FX_TAGS]);
	check(report, "mxcsr", get16(a, FX_MXCSR), get16(b, FX_MXCSR));
	/* The image is in the order of the stack; R0 to R7 are where they are. */
	for (unsigned i = 0; i < 8; i++) {
		unsigned a_at = FX_ST + 16 * ((i - a_top) & 7);
		unsigned b_at = FX_ST + 16 * ((i - b_top) & 7);

		if (!(a->fx[FX_TAGS] >> i & 1))
			continue;
		snprintf(name, sizeof(name), "r%u", i);
		check(report, name, get64(a, a_at), get64(b, b_at));
		check(report, name, get16(a, a_at + 8), get16(b, b_at + 8));
	}
	for (unsigned i = 0; i < 16; i++) {
		unsigned at = FX_XMM + 16 * i;

		snprintf(name, sizeof(name), "xmm%u", i);
		check(report, name, get64(a, at), get64(b, at));
		check(report, name, get64(a, at + 8), get64(b, at + 8));
	}
}

/* But for the PART_BYTES before address SKIP. */
static void
check_memory(struct report *report, const char *what, uint64_t va,
    const uint8_t *a, const uint8_t *b, size_t count, uint64_t skip)
{
	char name[32];

	if (memcmp(a, b, count) == 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (a[i] == b[i] ||
		    (va + i < skip && va + i + PART_BYTES >= skip))
			continue;
		snprintf(name, sizeof(name), "%s %llx", what,
		    (unsigned long long)(va + i));
		differ(report, name, a[i], b[i]);
		if (report->count > 40)
			return;
	}
}

static void
compare(struct report *report, const struct outcome *a, const struct outcome *b,
    const struct listing *listing)
{
	const struct state *x = &a->state, *y = &b->state;
	const struct listed *at = find(listing, x->rip);
	uint64_t skip = x->vector == VECTOR_PF && at != NULL && at->in_parts
	    ? x->cr2 & ~(uint64_t)(PAGE_BYTES - 1)
	    : 0;
	uint64_t flags = RFLAGS_SEEN & ~(at != NULL ? at->undefined : ALL);

	check(report, "vector", x->vector, y->vector);
	check(report, "rip", x->rip, y->rip);
	if (x->vector == VECTOR_PF) {
		check(report, "cr2", x->cr2, y->cr2);
	}
	if (x->vector >= 8 && x->vector <= VECTOR_PF)
		check(report, "error", x->error, y->error);
	for (unsigned i = 0; i < 16; i++)
		check(report, names[i], x->gpr[i], y->gpr[i]);
	check(report, "rflags", x->rflags & flags, y->rflags & flags);
	check_float(report, x, y, at != NULL ? at->status : C0 | C1 | C2 | C3);
	check_memory(report, "code", CODE_VA, a->memory.code, b->memory.code,
	    CODE_BYTES, skip);
	check_memory(report, "data", DATA_VA, a->memory.data, b->memory.data,
	    DATA_BYTES, skip);
	check_memory(report, "fixed", FIXED_VA, a->memory.fixed,
	    b->memory.fixed, FIXED_BYTES, skip);
	check_memory(report, "stack", STACK_VA, a->memory.stack,
	    b->memory.stack, STACK_BYTES, skip);
}

bool
outcomes_agree(const struct outcome *a, const struct outcome *b,
    const struct listing *listing)
{
	struct report report = { .out = NULL };

	if (a->state.vector == VECTOR_ENDLESS &&
	    b->state.vector == VECTOR_ENDLESS)
		return true;
	compare(&report, a, b, listing);
	return report.count == 0;
}

void
outcomes_print(const struct outcome *a, const char *a_name,
    const struct outcome *b, const char *b_name, const struct listing *listing)
{
	struct report report = {
		.out = stdout, .a_name = a_name, .b_name = b_name
	};

	compare(&report, a, b, listing);
}

void
listing_print(const struct listing *listing, const struct outcome *start)
{
	ZydisDecoder decoder;
	ZydisFormatter formatter;

	ZydisDecoderInit(
	    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	for (unsigned i = 0; i < listing->count; i++) {
		const struct listed *item = &listing->item[i];
		const uint8_t *code = start->memory.code + item->at;
		struct decoded d;
		char text[128] = "?";

		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(
			&decoder, code, item->length, &d.insn, d.operand)))
			ZydisFormatterFormatInstruction(&formatter, &d.insn,
			    d.operand, d.insn.operand_count_visible, text,
			    sizeof(text), CODE_VA + item->at, NULL);
		printf("  %08x ", CODE_VA + item->at);
		for (unsigned j = 0; j < 15; j++)
			printf(j < item->length ? "%02x" : "  ", code[j]);
		printf(" %s\n", text);
	}
}
