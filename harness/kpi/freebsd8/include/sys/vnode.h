/* The file of a program: its lock and its path. */
#ifndef _SYS_VNODE_H_
#define _SYS_VNODE_H_

#include <sys/sx.h>

struct thread;

struct vnode {
	struct sx v_lock;
	u_int v_recursion; /* of the exclusive holder */
	char v_path[64];
};

#define LK_EXCLUSIVE  0x080000
#define LK_CANRECURSE 0x000100
#define LK_RETRY      0x000400

int vn_lock(struct vnode *vp, int flags, struct thread *td);
int VOP_UNLOCK(struct vnode *vp, int flags, struct thread *td);
/* *buf has the path and *freebuf what free(9) with M_TEMP frees. */
int vn_fullpath(
    struct thread *td, struct vnode *vp, char **buf, char **freebuf);

#endif
