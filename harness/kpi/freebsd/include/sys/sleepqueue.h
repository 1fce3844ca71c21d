/* Sleep queues: drivers sleep with msleep(9) and do not use them. */
#ifndef _SYS_SLEEPQUEUE_H_
#define _SYS_SLEEPQUEUE_H_

#include <sys/types.h>

#endif
