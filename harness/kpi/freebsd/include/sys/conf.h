/* Character devices: open, ioctl and mapping; no read, write or poll. */
#ifndef _SYS_CONF_H_
#define _SYS_CONF_H_

#include <sys/queue.h>
#include <sys/types.h>

struct cdev;
struct thread;
struct ucred;
struct vm_object;

typedef int d_open_t(
    struct cdev *dev, int oflags, int devtype, struct thread *td);
typedef int d_close_t(
    struct cdev *dev, int fflag, int devtype, struct thread *td);
typedef int d_ioctl_t(
    struct cdev *dev, u_long cmd, caddr_t data, int fflag, struct thread *td);
typedef int d_mmap_single_t(struct cdev *dev, vm_ooffset_t *offset,
    vm_size_t size, struct vm_object **object, int nprot);

struct cdevsw {
	int d_version;
	u_int d_flags;
	const char *d_name;
	d_open_t *d_open;
	d_close_t *d_close;
	d_ioctl_t *d_ioctl;
	d_mmap_single_t *d_mmap_single;
};

struct cdev {
	void *si_drv1;
	void *si_drv2;
	const struct cdevsw *si_devsw;
	char si_name[64];
	struct vm_object *si_object; /* of the mappings */
	void *si_guest;              /* the guest kernel's device */
	TAILQ_ENTRY(cdev) si_doomed; /* waits for its destruction */
};

#define D_VERSION_04      0x17122009
#define D_VERSION         D_VERSION_04

#define UID_ROOT          0
#define GID_WHEEL         0

#define MAKEDEV_NOWAIT    0x02
#define MAKEDEV_WAITOK    0x04
#define MAKEDEV_CHECKNAME 0x20

struct make_dev_args {
	size_t mda_size;
	int mda_flags;
	const struct cdevsw *mda_devsw;
	struct ucred *mda_cr;
	uid_t mda_uid;
	gid_t mda_gid;
	int mda_mode;
	int mda_unit;
	void *mda_si_drv1;
	void *mda_si_drv2;
};

void kpi_make_dev_args_init(struct make_dev_args *args, size_t bytes);
#define make_dev_args_init(a) kpi_make_dev_args_init((a), sizeof(*(a)))

/* EEXIST: the name is in use, also by a node whose destruction is pending. */
int make_dev_s(struct make_dev_args *args, struct cdev **dev, const char *fmt,
    ...) __printflike(3, 4);
void destroy_dev(struct cdev *dev);

/* Another thread destroys the node later. */
int destroy_dev_sched(struct cdev *dev);

#endif
