/* Flags of lock assertions; no witness. */
#ifndef _SYS_LOCK_H_
#define _SYS_LOCK_H_

#include <sys/_lock.h>

#define LA_UNLOCKED 0x0
#define LA_LOCKED   0x1
#define LA_XLOCKED  0x4

#endif
