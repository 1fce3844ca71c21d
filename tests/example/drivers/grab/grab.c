/*
 * A device with one buffer: ioctl 1 takes it, ioctl 2 gives it back.  Two threads
 * that give it back at the same time free it twice.
 */
#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"

static struct device *device;
static void *buffer;

static int
grab_ioctl(struct device *from, uint64_t number, uint64_t argument)
{
	(void)from;
	(void)argument;
	if (number == 1 && buffer == NULL)
		buffer = module_alloc(PAGE_BYTES, HEAP_WAITOK);
	if (number == 2 && buffer != NULL) {
		module_free(buffer);
		buffer = NULL;
	}
	return 0;
}

static const struct device_ops grab_ops = { .ioctl = grab_ioctl };

static int
grab_load(void)
{
	return device_create("/dev/grab", &grab_ops, NULL, &device);
}

static void
grab_unload(void)
{
	device_destroy(device);
	module_free(buffer);
	buffer = NULL;
}

NATIVE_MODULE(grab, grab_load, grab_unload);
