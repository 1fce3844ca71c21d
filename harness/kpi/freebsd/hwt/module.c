/* The framework as a module: its parts in order, /dev/hwt, the exit event. */
#include "hwt.h"

#include <sys/eventhandler.h>

MALLOC_DEFINE(M_HWT, "hwt", "hardware tracing framework");

static struct cdev *hwt_dev;
static eventhandler_tag exit_tag;

static struct cdevsw hwt_devsw = {
	.d_version = D_VERSION,
	.d_name = "hwt",
	.d_ioctl = alloc_ioctl,
};

static int
hwt_load(void)
{
	struct make_dev_args args;
	int error;

	backend_list_init();
	context_idents_init();
	context_hash_init();
	owner_hash_init();
	record_zone_init();

	make_dev_args_init(&args);
	args.mda_devsw = &hwt_devsw;
	args.mda_flags = MAKEDEV_CHECKNAME | MAKEDEV_WAITOK;
	args.mda_uid = UID_ROOT;
	args.mda_gid = GID_WHEEL;
	args.mda_mode = 0660;
	error = make_dev_s(&args, &hwt_dev, "hwt");
	if (error != 0)
		return (error);
	exit_tag = EVENTHANDLER_REGISTER(
	    process_exit, owner_process_exit, NULL, EVENTHANDLER_PRI_ANY);
	hook_install();
	return (0);
}

/* In reverse, whether or not contexts are left. */
static int
hwt_unload(void)
{
	hook_remove();
	EVENTHANDLER_DEREGISTER(process_exit, exit_tag);
	destroy_dev(hwt_dev);
	record_zone_fini();
	owner_hash_fini();
	context_hash_fini();
	context_idents_fini();
	backend_list_fini();
	return (0);
}

static int
hwt_event(module_t module __unused, int event, void *priv __unused)
{
	switch (event) {
	case MOD_LOAD:
		return (hwt_load());
	case MOD_UNLOAD:
		return (hwt_unload());
	default:
		return (0);
	}
}

static moduledata_t hwt_moduledata = { "hwt", hwt_event, NULL };

DECLARE_MODULE(hwt, hwt_moduledata, SI_SUB_DRIVERS, SI_ORDER_FIRST);
MODULE_VERSION(hwt, 1);
