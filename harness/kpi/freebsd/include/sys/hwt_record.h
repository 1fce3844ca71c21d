/* The records of a context that the tracing framework reports to user space. */
#ifndef _SYS_HWT_RECORD_H_
#define _SYS_HWT_RECORD_H_

#include <sys/queue.h>
#include <sys/types.h>

enum hwt_record_type {
	HWT_RECORD_MMAP = 0,
	HWT_RECORD_MUNMAP = 1,
	HWT_RECORD_EXECUTABLE = 2,
	HWT_RECORD_KERNEL = 3,
	HWT_RECORD_THREAD_CREATE = 4,
	HWT_RECORD_THREAD_SET_NAME = 5,
	HWT_RECORD_BUFFER = 6,
	HWT_RECORD_OVERFLOW =
	    7, /* of newer versions: output of a buffer was lost */
};

#ifdef _KERNEL
/* record_type selects the member of the union, as in the user's record. */
struct hwt_record_entry {
	TAILQ_ENTRY(hwt_record_entry) next;
	enum hwt_record_type record_type;
	union {
		struct {
			char *fullpath;
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
};
#endif

#endif
