/* Open files that the kernel writes to.  In the guest a file is a device's. */
#ifndef _SYS_FILE_H_
#define _SYS_FILE_H_

#include <sys/types.h>

struct file;
struct thread;

/* Holds the file of a descriptor until fdrop().  EBADF. */
int fget_write(struct thread *td, int fd, struct file **fp);
int fdrop(struct file *fp, struct thread *td);
/* Writes all BYTES, at the file's end.  ENXIO: the device can not be written to. */
int kpi_fo_write(struct file *fp, const void *from, size_t bytes);

#endif
