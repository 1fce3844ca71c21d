/* Limits of the VM system; nothing in the guest depends on them. */
#ifndef _VM_VM_PARAM_H_
#define _VM_VM_PARAM_H_

#include <sys/param.h>

#endif
