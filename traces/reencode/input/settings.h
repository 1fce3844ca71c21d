/*
 * With which IA32_RTIT_CTL and which ranges each part of a bundle's stream was
 * traced: what its events say, where its account finds the bytes.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_SETTINGS_H
#define TOPAZ_TRACES_REENCODE_INPUT_SETTINGS_H

#include "traces/reencode/replay/unit_driver.h"
#include "traces/verify/account.h"

/*
 * The settings of the STREAM-th stream of ACCOUNT, made of the COUNT EVENTS, by rising
 * offset in its file, one wherever they change; *SETTINGS is to be freed.  A stream of
 * which nothing was traced has none.  -TZ_EIO: out of memory.
 */
int settings_read(const struct event *events, size_t count,
    const struct account *account, size_t stream,
    struct unit_driver_setting **settings, size_t *setting_count,
    struct tz_error *err);

#endif
