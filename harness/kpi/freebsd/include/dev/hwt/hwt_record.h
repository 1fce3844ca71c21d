/* Records to user space. */
#ifndef _DEV_HWT_HWT_RECORD_H_
#define _DEV_HWT_HWT_RECORD_H_

#include <sys/hwt_record.h>

struct hwt_context;
struct hwt_record_get;
struct thread;

/*
 * Queues a copy of the entry, allocated with the given flags (without memory it
 * is lost), and wakes readers.  Not from an NMI and not with a spin mutex held.
 */
void hwt_record_ctx(
    struct hwt_context *ctx, struct hwt_record_entry *entry, int flags);

/* For the framework only. */
void hwt_record_load(void);
void hwt_record_unload(void);
void hwt_record_td(
    struct thread *td, struct hwt_record_entry *entry, int flags);
int hwt_record_send(struct hwt_context *ctx, struct hwt_record_get *get);
struct hwt_record_entry *hwt_record_entry_alloc(void);
void hwt_record_entry_free(struct hwt_record_entry *entry);
void hwt_record_free_all(struct hwt_context *ctx);
void hwt_record_kernel_objects(struct hwt_context *ctx);
void hwt_record_wakeup(struct hwt_context *ctx);

#endif
