/* Assertions: KASSERT and MPASS panic if and only if INVARIANTS is defined. */
#ifndef _SYS_KASSERT_H_
#define _SYS_KASSERT_H_

#include <sys/cdefs.h>

void panic(const char *, ...) __dead2 __printflike(1, 2);
#define kassert_panic panic

#ifdef INVARIANTS
# define KASSERT(exp, msg)      \
  do {                          \
   if (__predict_false(!(exp))) \
    kassert_panic msg;          \
  } while (0)
#else
# define KASSERT(exp, msg) \
  do {                     \
  } while (0)
#endif

#define MPASS(exp)        MPASS4((exp), #exp, __FILE__, __LINE__)
#define MPASS2(exp, what) MPASS4((exp), what, __FILE__, __LINE__)
#define MPASS4(exp, what, file, line) \
 KASSERT((exp), ("Assertion %s failed at %s:%d", what, file, line))

#define CTASSERT(x) _Static_assert(x, "compile-time assertion failed")

#endif
