/*
 * Reads a device that has the operations of harness/kpi/native/trace.h.
 * Results are those of the system calls: negative errors.
 */
#ifndef TOPAZ_HARNESS_GUEST_USER_DEVICE_H
#define TOPAZ_HARNESS_GUEST_USER_DEVICE_H

#include "harness/guest/user/user.h"
#include "harness/kpi/native/trace.h"

/* ARGUMENT: a structure's address, or NULL. */
int64_t device_request(
    uint64_t fd, enum trace_command command, const volatile void *argument);

/* TRACE_SETUP; then reports to the host the frames of CPUS CPUs' buffers. */
int64_t device_set_up(
    uint64_t fd, const struct trace_config *config, uint32_t cpus);

/*
 * Drains to the host all that the buffer of CPU holds, the oldest byte first,
 * and reports what was lost.  *STATE receives the driver's state of the buffer.
 */
int64_t device_drain(uint64_t fd, uint32_t cpu, struct trace_state *state);

#endif
