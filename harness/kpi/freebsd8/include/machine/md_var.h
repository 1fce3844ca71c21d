/* Variables of the machine. */
#ifndef _MACHINE_MD_VAR_H_
#define _MACHINE_MD_VAR_H_

#include <x86/x86_var.h>

#endif
