/*
 * The log of FreeBSD's hwpmc(4) of 2008 read back (pmclog(3)): what a bundle's pmclogN
 * holds.  An entry begins with a header of 12 bytes: length (16 bits), type (8 bits),
 * EEH; seconds; nanoseconds.  All words are little-endian.
 */
#ifndef TOPAZ_TRACES_VERIFY_COUNTERS_PMCLOG_H
#define TOPAZ_TRACES_VERIFY_COUNTERS_PMCLOG_H

#include "emu/base/base.h"

#include <stddef.h>

#define PMCLOG_DROPNOTIFY 2
#define PMCLOG_PMCATTACH  7
#define PMCLOG_PROCCSW    9
#define PMCLOG_PROCEXEC   10
#define PMCLOG_PROCEXIT   11
#define PMCLOG_PROCFORK   12
#define PMCLOG_SYSEXIT    13
#define PMCLOG_CALLCHAIN  17

enum { PMCLOG_PC_MAX = 128 };

/* By type: other members are 0. */
struct pmclog_entry {
	uint32_t type;
	uint32_t pid, pmcid;
	uint32_t child; /* PROCFORK */
	uint64_t value; /* PROCCSW, PROCEXIT: events; PROCEXEC: entry address */
	unsigned cpu;   /* CALLCHAIN, as the members below */
	bool user;
	size_t pc_count;
	uint64_t pc[PMCLOG_PC_MAX]; /* innermost first */
};

/* The parts of an id of a counter. */
static inline unsigned
pmclog_row(uint64_t pmcid)
{
	return (unsigned)(pmcid & 0xff);
}

/* 0 samples a CPU, 1 counts a CPU, 2 samples processes, 3 counts processes. */
static inline unsigned
pmclog_mode(uint64_t pmcid)
{
	return (unsigned)(pmcid >> 16 & 0xff);
}

static inline unsigned
pmclog_cpu(uint64_t pmcid)
{
	return (unsigned)(pmcid >> 24 & 0xff);
}

/*
 * Reads the entry at *AT of COUNT bytes and moves *AT to the next one.  1: read; 0: none
 * is left; -1: no entry, or a truncated one.
 */
int pmclog_next(
    const uint8_t *bytes, size_t count, size_t *at, struct pmclog_entry *entry);

#endif
