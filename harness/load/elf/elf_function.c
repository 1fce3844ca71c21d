#include "harness/load/elf/elf_function.h"

#include <stdlib.h>
#include <string.h>

#include "harness/load/elf/elf_file.h"

/* Where the bytes of SYMBOL begin in its section; false: it has none. */
static bool
find_bytes(const struct elf_file *file, const GElf_Sym *symbol,
    const uint8_t **bytes, struct tz_error *err, int *error)
{
	Elf_Scn *section = elf_getscn(file->elf, symbol->st_shndx);
	GElf_Shdr header;
	Elf_Data *data;
	uint64_t at;

	if (symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_shndx >= SHN_LORESERVE || symbol->st_size == 0)
		return false;
	if (section == NULL || gelf_getshdr(section, &header) == NULL) {
		*error = elf_file_corrupt(file, "section of a function", err);
		return false;
	}
	if (header.sh_type == SHT_NOBITS || !(header.sh_flags & SHF_EXECINSTR))
		return false;
	data = elf_rawdata(section, NULL);
	at = file->header.e_type == ET_REL ? symbol->st_value
					   : symbol->st_value - header.sh_addr;
	if (data == NULL || data->d_buf == NULL || at > data->d_size ||
	    symbol->st_size > data->d_size - at) {
		*error = elf_file_corrupt(file, "function", err);
		return false;
	}
	*bytes = (const uint8_t *)data->d_buf + at;
	return true;
}

static int
add(struct elf_function **functions, size_t *count, const char *name,
    const GElf_Sym *symbol, const uint8_t *bytes, struct tz_error *err)
{
	struct elf_function function = { .va = symbol->st_value,
		.count = symbol->st_size };
	struct elf_function *more = realloc(
	    *functions, (*count + 1) * sizeof(**functions));

	if (more == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	*functions = more;
	function.name = strdup(name);
	function.bytes = malloc(function.count);
	if (function.name == NULL || function.bytes == NULL) {
		free(function.name);
		free(function.bytes);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	memcpy(function.bytes, bytes, function.count);
	more[(*count)++] = function;
	return 0;
}

static int
read_symbols(const struct elf_file *file, const char *name,
    struct elf_function **functions, size_t *count, struct tz_error *err)
{
	size_t symbols, strings;
	Elf_Data *data;
	int error = elf_file_symbols(file, &data, &symbols, &strings, err);

	for (size_t i = 0; error == 0 && i < symbols; i++) {
		const uint8_t *bytes;
		const char *text;
		GElf_Sym symbol;

		if (gelf_getsym(data, (int)i, &symbol) == NULL)
			return elf_file_corrupt(file, "symbol", err);
		text = elf_strptr(file->elf, strings, symbol.st_name);
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || text == NULL ||
		    (name != NULL && strcmp(text, name) != 0))
			continue;
		if (find_bytes(file, &symbol, &bytes, err, &error))
			error = add(
			    functions, count, text, &symbol, bytes, err);
	}
	if (error == 0 && *count == 0)
		error = name == NULL
		    ? tz_error(err, TZ_ENOENT, "%s: no function", file->path)
		    : tz_error(err, TZ_ENOENT, "%s: no function %s", file->path,
			  name);
	return error;
}

int
elf_functions_read(const char *path, const char *name,
    struct elf_function **functions, size_t *count, struct tz_error *err)
{
	struct elf_file file;
	int error = elf_file_open(path, ET_NONE, &file, err);

	*functions = NULL;
	*count = 0;
	if (error == 0)
		error = read_symbols(&file, name, functions, count, err);
	elf_file_close(&file);
	return error;
}

void
elf_functions_free(struct elf_function *functions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(functions[i].name);
		free(functions[i].bytes);
	}
	free(functions);
}
