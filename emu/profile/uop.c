#include "emu/profile/uop.h"

#include <string.h>

enum uop_class_id {
#define UOP_CLASS(name, latency, halves, ...) CLASS_##name,
#include "emu/profile/uop_class.def"
#undef UOP_CLASS
	CLASS_COUNT
};

static const struct uop_class classes[CLASS_COUNT] = {
#define PORTS(ports, count) \
 {                          \
  ports, count              \
 }
#define NO_PORTS \
 {               \
  0, 0           \
 }
#define UOP_CLASS(name, latency, halves, ...) \
 { latency, halves, { __VA_ARGS__ } },
#include "emu/profile/uop_class.def"
#undef UOP_CLASS
#undef NO_PORTS
#undef PORTS
};

static const struct uop_row {
	const char *form;
	uint16_t class[UOP_COLUMNS];
} rows[] = {
#define UOP(form, skylake, icelake, broadwell) \
 { form, { CLASS_##skylake, CLASS_##icelake, CLASS_##broadwell } },
#include "emu/profile/uop.def"
#undef UOP
};

const struct uop_class *
uop_find(const char *form, enum uop_column column)
{
	size_t low = 0, high = TZ_ARRAY_LEN(rows);

	TZ_ASSERT(column < UOP_COLUMNS);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(form, rows[middle].form);

		if (order == 0)
			return &classes[rows[middle].class[column]];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const char *
uop_form_at(size_t index)
{
	return index < TZ_ARRAY_LEN(rows) ? rows[index].form : NULL;
}
