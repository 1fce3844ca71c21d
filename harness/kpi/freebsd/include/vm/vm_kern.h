/* Nothing of this header is used beyond what vm_extern.h declares. */
#ifndef _VM_VM_KERN_H_
#define _VM_VM_KERN_H_

#include <vm/vm_extern.h>

#endif
