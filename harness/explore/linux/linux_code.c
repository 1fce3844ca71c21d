#include "harness/explore/linux/linux_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES   128
#define KERNEL_BEGIN (UINT64_C(1) << 63)

struct symbol {
	uint64_t va;
	const char *name; /* in .names */
};

struct linux_code {
	struct symbol *symbol; /* by address; of one address, the first name */
	size_t count;
	char *names;
	struct linux_range part[LINUX_PARTS];
};

/* The handler of PMIs, as far as it is in neither part. */
static const char *const handlers[] = { "perf_event_nmi_handler",
	"intel_pmu_handle_irq", "handle_pmi_common" };

static int
compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->va != y->va)
		return x->va < y->va ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/*
 * What stands before a function's first instruction and has a name in kallsyms: its
 * padding (CONFIG_CALL_PADDING, objtool) and clang's type of it (CONFIG_CFI_CLANG).
 */
static bool
is_before_function(const char *name)
{
	return strncmp(name, "__pfx_", 6) == 0 ||
	    strncmp(name, "__cfi_", 6) == 0;
}

/* "ADDRESS TYPE NAME[\t[MODULE]]": a function of the kernel; else false. */
static bool
read_line(const char *line, size_t length, struct symbol *symbol, char **name)
{
	char text[NAME_BYTES + 64];
	char type;
	int at = 0;

	if (length >= sizeof(text))
		return false;
	memcpy(text, line, length);
	text[length] = '\0';
	if (sscanf(text, "%" SCNx64 " %c %n", &symbol->va, &type, &at) != 2 ||
	    at == 0 || (type != 't' && type != 'T') ||
	    symbol->va < KERNEL_BEGIN || strchr(text + at, '\t') != NULL ||
	    is_before_function(text + at))
		return false;
	symbol->name = strcpy(*name, text + at);
	*name += strlen(text + at) + 1;
	return true;
}

static void
read_lines(struct linux_code *code, const char *text, size_t count)
{
	const char *end = text + count;
	char *name = code->names;

	while (text < end) {
		const char *next = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((next != NULL ? next : end) - text);

		code->count += read_line(
		    text, length, &code->symbol[code->count], &name);
		text += length + 1;
	}
	qsort(code->symbol, code->count, sizeof(*code->symbol), compare);
}

/* The symbol that contains VA, or NULL. */
static const struct symbol *
find(const struct linux_code *code, uint64_t va)
{
	size_t low = 0, high = code->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (code->symbol[mid].va <= va)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return NULL;
	while (low > 1 && code->symbol[low - 2].va == code->symbol[low - 1].va)
		low--;
	return &code->symbol[low - 1];
}

static struct linux_range
range_of(const struct linux_code *code, const struct symbol *symbol)
{
	const struct symbol *next = symbol;
	const struct symbol *end = code->symbol + code->count;

	while (next < end && next->va == symbol->va)
		next++;
	return (struct linux_range){ symbol->va,
		next < end ? next->va : symbol->va + 1 };
}

struct linux_range
linux_code_function(const struct linux_code *code, const char *name)
{
	for (size_t i = 0; i < code->count; i++) {
		if (strcmp(code->symbol[i].name, name) == 0)
			return range_of(code, &code->symbol[i]);
	}
	return (struct linux_range){ 0, 0 };
}

struct linux_range
linux_code_made_of(
    const struct linux_code *code, const char *name, unsigned index)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < code->count; i++) {
		const char *other = code->symbol[i].name;

		if (strncmp(other, name, length) != 0 ||
		    (other[length] != '\0' && other[length] != '.') ||
		    strstr(other + length, ".cold") != NULL)
			continue;
		if (index-- == 0)
			return range_of(code, &code->symbol[i]);
	}
	return (struct linux_range){ 0, 0 };
}

static bool
has_prefix(const char *name, const char *const *prefixes)
{
	while (*prefixes != NULL &&
	    strncmp(name, *prefixes, strlen(*prefixes)) != 0)
		prefixes++;
	return *prefixes != NULL;
}

