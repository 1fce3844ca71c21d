/* Where the kernel's scheduler, exit, exec and mapping code call the framework.
 */
#ifndef _DEV_HWT_HWT_HOOK_H_
#define _DEV_HWT_HWT_HOOK_H_

struct thread;

#define HWT_SWITCH_IN       0
#define HWT_SWITCH_OUT      1
#define HWT_THREAD_EXIT     2
#define HWT_THREAD_CREATE   3
#define HWT_THREAD_SET_NAME 4
#define HWT_RECORD          5
#define HWT_MMAP            6
#define HWT_EXEC            7

/* Defined by the kernel, set by the framework. */
extern void (*hwt_hook)(struct thread *td, int func, void *arg);

#define HWT_HOOK_INSTALLED (hwt_hook != NULL)
#define HWT_CALL_HOOK(td, func, arg) \
 do {                                \
  if (hwt_hook != NULL)              \
   (hwt_hook)((td), (func), (arg));  \
 } while (0)

/* For the framework only. */
void hwt_hook_load(void);
void hwt_hook_unload(void);

#endif
