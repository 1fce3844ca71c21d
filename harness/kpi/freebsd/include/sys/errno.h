/* FreeBSD's error numbers, as far as the guest uses them. */
#ifndef _SYS_ERRNO_H_
#define _SYS_ERRNO_H_

#define EPERM        1
#define ENOENT       2
#define ESRCH        3
#define EINTR        4
#define EIO          5
#define ENXIO        6
#define E2BIG        7
#define ENOEXEC      8
#define EBADF        9
#define ECHILD       10
#define ENOMEM       12
#define EACCES       13
#define EFAULT       14
#define EBUSY        16
#define EEXIST       17
#define ENODEV       19
#define EINVAL       22
#define EMFILE       24
#define ENOTTY       25
#define EFBIG        27
#define ENOSPC       28
#define ERANGE       34
#define EAGAIN       35
#define EWOULDBLOCK  EAGAIN
#define EINPROGRESS  36
#define EOPNOTSUPP   45
#define ETIMEDOUT    60
#define ENAMETOOLONG 63
#define ENOSYS       78

#ifdef _KERNEL
# define ERESTART (-1)
#endif

#endif
