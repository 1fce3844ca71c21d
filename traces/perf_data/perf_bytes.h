/*
 * Little-endian numbers at any address.
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_BYTES_H
#define TOPAZ_TRACES_PERF_DATA_PERF_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t
perf_u16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return le16toh(value);
}

static inline uint32_t
perf_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint64_t
perf_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

#endif
