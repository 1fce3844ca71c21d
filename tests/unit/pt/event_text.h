/*
 * A stream as libipt's event decoder understands it, as one line of text.
 */
#ifndef TOPAZ_TESTS_UNIT_PT_EVENT_TEXT_H
#define TOPAZ_TESTS_UNIT_PT_EVENT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The events of BYTES of STREAM from its first PSB, separated by blanks; status
 * events of PSB+ and CBR are left out.  SIGNATURE is CPUID.1:EAX of the processor
 * whose errata the decoder is to mind, or 0.  An error of the decoder is the last
 * word, "error N".  To be freed.
 */
char *event_text_read(const uint8_t *stream, size_t bytes, uint32_t signature);

#endif
