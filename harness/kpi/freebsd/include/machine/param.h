/* Sizes of amd64. */
#ifndef _MACHINE_PARAM_H_
#define _MACHINE_PARAM_H_

#include <sys/param.h>

#endif
