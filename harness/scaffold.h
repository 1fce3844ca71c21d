/*
 * A new driver's folder: a copy of driver/sample under another name.  The sample is a
 * driver like any other, compiled and explored as it is; nothing is generated.
 */
#ifndef TOPAZ_HARNESS_SCAFFOLD_H
#define TOPAZ_HARNESS_SCAFFOLD_H

#include "emu/base/base.h"

/*
 * Copies each file of the folder SAMPLE into the new folder DIR/NAME.  In their names
 * and their text the word "sample" becomes NAME; before '_' it becomes an identifier
 * (other characters than letters and digits are '_'), before '-' the beginning of a
 * scenario's name (small letters, digits and '-').
 *
 * -TZ_EUSAGE: NAME does not begin with a letter, has other characters than letters,
 * digits, '-' and '_', or more than 31; DIR/NAME exists or cannot be created.  -TZ_EIO: a
 * file cannot be read or written.  After an error no new file is left.
 */
int scaffold_driver(const char *sample, const char *dir, const char *name,
    struct tz_error *err);

#endif
