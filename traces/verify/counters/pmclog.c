#include "traces/verify/counters/pmclog.h"

#include <string.h>

#define HEAD_BYTES 12
#define MAGIC      0xee

static uint32_t
word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t
longword(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Bytes of an entry's fixed part, with its header. */
static size_t
fixed_bytes(uint32_t type)
{
	switch (type) {
	case PMCLOG_PMCATTACH:
	case PMCLOG_PROCFORK:
		return HEAD_BYTES + 8;
	case PMCLOG_PROCCSW:
	case PMCLOG_PROCEXEC:
	case PMCLOG_PROCEXIT:
		return HEAD_BYTES + 16;
	case PMCLOG_SYSEXIT:
		return HEAD_BYTES + 4;
	case PMCLOG_CALLCHAIN:
		return HEAD_BYTES + 12;
	default:
		return HEAD_BYTES;
	}
}

static bool
read_callchain(const uint8_t *at, size_t bytes, struct pmclog_entry *entry)
{
	uint32_t flags = word(at + 8);

	entry->pid = word(at);
	entry->pmcid = word(at + 4);
	entry->cpu = flags >> 16;
	entry->user = (flags & 1) != 0;
	entry->pc_count = (bytes - 12) / sizeof(entry->pc[0]);
	if (entry->pc_count == 0 || entry->pc_count > PMCLOG_PC_MAX)
		return false;
	for (size_t i = 0; i < entry->pc_count; i++)
		entry->pc[i] = longword(at + 12 + 8 * i);
	return true;
}

/* AT: after the header; BYTES: from there on. */
static bool
read_entry(const uint8_t *at, size_t bytes, struct pmclog_entry *entry)
{
	switch (entry->type) {
	case PMCLOG_CALLCHAIN:
		return read_callchain(at, bytes, entry);
	case PMCLOG_PMCATTACH:
		entry->pmcid = word(at);
		entry->pid = word(at + 4);
		return true;
	case PMCLOG_PROCCSW:
	case PMCLOG_PROCEXIT:
		entry->pmcid = word(at);
		entry->value = longword(at + 4);
		entry->pid = word(at + 12);
		return true;
	case PMCLOG_PROCEXEC:
		entry->pid = word(at);
		entry->value = longword(at + 4);
		entry->pmcid = word(at + 12);
		return true;
	case PMCLOG_PROCFORK:
		entry->pid = word(at);
		entry->child = word(at + 4);
		return true;
	case PMCLOG_SYSEXIT:
		entry->pid = word(at);
		return true;
	default:
		return true;
	}
}

int
pmclog_next(
    const uint8_t *bytes, size_t count, size_t *at, struct pmclog_entry *entry)
{
	const uint8_t *head = bytes + *at;
	size_t left = count - *at, length;

	if (left == 0)
		return 0;
	if (left < HEAD_BYTES || word(head) >> 24 != MAGIC)
		return -1;
	*entry = (struct pmclog_entry){ .type = word(head) >> 16 & 0xff };
	length = word(head) & 0xffff;
	if (length > left || length < fixed_bytes(entry->type) ||
	    !read_entry(head + HEAD_BYTES, length - HEAD_BYTES, entry))
		return -1;
	*at += length;
	return 1;
}
