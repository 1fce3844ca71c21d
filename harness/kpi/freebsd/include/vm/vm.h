/* The VM system's types. */
#ifndef _VM_VM_H_
#define _VM_VM_H_

#include <sys/types.h>

#define VM_PROT_READ    ((vm_prot_t)0x01)
#define VM_PROT_WRITE   ((vm_prot_t)0x02)
#define VM_PROT_EXECUTE ((vm_prot_t)0x04)

struct vm_object;
typedef struct vm_object *vm_object_t;
struct vm_page;
typedef struct vm_page *vm_page_t;

enum obj_type {
	OBJT_DEFAULT,
	OBJT_DEVICE,
	OBJT_PHYS,
	OBJT_MGTDEVICE,
};
typedef u_char objtype_t;

#endif
