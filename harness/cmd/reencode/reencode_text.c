#include "harness/cmd/reencode/reencode_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* Parses the number at *TEXT, which ends at STOP; moves *TEXT past STOP. */
static bool
parse_number(const char **text, int base, char stop, uint64_t *value)
{
	char *end;

	/* strtoull() would also accept blanks and a sign. */
	if (!isxdigit((unsigned char)**text))
		return false;
	errno = 0;
	*value = strtoull(*text, &end, base);
	if (end == *text || errno != 0 || *end != stop)
		return false;
	*text = end + (stop != '\0');
	return true;
}

const char *
reencode_cpu(const char *text, uint32_t *signature)
{
	uint64_t family, model, stepping = 0, extended;

	if (!parse_number(&text, 0, '/', &family) ||
	    (!parse_number(&text, 0, '\0', &model) &&
		(!parse_number(&text, 0, '/', &model) ||
		    !parse_number(&text, 0, '\0', &stepping))))
		return "not FAMILY/MODEL/STEPPING";
	if (family > 0xf + 0xff || model > 0xff || stepping > 0xf)
		return "no processor has such a signature";
	/* SDM vol. 2, "CPUID", figure "Version Information Returned by". */
	extended = family > 0xf ? family - 0xf : 0;
	*signature = (uint32_t)(extended << 20 | (model >> 4) << 16 |
	    (family - extended) << 8 | (model & 0xf) << 4 | stepping);
	return NULL;
}

const char *
reencode_range(
    const char *text, enum reencode_range cfg, struct decode_filter *filter)
{
	uint64_t a, b;
	unsigned n = 0;

	while (n < TZ_ARRAY_LEN(filter->a) &&
	    (filter->config >> (4 * n) & 0xf) != 0)
		n++;
	if (n == TZ_ARRAY_LEN(filter->a))
		return "no processor has more than 4 ranges";
	if (!parse_number(&text, 16, '-', &a) ||
	    !parse_number(&text, 16, '\0', &b))
		return "not two hexadecimal addresses, A-B";
	if (b < a)
		return "it ends before it begins";
	filter->a[n] = a;
	filter->b[n] = b;
	filter->config |= (uint64_t)cfg << (4 * n);
	return NULL;
}

const char *
reencode_hex(const char *text, uint64_t *value)
{
	uint64_t number;

	if (!parse_number(&text, 16, '\0', &number))
		return "not a hexadecimal number";
	*value = number;
	return NULL;
}

const char *
reencode_id(const char *text, uint32_t *id)
{
	uint64_t number;

	if (!parse_number(&text, 10, '\0', &number) || number >= UINT32_MAX)
		return "not the number of a CPU or a thread";
	*id = (uint32_t)number;
	return NULL;
}
