/* A context's configuration lies in struct hwt_context. */
#ifndef _DEV_HWT_HWT_CONFIG_H_
#define _DEV_HWT_HWT_CONFIG_H_

#include <dev/hwt/hwt_context.h>

#endif
