/* The ioctl of /dev/hwt. */
#ifndef _DEV_HWT_HWT_IOCTL_H_
#define _DEV_HWT_HWT_IOCTL_H_

#include <sys/types.h>

struct cdev;
struct thread;

int hwt_ioctl(
    struct cdev *dev, u_long cmd, caddr_t addr, int flags, struct thread *td);

#endif
