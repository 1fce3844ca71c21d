/* The list of the kernel and its modules with their addresses. */
#ifndef _SYS_PMCKERN_H_
#define _SYS_PMCKERN_H_

#include <sys/types.h>

struct pmckern_map_in {
	void *pm_file; /* path, NULL ends the list */
	uintptr_t pm_address;
};

/* Allocated from M_LINKER; the caller frees it. */
void *linker_hwpmc_list_objects(void);

#endif
