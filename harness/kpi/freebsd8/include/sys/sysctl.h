/*
 * sysctl(9) nodes: declarations only, as no program of the guest can read or set one.
 */
#ifndef _SYS_SYSCTL_H_
#define _SYS_SYSCTL_H_

#include <sys/types.h>

#define OID_AUTO       (-1)
#define CTLFLAG_RD     0x80000000
#define CTLFLAG_WR     0x40000000
#define CTLFLAG_RW     (CTLFLAG_RD | CTLFLAG_WR)
#define CTLFLAG_TUN    0x00080000
#define CTLTYPE_STRING 3

struct sysctl_oid {
	const char *oid_parent, *oid_name;
	void *oid_arg1;
};
struct sysctl_req;

#define SYSCTL_HANDLER_ARGS \
 struct sysctl_oid *oidp, void *arg1, int arg2, struct sysctl_req *req

#define SYSCTL_NODE(parent, nbr, name, access, handler, descr)                 \
 static const struct sysctl_oid sysctl_##parent##_##name __unused = { #parent, \
	 #name, NULL }
#define SYSCTL_INT(parent, nbr, name, access, ptr, val, descr)                 \
 static const struct sysctl_oid sysctl_##parent##_##name __unused = { #parent, \
	 #name, (ptr) }

#endif
