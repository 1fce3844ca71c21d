#include <string.h>

#include "tests/packets/vector.h"

/* Events that are control transfers, by what the SDM's tables call them. */
static const struct transfer_name {
	const char *name;
	enum pt_transfer_kind kind;
	unsigned bytes; /* of the instruction: calls push what follows it */
} names[] = {
	{ "jcc-taken", PT_TRANSFER_COND, 2 },
	{ "jcc-not-taken", PT_TRANSFER_COND, 2 },
	{ "jmp", PT_TRANSFER_JMP_DIRECT, 5 },
	{ "call", PT_TRANSFER_CALL_DIRECT, 5 },
	{ "jmp-indirect", PT_TRANSFER_JMP_INDIRECT, 2 },
	{ "call-indirect", PT_TRANSFER_CALL_INDIRECT, 2 },
	{ "ret", PT_TRANSFER_RET, 1 },
	{ "far", PT_TRANSFER_FAR, 2 },
	{ "iret", PT_TRANSFER_IRET, 2 },
	{ "int", PT_TRANSFER_INT_SW, 2 },
	{ "exception", PT_TRANSFER_EXCEPTION, 0 },
	{ "interrupt", PT_TRANSFER_INTERRUPT, 0 },
	{ "mov-cr3", PT_TRANSFER_MOV_CR3, 3 },
	{ "vm-entry", PT_TRANSFER_VM_ENTRY, 3 },
	{ "vm-exit", PT_TRANSFER_VM_EXIT, 0 },
	{ "init", PT_TRANSFER_INIT, 0 },
	{ "sipi", PT_TRANSFER_SIPI, 0 },
	{ "enclave", PT_TRANSFER_ENCLAVE, 3 },
	{ "tsx-abort", PT_TRANSFER_TSX_ABORT, 0 },
};

/* What a word says of TRANSFER beside its context; false: nothing. */
static bool
transfer_option(
    struct vector *vector, struct pt_transfer *transfer, const char *word)
{
	if (strcmp(word, "trace-off") == 0)
		transfer->trace_off = true;
	else if (strncmp(word, "vector=", 7) == 0) {
		transfer->has_vector = true;
		transfer->vector = (uint8_t)vector_value(vector, word, 10);
	} else if (strncmp(word, "cr2=", 4) == 0)
		transfer->cr2 = vector_value(vector, word, 16);
	else if (strncmp(word, "qualification=", 14) == 0)
		transfer->exit[0] = vector_value(vector, word, 16);
	else if (strncmp(word, "reason=", 7) == 0)
		transfer->exit[1] = vector_value(vector, word, 16);
	else
		return false;
	return true;
}

/* NAME TARGET [change ...], where MOV CR3's target is CR3. */
static void
transfer_obey(
    struct vector *vector, const struct transfer_name *row, struct words *words)
{
	struct fake *fake = vector->fake;
	struct pt_transfer transfer = { .kind = row->kind,
		.taken = strcmp(row->name, "jcc-taken") == 0,
		.ip_from = fake->at.ip,
		.nlip = fake->at.ip + row->bytes };
	uint64_t target = vector_hex(vector, words, UINT64_MAX);

	transfer.after = fake->at;
	transfer.after.ip = target;
	if (row->kind == PT_TRANSFER_MOV_CR3) {
		transfer.after.ip = transfer.nlip;
		transfer.after.cr3 = target;
		transfer.cr3_written = true;
	}
	while (words->next != words->count && !vector->failed) {
		const char *word = words->word[words->next++];

		if (!transfer_option(vector, &transfer, word) &&
		    !vector_context(vector, &transfer.after, word))
			vector_fail(vector, "unknown: %s", word);
		if (strncmp(word, "cr3=", 4) == 0)
			transfer.cr3_written = true;
	}
	if (vector->failed)
		return;
	fake->at = transfer.after;
	pt_unit_transfer(fake->unit, &transfer);
}

bool
vector_transfer(struct vector *vector, const char *name, struct words *words)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(names); i++) {
		if (strcmp(names[i].name, name) == 0) {
			transfer_obey(vector, &names[i], words);
			return true;
		}
	}
	return false;
}
