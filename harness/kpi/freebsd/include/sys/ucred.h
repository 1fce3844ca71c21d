/* Credentials: everything in the guest runs as root. */
#ifndef _SYS_UCRED_H_
#define _SYS_UCRED_H_

#include <sys/types.h>

struct ucred {
	u_int cr_ref;
	uid_t cr_uid, cr_ruid, cr_svuid;
	int cr_ngroups;
	gid_t cr_gid, cr_rgid, cr_svgid;
	gid_t *cr_groups;
};

struct ucred *crhold(struct ucred *cr);
void crfree(struct ucred *cr);
int groupmember(gid_t gid, const struct ucred *cr);

#endif
