/* Queues of sleepers: drivers sleep by msleep(9), and use nothing of these. */
#ifndef _SYS_SLEEPQUEUE_H_
#define _SYS_SLEEPQUEUE_H_

#include <sys/types.h>

#endif
