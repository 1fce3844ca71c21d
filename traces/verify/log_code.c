#include "traces/verify/log_code.h"

#include <string.h>

#define NEAR_INSNS 64u   /* a decoder looks so far ahead, or less */
#define FAR_INSNS  8192u /* what is decoded at once */

void
log_code_aim(struct log_code *code, const struct flow *flow)
{
	code->base = *flow;
	/* INT3, too, which a kernel puts into its own code. */
	code->base.unlisted = true;
	code->ahead = code->base;
}

/* The bytes at IP in the stretch of the log that FLOW is in; 0: it is not there. */
static size_t
read_here(const struct flow *flow, uint64_t ip, uint8_t *bytes, size_t count)
{
	const struct exec_log_block *block = flow->item.block;

	if (flow->item.count == 0 || block == NULL ||
	    block->code == EXEC_LOG_NO_CODE || ip - block->va >= block->bytes)
		return 0;
	if (count > block->bytes - (ip - block->va))
		count = block->bytes - (ip - block->va);
	memcpy(bytes, &flow->expect.log->code[block->code + (ip - block->va)],
	    count);
	return count;
}

/* The same within the INSNS that follow FLOW, which is then moved there. */
static size_t
read_ahead(struct flow *from, unsigned insns, uint64_t ip, uint8_t *bytes,
    size_t count)
{
	struct flow flow = *from;
	uint64_t next;

	for (unsigned i = 0; i < insns && flow_next(&flow, &next); i++) {
		size_t got = read_here(&flow, ip, bytes, count);

		if (got == 0)
			continue;
		*from = flow;
		return got;
	}
	return 0;
}

size_t
log_code_read(void *arg, uint64_t ip, uint8_t *bytes, size_t count)
{
	struct log_code *code = arg;
	struct flow base = code->base;
	size_t got;

	if (code->base.source == NULL)
		return 0;
	got = read_here(&code->ahead, ip, bytes, count);
	if (got == 0)
		got = read_ahead(&code->ahead, NEAR_INSNS, ip, bytes, count);
	if (got != 0)
		return got;
	got = read_ahead(&base, FAR_INSNS, ip, bytes, count);
	if (got != 0)
		code->ahead = base;
	return got;
}
