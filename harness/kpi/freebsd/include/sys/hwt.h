/* The tracing framework's ioctls, shared by the guest's kernel and its
 * programs. */
#ifndef _SYS_HWT_H_
#define _SYS_HWT_H_

#include <sys/cpuset.h>
#include <sys/hwt_record.h>
#include <sys/ioccom.h>
#include <sys/param.h>

#define HWT_MAGIC              0x42

#define HWT_IOC_ALLOC          _IOW(HWT_MAGIC, 0, struct hwt_alloc)
#define HWT_IOC_START          _IOW(HWT_MAGIC, 1, struct hwt_start)
#define HWT_IOC_STOP           _IOW(HWT_MAGIC, 2, struct hwt_stop)
#define HWT_IOC_RECORD_GET     _IOW(HWT_MAGIC, 3, struct hwt_record_get)
#define HWT_IOC_BUFPTR_GET     _IOW(HWT_MAGIC, 4, struct hwt_bufptr_get)
#define HWT_IOC_SET_CONFIG     _IOW(HWT_MAGIC, 5, struct hwt_set_config)
#define HWT_IOC_WAKEUP         _IOW(HWT_MAGIC, 6, struct hwt_wakeup)
#define HWT_IOC_SVC_BUF        _IOW(HWT_MAGIC, 7, struct hwt_svc_buf)

#define HWT_BACKEND_MAXNAMELEN 256

#define HWT_MODE_THREAD        1
#define HWT_MODE_CPU           2

struct hwt_alloc {
	size_t bufsize;
	int mode;
	pid_t pid;         /* thread mode */
	cpuset_t *cpu_map; /* CPU mode */
	size_t cpusetsize;
	const char *backend_name;
	int *ident; /* written */
	int kqueue_fd;
} __aligned(16);

struct hwt_start {
	int reserved;
} __aligned(16);

struct hwt_stop {
	int reserved;
} __aligned(16);

struct hwt_wakeup {
	int reserved;
} __aligned(16);

struct hwt_record_user_entry {
	enum hwt_record_type record_type;
	union {
		struct {
			char fullpath[MAXPATHLEN];
			uintptr_t addr;
			uintptr_t baseaddr;
		};
		struct {
			int buf_id;
			int curpage;
			vm_offset_t offset;
		};
		int thread_id;
	};
} __aligned(16);

struct hwt_record_get {
	struct hwt_record_user_entry *records;
	int *nentries; /* room in, count out */
	int wait;
} __aligned(16);

struct hwt_bufptr_get {
	int *ident;
	vm_offset_t *offset;
	uint64_t *data;
} __aligned(16);

struct hwt_set_config {
	int pause_on_mmap;
	void *config; /* the backend's own format */
	size_t config_size;
	int config_version;
} __aligned(16);

struct hwt_svc_buf {
	void *data; /* the backend's own format */
	size_t data_size;
	int data_version;
} __aligned(16);

#endif
