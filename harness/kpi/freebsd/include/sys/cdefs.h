/* Compiler attributes under FreeBSD's names; no feature-test macros. */
#ifndef _SYS_CDEFS_H_
#define _SYS_CDEFS_H_

#define __aligned(x)           __attribute__((__aligned__(x)))
#define __packed               __attribute__((__packed__))
#define __section(x)           __attribute__((__section__(x)))
#define __unused               __attribute__((__unused__))
#define __diagused             __attribute__((__unused__))
#define __used                 __attribute__((__used__))
#define __dead2                __attribute__((__noreturn__))
#define __weak_symbol          __attribute__((__weak__))
#define __always_inline        __inline__ __attribute__((__always_inline__))
#define __printflike(f, a)     __attribute__((__format__(__printf__, f, a)))
#define __predict_true(x)      __builtin_expect(!!(x), 1)
#define __predict_false(x)     __builtin_expect(!!(x), 0)
#define __read_mostly          __section(".data.read_mostly")
#define __read_frequently      __section(".data.read_frequently")
#define __exclusive_cache_line __aligned(64) __section(".data.exclusive")
#define __offsetof(t, f)       __builtin_offsetof(t, f)
#define __containerof(p, t, f) \
 ((t *)(void *)((char *)(p) - __builtin_offsetof(t, f)))

#define __CONCAT1(a, b) a##b
#define __CONCAT(a, b)  __CONCAT1(a, b)
#define __STRING(x)     #x
#define __XSTRING(x)    __STRING(x)

#define __BEGIN_DECLS
#define __END_DECLS

#ifndef __DECONST
# define __DECONST(type, p) ((type)(__UINTPTR_TYPE__)(const void *)(p))
#endif

#endif
