/* The framework as a module: its parts in order, /dev/hwt, the exit event. */
#include "hwt.h"

#include <sys/eventhandler.h>

static struct cdev *hwt_cdev;
static eventhandler_tag exit_tag;

static struct cdevsw hwt_cdevsw = {
	.d_version = D_VERSION,
	.d_name = "hwt",
	.d_ioctl = hwt_ioctl,
};

static void
owner_exits(void *arg __unused, struct proc *p)
{
	struct hwt_owner *ho;

	ho = hwt_ownerhash_lookup(p);
	if (ho != NULL)
		hwt_owner_shutdown(ho);
}

static int
load(void)
{
	struct make_dev_args args;
	int error;

	hwt_backend_load();
	hwt_ctx_load();
	hwt_contexthash_load();
	hwt_ownerhash_load();
	hwt_record_load();

	make_dev_args_init(&args);
	args.mda_devsw = &hwt_cdevsw;
	args.mda_flags = MAKEDEV_CHECKNAME | MAKEDEV_WAITOK;
	args.mda_uid = UID_ROOT;
	args.mda_gid = GID_WHEEL;
	args.mda_mode = 0660;
	error = make_dev_s(&args, &hwt_cdev, "hwt");
	if (error != 0)
		return (error);
	exit_tag = EVENTHANDLER_REGISTER(
	    process_exit, owner_exits, NULL, EVENTHANDLER_PRI_ANY);
	hwt_hook_load();
	return (0);
}

/* In reverse, whether or not contexts are left. */
static int
unload(void)
{
	hwt_hook_unload();
	EVENTHANDLER_DEREGISTER(process_exit, exit_tag);
	destroy_dev(hwt_cdev);
	hwt_record_unload();
	hwt_ownerhash_unload();
	hwt_contexthash_unload();
	hwt_ctx_unload();
	hwt_backend_unload();
	return (0);
}

static int
hwt_modevent(module_t mod __unused, int type, void *data __unused)
{
	switch (type) {
	case MOD_LOAD:
		return (load());
	case MOD_UNLOAD:
		return (unload());
	default:
		return (0);
	}
}

static moduledata_t hwt_mod = { "hwt", hwt_modevent, NULL };

DECLARE_MODULE(hwt, hwt_mod, SI_SUB_DRIVERS, SI_ORDER_FIRST);
MODULE_VERSION(hwt, 1);
