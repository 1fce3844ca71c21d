/* Records: queueing by kernel and backend, fetching by user space. */
#include "hwt.h"

#include <sys/linker.h>
#include <sys/pmckern.h>
#include <vm/uma.h>

#define GET_MAX 1024

static MALLOC_DEFINE(M_HWT_RECORD, "hwt_record", "HWT records");

static uma_zone_t record_zone;

void
hwt_record_load(void)
{
	record_zone = uma_zcreate("HWT records",
	    sizeof(struct hwt_record_entry), NULL, NULL, NULL, NULL, 0, 0);
}

void
hwt_record_unload(void)
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
hwt_record_entry_alloc(void)
{
	return (uma_zalloc(record_zone, M_WAITOK | M_ZERO));
}

void
hwt_record_entry_free(struct hwt_record_entry *entry)
{
	if (carries_path(entry->record_type))
		free(entry->fullpath, M_HWT_RECORD);
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
		copy->fullpath = strdup(entry->fullpath, M_HWT_RECORD);
	return (copy);
}

static void
record_append(struct hwt_context *ctx, struct hwt_record_entry *entry)
{
	HWT_CTX_LOCK(ctx);
	TAILQ_INSERT_TAIL(&ctx->records, entry, next);
	HWT_CTX_UNLOCK(ctx);
	hwt_record_wakeup(ctx);
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
	else
		kern_dropped_record(ENOMEM);
}

void
hwt_record_td(struct thread *td, struct hwt_record_entry *entry, int flags)
{
	struct hwt_record_entry *copy;
	struct hwt_context *ctx;

	KASSERT(entry != NULL, ("hwt_record_td: no entry"));
	copy = record_clone(entry, flags);
	if (copy == NULL)
		return;
	ctx = hwt_contexthash_lookup(td->td_proc);
	if (ctx == NULL) {
		hwt_record_entry_free(copy);
		return;
	}
	record_append(ctx, copy);
	hwt_ctx_put(ctx);
}

void
hwt_record_wakeup(struct hwt_context *ctx)
{
	wakeup(ctx);
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
hwt_record_free_all(struct hwt_context *ctx)
{
	struct hwt_record_entry *entry;

	while ((entry = record_pop(ctx)) != NULL)
		hwt_record_entry_free(entry);
}

/* Each is put at the head of the list, so the last object comes first. */
void
hwt_record_kernel_objects(struct hwt_context *ctx)
{
	struct pmckern_map_in *objects;
	struct hwt_record_entry *entry;
	int i;

	objects = linker_hwpmc_list_objects();
	for (i = 0; objects[i].pm_file != NULL; i++) {
		entry = hwt_record_entry_alloc();
		entry->record_type = HWT_RECORD_KERNEL;
		entry->fullpath = strdup(objects[i].pm_file, M_HWT_RECORD);
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
	case HWT_RECORD_OVERFLOW:
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

/* If copyout fails, the records taken off the list are lost. */
int
hwt_record_send(struct hwt_context *ctx, struct hwt_record_get *get)
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
	    (size_t)room, sizeof(*user), M_HWT_RECORD, M_WAITOK | M_ZERO);
	if (get->wait)
		record_wait(ctx);
	for (count = 0; count < room; count++) {
		entry = record_pop(ctx);
		if (entry == NULL)
			break;
		record_export(entry, &user[count]);
		hwt_record_entry_free(entry);
	}
	if (count > 0)
		error = copyout(
		    user, get->records, sizeof(*user) * (size_t)count);
	if (error == 0)
		error = copyout(&count, get->nentries, sizeof(count));
	if (error != 0 && count > 0)
		kern_dropped_record(error);
	free(user, M_HWT_RECORD);
	return (error);
}
