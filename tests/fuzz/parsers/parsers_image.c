/*
 * Goal: what topaz reencode is given, memory in any form and options, ends in a value
 * or a message. Method: files and lines out of the input's bytes; what
 * an option's text gave is written and read again, and must be the same.
 */
#include "harness/cmd/reencode/reencode_text.h"
#include "tests/fuzz/parsers/parsers.h"
#include "traces/memory/memory_image.h"
#include "traces/reencode/reencode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_VA          0x400000
#define ELF_SEGMENT_BYTES 56

/*
 * The bytes of PIECES are there, and not more of them than LIMIT: as often as a file
 * can have segments, it may name the same of its bytes.
 */
static void
check_pieces(const struct memory_image *memory_image, uint64_t limit)
{
	static const uint64_t probes[] = { 0, IMAGE_VA, 0xffffffffffffffff,
		0xffff800000000000, 0xfffffffffffff000 };

	FUZZ_CHECK(memory_image_bytes(memory_image) <= limit,
	    "%llu bytes of %llu",
	    (unsigned long long)memory_image_bytes(memory_image),
	    (unsigned long long)limit);
	for (size_t i = 0; i < TZ_ARRAY_LEN(probes); i++) {
		uint64_t left = 0;
		const uint8_t *at = memory_image_at(
		    memory_image, probes[i], &left);

		FUZZ_CHECK(
		    at == NULL || left <= memory_image_bytes(memory_image),
		    "%llu bytes at %llx", (unsigned long long)left,
		    (unsigned long long)probes[i]);
		if (at != NULL && left != 0)
			(void)(*(const volatile uint8_t *)at +
			    *(const volatile uint8_t *)(at + left - 1));
	}
}

/* 3 bytes say how; then a file, a list or an address, and what is left a file. */
void
read_pieces(const uint8_t *data, size_t bytes)
{
	struct fuzz_input input = { data, bytes, 0 };
	unsigned how = fuzz_below(&input, 256);
	size_t first = fuzz_below(&input, 65536), left, count;
	uint64_t limit;
	const char *pages = parsers_path("pages");
	const char *list = parsers_path("list");
	struct memory_image *memory_image = memory_image_create();
	struct tz_error err = { "" };
	char spec[256];
	int error;

	TZ_ASSERT(memory_image != NULL);
	left = bytes - input.at;
	first = first > left ? left : first;
	parsers_write(list, data + input.at, first);
	if (how & 4) {
		/* As many whole pages as the list has addresses. */
		uint8_t *whole = calloc(1, first / 8 * 4096 + 1);

		TZ_ASSERT(whole != NULL);
		count = first / 8 * 4096;
		parsers_write(pages, whole, count);
		free(whole);
	} else {
		count = left - first;
		parsers_write(pages, data + input.at + first, count);
	}
	limit = 2 * count * (count / ELF_SEGMENT_BYTES + 1);
	/* zstd packs any number of bytes into a few. */
	if (!(how & 4) && count >= 4 &&
	    memcmp(data + input.at + first, "\x28\xb5\x2f\xfd", 4) == 0)
		limit = UINT64_MAX;
	switch (how & 3) {
	case 0:
		snprintf(spec, sizeof(spec), "%s@%s", pages, list);
		break;
	case 1:
		snprintf(spec, sizeof(spec), "%s", pages);
		break;
	default:
		snprintf(spec, sizeof(spec), "%s@%.*s", pages,
		    (int)(first > 40 ? 40 : first),
		    (const char *)data + input.at);
		break;
	}
	/* A name of the input's own could be any file. */
	if ((how & 2) && strpbrk(strrchr(spec, '@'), "/.") != NULL) {
		memory_image_destroy(memory_image);
		return;
	}
	for (unsigned again = 0; again <= (how >> 3 & 1); again++) {
		error = memory_image_add(memory_image, spec, &err);
		parsers_check(error, &err, NULL);
	}
	check_pieces(memory_image, limit);
	if (error == 0)
		parsers_check(
		    memory_image_image(memory_image, &err) != NULL ? 0 : -1,
		    &err, NULL);
	memory_image_destroy(memory_image);
}

/* A line each: --cpu, --ctl, --range, --range ... */
void
read_options(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1), *save = NULL;
	struct decode_filter filter = { 0 }, again = { 0 };
	uint32_t signature;
	uint64_t ctl;
	unsigned ranges = 0;

	TZ_ASSERT(text != NULL);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *refused = reencode_cpu(line, &signature);

		FUZZ_CHECK(refused == NULL || refused[0] != '\0', "no cause");
		if (refused == NULL)
			(void)profile_of_signature(signature);
		refused = reencode_hex(line, &ctl);
		if (refused == NULL) {
			char hex[24];
			uint64_t second;

			snprintf(hex, sizeof(hex), "%" PRIx64, ctl);
			FUZZ_CHECK(
			    reencode_hex(hex, &second) == NULL && second == ctl,
			    "'%s' became '%s'", line, hex);
		}
		refused = reencode_range(line, REENCODE_FILTER, &filter);
		ranges += refused == NULL;
	}
	FUZZ_CHECK(ranges <= 4, "%u ranges", ranges);
	for (unsigned n = 0; n < ranges; n++) {
		char range[48];

		FUZZ_CHECK(filter.a[n] <= filter.b[n], "an empty range");
		snprintf(range, sizeof(range), "0x%" PRIx64 "-%" PRIX64,
		    filter.a[n], filter.b[n]);
		FUZZ_CHECK(
		    reencode_range(range, REENCODE_FILTER, &again) == NULL,
		    "%s", range);
	}
	FUZZ_CHECK(memcmp(&filter, &again, sizeof(filter)) == 0,
	    "ranges read again are others");
	free(text);
}
