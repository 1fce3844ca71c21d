/* A context's configuration, which is in struct hwt_context. */
#ifndef _DEV_HWT_HWT_CONFIG_H_
#define _DEV_HWT_HWT_CONFIG_H_

#include <dev/hwt/hwt_context.h>

struct hwt_set_config;

int hwt_config_set(
    struct thread *td, struct hwt_context *ctx, struct hwt_set_config *sconf);
void hwt_config_free(struct hwt_context *ctx);

#endif
