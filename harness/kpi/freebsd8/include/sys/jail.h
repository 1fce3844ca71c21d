/* Jails: there are none. */
#ifndef _SYS_JAIL_H_
#define _SYS_JAIL_H_

struct ucred;

static inline int
jailed(const struct ucred *cred __attribute__((__unused__)))
{
	return (0);
}

#endif
