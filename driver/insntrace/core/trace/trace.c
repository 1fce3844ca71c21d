#include "driver/insntrace/core/trace/trace.h"

#include "driver/insntrace/core/buffer/capture.h"
#include "driver/insntrace/core/services.h"
#include "driver/insntrace/core/trace/intr.h"

/* Written before a rendezvous begins and read after it has ended; during it
 * each CPU uses its own element. */
struct trace_cpu {
	struct buffer *buffer;
	struct hw_setup setup;
	struct hw_capture capture;
	struct capture_progress progress;
};

static struct trace_cpu trace_cpus[OS_CPUS_MAX];
static struct caps trace_caps;

void
trace_decode(struct buffer *buffer, const struct capture_progress *progress,
    const struct hw_capture *last)
{
	buffer->state_status = capture_decode(&buffer->topa,
	    buffer->config.stop_on_full != 0, progress, last, &buffer->state);
}

static void
start_here(void)
{
	struct trace_cpu *cpu = &trace_cpus[os_cpu()];

	intr_begin(&cpu->buffer->topa, &cpu->progress);
	hw_start(&trace_caps, &cpu->setup);
}

static void
stop_here(void)
{
	struct trace_cpu *cpu = &trace_cpus[os_cpu()];

	hw_stop(&cpu->setup);
	intr_end(&cpu->progress);
	hw_capture(&cpu->capture);
	hw_clear(&trace_caps);
}

bool
trace_start(const struct caps *caps, struct buffer *const *buffers)
{
	trace_caps = *caps;
	for (uint32_t i = 0; i < os_cpu_count(); i++) {
		struct trace_cpu *cpu = &trace_cpus[i];

		*cpu = (struct trace_cpu){ .buffer = buffers[i] };
		buffer_setup(buffers[i], caps->range_count, &cpu->setup);
	}
	if (!intr_register())
		return false;
	os_call_all(start_here);
	return true;
}

void
trace_stop(void)
{
	os_call_all(stop_here);
	intr_remove();
	for (uint32_t i = 0; i < os_cpu_count(); i++) {
		const struct trace_cpu *cpu = &trace_cpus[i];

		trace_decode(cpu->buffer, &cpu->progress, &cpu->capture);
	}
}
