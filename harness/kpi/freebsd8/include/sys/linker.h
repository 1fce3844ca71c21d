/* The list of the kernel and its modules. */
#ifndef _FREEBSD8_SYS_LINKER_H_
#define _FREEBSD8_SYS_LINKER_H_

#include_next <sys/linker.h>

/* struct pmckern_map_in[], allocated from M_LINKER; .pm_file NULL ends it. */
void *linker_hwpmc_list_objects(void);

#endif
