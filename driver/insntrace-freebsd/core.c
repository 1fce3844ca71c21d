/*
 * The part of insntrace's core that a backend of hwt(4) needs: hwt has sessions, states
 * and commands of its own.
 */
#include "driver/insntrace/core/buffer/buffer.c"
#include "driver/insntrace/core/buffer/capture.c"
#include "driver/insntrace/core/buffer/topa.c"
#include "driver/insntrace/core/config.c"
#include "driver/insntrace/core/hw/hw.c"
#include "driver/insntrace/core/hw/xstate.c"
#include "driver/insntrace/core/trace/intr.c"
