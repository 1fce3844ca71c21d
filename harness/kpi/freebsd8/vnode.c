/* The files of programs: one vnode for each program, made at its first use. */
#include <sys/malloc.h>
#include <sys/proc.h>
#include <sys/systm.h>
#include <sys/vnode.h>

#include "harness/guest/task/lock.h"
#include "harness/kpi/freebsd8/kpi8.h"

#define VNODES_MAX 64

static struct vnode vnodes[VNODES_MAX];
static size_t vnode_count;
static struct mutex vnodes_lock = MUTEX_INIT("vnodes");

struct vnode *
kpi_vnode_of(const char *name)
{
	struct vnode *vp = NULL;
	size_t i;

	mutex_lock(&vnodes_lock);
	for (i = 0; i < vnode_count && vp == NULL; i++)
		if (strcmp(vnodes[i].v_path + 1, name) == 0)
			vp = &vnodes[i];
	if (vp == NULL) {
		if (vnode_count == VNODES_MAX)
			panic("more than %d programs have run", VNODES_MAX);
		vp = &vnodes[vnode_count++];
		vp->v_path[0] = '/';
		strlcpy(vp->v_path + 1, name, sizeof(vp->v_path) - 1);
		sx_init(&vp->v_lock, "vnode");
	}
	mutex_unlock(&vnodes_lock);
	return (vp);
}

/* As FreeBSD's, it uses the vnode that it is given: NULL is a page fault. */
int
vn_lock(struct vnode *vp, int flags, struct thread *td __unused)
{
	if ((flags & LK_CANRECURSE) != 0 && sx_xlocked(&vp->v_lock))
		vp->v_recursion++;
	else
		sx_xlock(&vp->v_lock);
	return (0);
}

int
VOP_UNLOCK(struct vnode *vp, int flags __unused, struct thread *td __unused)
{
	if (vp->v_recursion != 0)
		vp->v_recursion--;
	else
		sx_xunlock(&vp->v_lock);
	return (0);
}

/* As FreeBSD's, which collects a path from its end: *BUF is within *FREEBUF. */
int
vn_fullpath(
    struct thread *td __unused, struct vnode *vp, char **buf, char **freebuf)
{
	size_t bytes;

	if (vp == NULL)
		return (EINVAL);
	bytes = strlen(vp->v_path) + 1;
	*freebuf = malloc(MAXPATHLEN, M_TEMP, M_WAITOK);
	*buf = *freebuf + MAXPATHLEN - bytes;
	memcpy(*buf, vp->v_path, bytes);
	return (0);
}
