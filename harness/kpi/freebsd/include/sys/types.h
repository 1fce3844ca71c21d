/* FreeBSD's basic integer types for amd64. */
#ifndef _SYS_TYPES_H_
#define _SYS_TYPES_H_

#include <sys/cdefs.h>

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __SIZE_TYPE__ size_t;
typedef long ssize_t;

typedef unsigned char u_char;
typedef unsigned short u_short;
typedef unsigned int u_int;
typedef unsigned long u_long;

typedef char *caddr_t;
typedef int64_t register_t;
typedef int32_t pid_t;
typedef int32_t lwpid_t;
typedef uint32_t uid_t;
typedef uint32_t gid_t;
typedef uint16_t mode_t;
typedef int64_t off_t;

typedef uint64_t vm_offset_t;
typedef uint64_t vm_size_t;
typedef uint64_t vm_paddr_t;
typedef uint64_t vm_pindex_t;
typedef int64_t vm_ooffset_t;
typedef u_char vm_prot_t;
typedef char vm_memattr_t;

#if __STDC_VERSION__ < 202311L
# ifndef __bool_true_false_are_defined
#  define __bool_true_false_are_defined 1
#  define bool _Bool
#  define true 1
#  define false 0
# endif
#endif

#ifndef NULL
# define NULL ((void *)0)
#endif

#endif
