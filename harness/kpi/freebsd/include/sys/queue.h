/*
 * The list macros of queue(3) that the tracing code uses: LIST and TAILQ.
 * No consistency checks and no names in the links.
 */
#ifndef _SYS_QUEUE_H_
#define _SYS_QUEUE_H_

#define LIST_HEAD(name, type) \
 struct name {                \
  struct type *lh_first;      \
 }
#define LIST_HEAD_INITIALIZER(head) \
 {                                  \
  0                                 \
 }
#define LIST_ENTRY(type) \
 struct {                \
  struct type *le_next;  \
  struct type **le_prev; \
 }
#define LIST_FIRST(head)      ((head)->lh_first)
#define LIST_EMPTY(head)      (LIST_FIRST(head) == 0)
#define LIST_NEXT(elm, field) ((elm)->field.le_next)
#define LIST_INIT(head)       (LIST_FIRST(head) = 0)
#define LIST_FOREACH(var, head, field) \
 for ((var) = LIST_FIRST(head); (var); (var) = LIST_NEXT(var, field))
#define LIST_FOREACH_SAFE(var, head, field, tvar)                             \
 for ((var) = LIST_FIRST(head); (var) && ((tvar) = LIST_NEXT(var, field), 1); \
      (var) = (tvar))
#define LIST_INSERT_HEAD(head, elm, field)                   \
 do {                                                        \
  LIST_NEXT(elm, field) = LIST_FIRST(head);                  \
  if (LIST_FIRST(head))                                      \
   LIST_FIRST(head)->field.le_prev = &LIST_NEXT(elm, field); \
  LIST_FIRST(head) = (elm);                                  \
  (elm)->field.le_prev = &LIST_FIRST(head);                  \
 } while (0)
#define LIST_REMOVE(elm, field)                                 \
 do {                                                           \
  if (LIST_NEXT(elm, field))                                    \
   LIST_NEXT(elm, field)->field.le_prev = (elm)->field.le_prev; \
  *(elm)->field.le_prev = LIST_NEXT(elm, field);                \
 } while (0)

#define TAILQ_HEAD(name, type) \
 struct name {                 \
  struct type *tqh_first;      \
  struct type **tqh_last;      \
 }
#define TAILQ_HEAD_INITIALIZER(head) \
 {                                   \
  0, &(head).tqh_first               \
 }
#define TAILQ_ENTRY(type) \
 struct {                 \
  struct type *tqe_next;  \
  struct type **tqe_prev; \
 }
#define TAILQ_FIRST(head)      ((head)->tqh_first)
#define TAILQ_EMPTY(head)      (TAILQ_FIRST(head) == 0)
#define TAILQ_NEXT(elm, field) ((elm)->field.tqe_next)
#define TAILQ_INIT(head)                 \
 do {                                    \
  TAILQ_FIRST(head) = 0;                 \
  (head)->tqh_last = &TAILQ_FIRST(head); \
 } while (0)
#define TAILQ_FOREACH(var, head, field) \
 for ((var) = TAILQ_FIRST(head); (var); (var) = TAILQ_NEXT(var, field))
#define TAILQ_FOREACH_SAFE(var, head, field, tvar) \
 for ((var) = TAILQ_FIRST(head);                   \
      (var) && ((tvar) = TAILQ_NEXT(var, field), 1); (var) = (tvar))
#define TAILQ_INSERT_HEAD(head, elm, field)                     \
 do {                                                           \
  TAILQ_NEXT(elm, field) = TAILQ_FIRST(head);                   \
  if (TAILQ_FIRST(head))                                        \
   TAILQ_FIRST(head)->field.tqe_prev = &TAILQ_NEXT(elm, field); \
  else                                                          \
   (head)->tqh_last = &TAILQ_NEXT(elm, field);                  \
  TAILQ_FIRST(head) = (elm);                                    \
  (elm)->field.tqe_prev = &TAILQ_FIRST(head);                   \
 } while (0)
#define TAILQ_INSERT_BEFORE(at, elm, field)       \
 do {                                             \
  (elm)->field.tqe_prev = (at)->field.tqe_prev;   \
  TAILQ_NEXT(elm, field) = (at);                  \
  *(at)->field.tqe_prev = (elm);                  \
  (at)->field.tqe_prev = &TAILQ_NEXT(elm, field); \
 } while (0)
#define TAILQ_INSERT_TAIL(head, elm, field)   \
 do {                                         \
  TAILQ_NEXT(elm, field) = 0;                 \
  (elm)->field.tqe_prev = (head)->tqh_last;   \
  *(head)->tqh_last = (elm);                  \
  (head)->tqh_last = &TAILQ_NEXT(elm, field); \
 } while (0)
#define TAILQ_REMOVE(head, elm, field)                             \
 do {                                                              \
  if (TAILQ_NEXT(elm, field))                                      \
   TAILQ_NEXT(elm, field)->field.tqe_prev = (elm)->field.tqe_prev; \
  else                                                             \
   (head)->tqh_last = (elm)->field.tqe_prev;                       \
  *(elm)->field.tqe_prev = TAILQ_NEXT(elm, field);                 \
 } while (0)
#define TAILQ_REMOVE_HEAD(head, field) \
 TAILQ_REMOVE(head, TAILQ_FIRST(head), field)

#endif
