/*
 * Code for the decoder out of an execution log that keeps it: at each place of the log, an
 * address has the bytes that are executed there next.  So code that the guest patches, and
 * other code at the same address in another process, is what it was when it ran.
 */
#ifndef TOPAZ_TRACES_VERIFY_LOG_CODE_H
#define TOPAZ_TRACES_VERIFY_LOG_CODE_H

#include "traces/verify/flow.h"

struct log_code {
	bool used;         /* false: the bundle's images have the code */
	struct flow base;  /* what is decoded now begins here, or soon after */
	struct flow ahead; /* where the last address was found */
};

/* What is decoded next begins at FLOW, or soon after. */
void log_code_aim(struct log_code *code, const struct flow *flow);

/*
 * Reads up to COUNT bytes at IP; an image_read whose ARG is a struct log_code.  Returns
 * how many; 0: nothing is executed there soon.
 */
size_t log_code_read(void *arg, uint64_t ip, uint8_t *bytes, size_t count);

#endif
