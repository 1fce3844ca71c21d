/*
 * The Debug Store driver's interface, by what ds.c of April 2008 defines and its
 * users call.  TASK: the task that is recorded; NULL: the current CPU.  Every
 * function returns a negative error: -EPERM (no context, or another task's), -EINVAL,
 * -ENOMEM, -EALREADY, -EOPNOTSUPP.
 */
#ifndef TOPAZ_LINUX26_ASM_DS_H
#define TOPAZ_LINUX26_ASM_DS_H

#include <linux/types.h>

struct cpuinfo_x86;
struct task_struct;

typedef void (*ds_ovfl_callback_t)(struct task_struct *task);

/* A DS save area and its users; the index of arrays is 0 for BTS, 1 for PEBS. */
struct ds_context {
	unsigned char *ds;            /* the save area */
	struct task_struct *owner[2]; /* who requested it */
	ds_ovfl_callback_t callback[2];
	void *buffer[2];          /* to be freed; NULL: the caller's */
	unsigned int pages[2];    /* of .buffer */
	unsigned long count;      /* of users */
	struct ds_context **this; /* what points to it */
	struct task_struct *task; /* NULL: it belongs to a CPU */
};

int ds_request_bts(
    struct task_struct *task, void *base, size_t size, ds_ovfl_callback_t ovfl);
int ds_request_pebs(
    struct task_struct *task, void *base, size_t size, ds_ovfl_callback_t ovfl);
int ds_release_bts(struct task_struct *task);
int ds_release_pebs(struct task_struct *task);
/* Records before the write position, and in the whole buffer; also in *POS. */
int ds_get_bts_index(struct task_struct *task, size_t *pos);
int ds_get_pebs_index(struct task_struct *task, size_t *pos);
int ds_get_bts_end(struct task_struct *task, size_t *pos);
int ds_get_pebs_end(struct task_struct *task, size_t *pos);
/* The bytes of a record, which *RECORD points to. */
int ds_access_bts(struct task_struct *task, size_t index, const void **record);
int ds_access_pebs(struct task_struct *task, size_t index, const void **record);
/* The bytes written at the write position. */
int ds_write_bts(struct task_struct *task, const void *record, size_t size);
int ds_write_pebs(struct task_struct *task, const void *record, size_t size);
int ds_unchecked_write_bts(
    struct task_struct *task, const void *record, size_t size);
int ds_unchecked_write_pebs(
    struct task_struct *task, const void *record, size_t size);
/* The write position returns to the beginning; clear: of zeroed memory. */
int ds_reset_bts(struct task_struct *task);
int ds_reset_pebs(struct task_struct *task);
int ds_clear_bts(struct task_struct *task);
int ds_clear_pebs(struct task_struct *task);
int ds_get_pebs_reset(struct task_struct *task, u64 *value);
int ds_set_pebs_reset(struct task_struct *task, u64 value);

/* Without it, or on a processor that it does not know, requests fail: -EOPNOTSUPP. */
void ds_init_intel(struct cpuinfo_x86 *c);
/* Drops every reference to CONTEXT, whose task ends. */
void ds_free(struct ds_context *context);

#endif
