#include "traces/bundle/digest.h"

#include <stdio.h>
#include <xxhash.h>

void
digest_bytes(const void *bytes, size_t count, char text[DIGEST_TEXT_BYTES])
{
	XXH128_hash_t hash = XXH3_128bits(bytes, count);

	snprintf(text, DIGEST_TEXT_BYTES, "%016llx%016llx",
	    (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}
