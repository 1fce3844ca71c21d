/*
 * The PMI of a filled ToPA region, raised after the delay that a unit with a bounded
 * internal buffer has.
 *
 * Source: SDM vol. 3, 33.2.7.2 "Table of Physical Addresses (ToPA)", "ToPA PMI".
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_PMI_H
#define TOPAZ_EMU_PT_OUTPUT_PMI_H

struct pt_unit;

/* Raises the PMI of the current entry, now or after its delay. */
void pmi_raise(struct pt_unit *unit);

/* Raises a delayed PMI that is due by now. */
void pmi_run(struct pt_unit *unit);

#endif
