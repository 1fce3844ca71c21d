/* Memory domains: the guest has one, and nothing of this header is used. */
#ifndef _SYS_DOMAINSET_H_
#define _SYS_DOMAINSET_H_

#include <sys/types.h>

#endif