/* A function that shows a file of sysfs: its name says nothing of the source it is in. */
static bool
is_attribute(const char *name)
{
	size_t length = strlen(name);

	return length > 5 && strcmp(name + length - 5, "_show") == 0;
}

/*
 * The last of the functions from FROM on, each BY from the one before, whose names begin
 * with one of PREFIXES; attributes between them do not end it.
 */
static const struct symbol *
outermost(const struct linux_code *code, const struct symbol *from,
    ptrdiff_t by, const char *const *prefixes)
{
	ptrdiff_t at = from - code->symbol, found = at;

	while (at >= 0 && at < (ptrdiff_t)code->count) {
		bool has = has_prefix(code->symbol[at].name, prefixes);

		if (!has && !is_attribute(code->symbol[at].name))
			break;
		found = has ? at : found;
		at += by;
	}
	return &code->symbol[found];
}

/* The functions around the one named FROM: outermost() on both sides. */
static struct linux_range
neighbours(const struct linux_code *code, const char *from,
    const char *const *prefixes)
{
	const struct symbol *at = code->symbol;
	const struct symbol *end = code->symbol + code->count;

	while (at < end && strcmp(at->name, from) != 0)
		at++;
	if (at == end)
		return (struct linux_range){ 0, 0 };
	return (struct linux_range){ outermost(code, at, -1, prefixes)->va,
		range_of(code, outermost(code, at, 1, prefixes)).end };
}

int
linux_code_read(const char *text, size_t count, struct linux_code **result,
    struct tz_error *err)
{
	static const char *const pt[] = { "pt_", "__pt_", "topa_", "intel_pt_",
		"is_intel_pt_event", "cpu_emergency_stop_pt", NULL };
	static const char *const aux[] = { "perf_aux_", "rb_", "__rb_",
		"perf_get_aux", "perf_mmap_", "perf_output_", "__perf_output_",
		"__output_copy", NULL };
	struct linux_code *code = calloc(1, sizeof(*code));
	size_t lines = 1;

	for (size_t i = 0; i < count; i++)
		lines += text[i] == '\n';
	if (code != NULL) {
		code->symbol = calloc(lines, sizeof(*code->symbol));
		code->names = malloc(count + 1);
	}
	if (code == NULL || code->symbol == NULL || code->names == NULL) {
		linux_code_free(code);
		return tz_error(err, TZ_EIO, "out of memory for symbols");
	}
	read_lines(code, text, count);
	code->part[LINUX_PT] = neighbours(code, "pt_buffer_setup_aux", pt);
	code->part[LINUX_AUX] = neighbours(code, "perf_aux_output_begin", aux);
	if (code->part[LINUX_PT].end == 0 || code->part[LINUX_AUX].end == 0) {
		bool empty = code->count == 0;

		linux_code_free(code);
		return tz_error(err, TZ_EFORMAT,
		    "the kernel's /proc/kallsyms has %s: is it built with "
		    "CONFIG_KALLSYMS and CONFIG_CPU_SUP_INTEL?",
		    empty ? "no addresses" : "no functions of Intel PT");
	}
	*result = code;
	return 0;
}

void
linux_code_free(struct linux_code *code)
{
	if (code == NULL)
		return;
	free(code->symbol);
	free(code->names);
	free(code);
}

struct linux_range
linux_code_part(const struct linux_code *code, enum linux_part part)
{
	TZ_ASSERT((unsigned)part < LINUX_PARTS);
	return code->part[part];
}

const char *
linux_code_name(const struct linux_code *code, uint64_t va, uint64_t *offset)
{
	const struct symbol *symbol = find(code, va);

	*offset = symbol != NULL ? va - symbol->va : 0;
	return symbol != NULL ? symbol->name : "";
}

bool
linux_code_is_driver(const struct linux_code *code, uint64_t va)
{
	uint64_t offset;
	const char *name;

	for (unsigned i = 0; i < LINUX_PARTS; i++) {
		if (va >= code->part[i].begin && va < code->part[i].end)
			return true;
	}
	name = linux_code_name(code, va, &offset);
	for (size_t i = 0; i < TZ_ARRAY_LEN(handlers); i++) {
		if (strcmp(name, handlers[i]) == 0)
			return true;
	}
	return false;
}
