/*
 * The structures that topaz's guest programs pass to the framework. These are
 * compiled with our headers: a tree with another layout fails here.
 */
#include <sys/hwt.h>

#define AT(type, field, offset)                             \
 _Static_assert(__offsetof(struct type, field) == (offset), \
     "topaz's programs pass struct " #type "'s " #field " elsewhere")

/* The numbers contain the sizes of the structures. */
_Static_assert(HWT_IOC_ALLOC == 0x80404200, "HWT_IOC_ALLOC");
_Static_assert(HWT_IOC_START == 0x80104201, "HWT_IOC_START");
_Static_assert(HWT_IOC_STOP == 0x80104202, "HWT_IOC_STOP");
_Static_assert(HWT_IOC_RECORD_GET == 0x80204203, "HWT_IOC_RECORD_GET");
_Static_assert(HWT_IOC_BUFPTR_GET == 0x80204204, "HWT_IOC_BUFPTR_GET");
_Static_assert(HWT_IOC_SET_CONFIG == 0x80204205, "HWT_IOC_SET_CONFIG");
_Static_assert(HWT_IOC_WAKEUP == 0x80104206, "HWT_IOC_WAKEUP");
_Static_assert(HWT_IOC_SVC_BUF == 0x80204207, "HWT_IOC_SVC_BUF");

AT(hwt_alloc, mode, 8);
AT(hwt_alloc, cpu_map, 16);
AT(hwt_alloc, backend_name, 32);
AT(hwt_alloc, ident, 40);
AT(hwt_record_get, nentries, 8);
AT(hwt_record_get, wait, 16);
AT(hwt_bufptr_get, offset, 8);
AT(hwt_bufptr_get, data, 16);
AT(hwt_set_config, config, 8);
AT(hwt_set_config, config_size, 16);
AT(hwt_svc_buf, data_size, 8);

_Static_assert(HWT_RECORD_BUFFER == 6, "HWT_RECORD_BUFFER");
_Static_assert(sizeof(struct hwt_record_user_entry) == 1056,
    "struct hwt_record_user_entry");
AT(hwt_record_user_entry, fullpath, 8);
AT(hwt_record_user_entry, addr, 1032);
AT(hwt_record_user_entry, buf_id, 8);
AT(hwt_record_user_entry, curpage, 12);
AT(hwt_record_user_entry, offset, 16);
AT(hwt_record_user_entry, thread_id, 8);
