#ifndef TOPAZ_LINUX26_LINUX_ERRNO_H
#define TOPAZ_LINUX26_LINUX_ERRNO_H

#define EPERM      1
#define ESRCH      3
#define EINTR      4
#define EIO        5
#define ENXIO      6
#define EAGAIN     11
#define ENOMEM     12
#define EFAULT     14
#define EINVAL     22
#define EOPNOTSUPP 95
#define EALREADY   114

#endif
