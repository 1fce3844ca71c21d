/* Sizes and small arithmetic that most of FreeBSD's kernel uses. */
#ifndef _SYS_PARAM_H_
#define _SYS_PARAM_H_

#include <sys/errno.h>
#include <sys/types.h>

#define __FreeBSD_version 1600019

#define PAGE_SHIFT        12
#define PAGE_SIZE         (1 << PAGE_SHIFT)
#define PAGE_MASK         (PAGE_SIZE - 1)

#define MAXCPU            1024
#define MAXPATHLEN        1024
#define CACHE_LINE_SIZE   64

#ifndef MIN
# define MIN(a, b) (((a) < (b)) ? (a) : (b))
# define MAX(a, b) (((a) > (b)) ? (a) : (b))
#endif

#define nitems(x)        (sizeof(x) / sizeof((x)[0]))
#define howmany(x, y)    (((x) + ((y)-1)) / (y))
#define rounddown2(x, y) ((x) & ~((y)-1))
#define roundup2(x, y)   (((x) + ((y)-1)) & ~((y)-1))
#define roundup(x, y)    ((((x) + ((y)-1)) / (y)) * (y))
#define powerof2(x)      ((((x)-1) & (x)) == 0)

#define trunc_page(x)    ((x) & ~(unsigned long)PAGE_MASK)
#define round_page(x) \
 (((unsigned long)(x) + PAGE_MASK) & ~(unsigned long)PAGE_MASK)
#define atop(x) ((unsigned long)(x) >> PAGE_SHIFT)
#define ptoa(x) ((unsigned long)(x) << PAGE_SHIFT)

/* Flags of a sleep; the low byte is a priority, which the guest ignores. */
#define PCATCH  0x100
#define PDROP   0x200
#define PRIMASK 0xff
#define PWAIT   0
#define PZERO   0

#endif
