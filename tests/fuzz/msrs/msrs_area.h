/*
 * XSAVES and XRSTORS as a processor executes them: what the XSAVE area, the state of
 * the CPU and the page tables must be.
 */
#ifndef TOPAZ_TESTS_FUZZ_MSRS_MSRS_AREA_H
#define TOPAZ_TESTS_FUZZ_MSRS_MSRS_AREA_H

#include "tests/fuzz/fuzz.h"

/* One of them, on a machine, against what the SDM asks for. */
void area_run(struct fuzz_input *input);

#endif
