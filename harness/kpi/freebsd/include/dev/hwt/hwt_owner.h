/* A process that has asked for contexts. */
#ifndef _DEV_HWT_HWT_OWNER_H_
#define _DEV_HWT_HWT_OWNER_H_

#include <sys/mutex.h>
#include <sys/queue.h>
#include <sys/types.h>

struct hwt_context;
struct proc;

struct hwt_owner {
	struct proc *p;
	struct mtx mtx;                /* for hwts */
	LIST_HEAD(, hwt_context) hwts; /* newest first */
	LIST_ENTRY(hwt_owner) next;
};

struct hwt_context *hwt_owner_lookup_ctx(struct hwt_owner *ho, pid_t pid);
struct hwt_owner *hwt_owner_alloc(struct proc *p);

/* Ends the owner's contexts, newest first, and frees the owner. */
void hwt_owner_shutdown(struct hwt_owner *ho);

#endif
