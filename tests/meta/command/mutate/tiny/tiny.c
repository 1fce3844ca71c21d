/*
 * A device with one buffer: ioctl 1 takes it, 2 gives it back, 3 reads the clock.
 */
#include "tiny.h"

#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"

static struct device *device;
static void *buffer;
static unsigned calls, ready;

static void
tiny_count(unsigned by)
{
	calls += by;
}

static int
tiny_ioctl(struct device *from, uint64_t number, uint64_t argument)
{
	unsigned unused = 3;

	(void)from;
	(void)argument;
	(void)unused;
	tiny_count(1);
	switch (number) {
	case 1:
		if (buffer == NULL)
			buffer = heap_alloc(TINY_BYTES, HEAP_WAITOK,
			    __builtin_return_address(0));
		break;
	case 2:
		if (buffer != NULL)
			heap_free(buffer, __builtin_return_address(0));
		buffer = NULL;
		break;
	default:
		return rdmsr64(0x10) == 0;
	}
	return 0;
}

static const struct device_ops tiny_ops = { .ioctl = tiny_ioctl };

static int
tiny_load(void)
{
	ready = 1;
	KERN_ASSERT(ready == 1);
	if (rdmsr64(0x10) == 0)
		return KE_NOTTY;
	return device_create("/dev/tiny", &tiny_ops, NULL, &device);
}

static void
tiny_unload(void)
{
	device_destroy(device);
	if (buffer != NULL)
		heap_free(buffer, __builtin_return_address(0));
	buffer = NULL;
}

NATIVE_MODULE(tiny, tiny_load, tiny_unload);
