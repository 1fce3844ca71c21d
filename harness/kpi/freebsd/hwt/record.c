/* Records: queueing by kernel and backend, fetching by user space. */
#include "hwt.h"

#include <sys/linker.h>
#include <sys/pmckern.h>
#include <vm/uma.h>

#define GET_MAX 1024

static uma_zone_t record_zone;

void
record_zone_init(void)
{
	record_zone = uma_zcreate("HWT records",
	    sizeof(struct hwt_record_entry), NULL, NULL, NULL, NULL, 0, 0);
}

void
record_zone_fini(void)
{
	uma_zdestroy(record_zone);
}

static bool
carries_path(enum hwt_record_type type)
{
	return (type == HWT_RECORD_MMAP || type == HWT_RECORD_EXECUTABLE ||
	    type == HWT_RECORD_KERNEL);
}

struct hwt_record_entry *
record_create(void)
{
	return (uma_zalloc(record_zone, M_WAITOK | M_ZERO));
}

void
record_free(struct hwt_record_entry *entry)
{
	if (carries_path(entry->record_type))
		free(entry->fullpath, M_HWT);
	uma_zfree(record_zone, entry);
}

/* The path is copied with M_WAITOK, whatever the flags. */
static struct hwt_record_entry *
record_clone(const struct hwt_record_entry *entry, int flags)
{
	struct hwt_record_entry *copy;

	copy = uma_zalloc(record_zone, flags);
	if (copy == NULL)
		return (NULL);
	*copy = *entry;
	if (carries_path(entry->record_type))
		copy->fullpath = strdup(entry->fullpath, M_HWT);
	return (copy);
}

static void
record_append(struct hwt_context *ctx, struct hwt_record_entry *entry)
{
	HWT_CTX_LOCK(ctx);
	TAILQ_INSERT_TAIL(&ctx->records, entry, next);
	HWT_CTX_UNLOCK(ctx);
	wakeup(ctx);
}

void
hwt_record_ctx(
    struct hwt_context *ctx, struct hwt_record_entry *entry, int flags)
{
	struct hwt_record_entry *copy;

	KASSERT(entry != NULL, ("hwt_record_ctx: no entry"));
	copy = record_clone(entry, flags);
	if (copy != NULL)
		record_append(ctx, copy);
}

void
record_thread(struct thread *td, struct hwt_record_entry *entry)
{
	struct hwt_record_entry *copy;
	struct hwt_context *ctx;

	copy = record_clone(entry, M_WAITOK | M_ZERO);
	ctx = context_get(td->td_proc);
	if (ctx == NULL) {
		record_free(copy);
		return;
	}
	record_append(ctx, copy);
	context_put(ctx);
}

static struct hwt_record_entry *
record_pop(struct hwt_context *ctx)
{
	struct hwt_record_entry *entry;

	HWT_CTX_LOCK(ctx);
	entry = TAILQ_FIRST(&ctx->records);
	if (entry != NULL)
		TAILQ_REMOVE(&ctx->records, entry, next);
	HWT_CTX_UNLOCK(ctx);
	return (entry);
}

void
record_free_all(struct hwt_context *ctx)
{
	struct hwt_record_entry *entry;

	while ((entry = record_pop(ctx)) != NULL)
		record_free(entry);
}

/* Each at the head of the list: the last object comes first. */
void
record_kernel_objects(struct hwt_context *ctx)
{
	struct pmckern_map_in *objects;
	struct hwt_record_entry *entry;
	int i;

	objects = linker_hwpmc_list_objects();
	for (i = 0; objects[i].pm_file != NULL; i++) {
		entry = record_create();
		entry->record_type = HWT_RECORD_KERNEL;
		entry->fullpath = strdup(objects[i].pm_file, M_HWT);
		entry->addr = objects[i].pm_address;
		HWT_CTX_LOCK(ctx);
		TAILQ_INSERT_HEAD(&ctx->records, entry, next);
		HWT_CTX_UNLOCK(ctx);
	}
	free(objects, M_LINKER);
}

/* A MUNMAP record carries only its type. */
static void
record_export(
    const struct hwt_record_entry *entry, struct hwt_record_user_entry *user)
{
	user->record_type = entry->record_type;
	switch (entry->record_type) {
	case HWT_RECORD_MMAP:
	case HWT_RECORD_EXECUTABLE:
	case HWT_RECORD_KERNEL:
		strncpy(
		    user->fullpath, entry->fullpath, sizeof(user->fullpath));
		user->addr = entry->addr;
		user->baseaddr = entry->baseaddr;
		break;
	case HWT_RECORD_BUFFER:
		user->buf_id = entry->buf_id;
		user->curpage = entry->curpage;
		user->offset = entry->offset;
		break;
	case HWT_RECORD_THREAD_CREATE:
	case HWT_RECORD_THREAD_SET_NAME:
		user->thread_id = entry->thread_id;
		break;
	case HWT_RECORD_MUNMAP:
		break;
	}
}

/*
 * The list is read under a lock that does not protect it, and wakers do not
 * take that lock: a wakeup in between is lost, as in FreeBSD.
 */
static void
record_wait(struct hwt_context *ctx)
{
	mtx_lock(&ctx->rec_mtx);
	if (TAILQ_EMPTY(&ctx->records))
		(void)msleep(ctx, &ctx->rec_mtx, PCATCH, "hwtrec", 0);
	mtx_unlock(&ctx->rec_mtx);
}

/* A failed copyout loses what was taken off the list. */
int
record_get(struct hwt_context *ctx, const struct hwt_record_get *get)
{
	struct hwt_record_user_entry *user;
	struct hwt_record_entry *entry;
	int count, error, room;

	error = copyin(get->nentries, &room, sizeof(room));
	if (error != 0)
		return (error);
	if (room < 1 || room > GET_MAX)
		return (ENXIO);
	user = mallocarray(
	    (size_t)room, sizeof(*user), M_HWT, M_WAITOK | M_ZERO);
	if (get->wait)
		record_wait(ctx);
	for (count = 0; count < room; count++) {
		entry = record_pop(ctx);
		if (entry == NULL)
			break;
		record_export(entry, &user[count]);
		record_free(entry);
	}
	if (count > 0)
		error = copyout(
		    user, get->records, sizeof(*user) * (size_t)count);
	if (error == 0)
		error = copyout(&count, get->nentries, sizeof(count));
	free(user, M_HWT);
	return (error);
}
