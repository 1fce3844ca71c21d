/* The size of a long. */
#ifndef _SYS_LIMITS_H_
#define _SYS_LIMITS_H_

#define LONG_BIT 64

#endif
