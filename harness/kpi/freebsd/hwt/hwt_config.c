/* A context's configuration, in the backend's own format. */
#include "hwt.h"

static MALLOC_DEFINE(M_HWT_CONFIG, "hwt_config", "HWT configurations");

/*
 * Size 0 keeps the old configuration.  Otherwise it is freed at once, although
 * a hook may still be reading it.
 */
int
hwt_config_set(struct thread *td __unused, struct hwt_context *ctx,
    struct hwt_set_config *sconf)
{
	void *config, *old;
	int error;

	if (sconf->config_size == 0)
		return (0);
	if (sconf->config_size > PAGE_SIZE)
		return (EFBIG);
	config = malloc(sconf->config_size, M_HWT_CONFIG, M_WAITOK | M_ZERO);
	error = copyin(sconf->config, config, sconf->config_size);
	if (error != 0) {
		free(config, M_HWT_CONFIG);
		return (error);
	}
	HWT_CTX_LOCK(ctx);
	old = ctx->config;
	ctx->config = config;
	ctx->config_size = sconf->config_size;
	ctx->config_version = sconf->config_version;
	HWT_CTX_UNLOCK(ctx);
	free(old, M_HWT_CONFIG);
	return (0);
}

void
hwt_config_free(struct hwt_context *ctx)
{
	free(ctx->config, M_HWT_CONFIG);
	ctx->config = NULL;
}
