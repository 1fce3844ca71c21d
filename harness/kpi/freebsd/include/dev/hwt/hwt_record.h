/* Records to user space. */
#ifndef _DEV_HWT_HWT_RECORD_H_
#define _DEV_HWT_HWT_RECORD_H_

#include <sys/hwt_record.h>

struct hwt_context;

/*
 * Queues a copy of the entry, allocated with those flags (without memory it is
 * lost), and wakes readers.  Not from an NMI and not with a spin mutex held.
 */
void hwt_record_ctx(
    struct hwt_context *ctx, struct hwt_record_entry *entry, int flags);

#endif
