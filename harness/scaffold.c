#define _GNU_SOURCE
#include "harness/scaffold.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/guest_abi.h"

#define SAMPLE_WORD         "sample"
#define NAME_CHARACTERS_MAX (sizeof(((struct abi_module *)0)->name) - 1)

/* The three forms of the name; NUL-terminated. */
struct forms {
	const char *name;
	char identifier[NAME_CHARACTERS_MAX + 1];
	char scenario[NAME_CHARACTERS_MAX + 1];
};

static int
check_name(const char *name, struct tz_error *err)
{
	size_t bytes = strspn(name,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789-_");

	if (!isalpha((unsigned char)name[0]) || name[bytes] != '\0' ||
	    bytes > NAME_CHARACTERS_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "'%.100s': a driver's name begins with a letter and has "
		    "letters, digits, '-' and '_', %zu at most",
		    name, NAME_CHARACTERS_MAX);
	return 0;
}

static struct forms
make_forms(const char *name)
{
	struct forms forms = { .name = name };

	for (size_t i = 0; name[i] != '\0'; i++) {
		unsigned char c = (unsigned char)name[i];

		forms.identifier[i] = isalnum(c) ? (char)c : '_';
		forms.scenario[i] = isalnum(c) ? (char)tolower(c) : '-';
	}
	return forms;
}

static bool
is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The replacement of the word at AT in TEXT; NULL: the word at AT is not "sample". */
static const char *
form_at(const struct forms *forms, const char *text, const char *at)
{
	char after = at[strlen(SAMPLE_WORD)];

	if (strncmp(at, SAMPLE_WORD, strlen(SAMPLE_WORD)) != 0 ||
	    (at != text && is_of_word(at[-1])) || isalnum((unsigned char)after))
		return NULL;
	return after == '_' ? forms->identifier
	    : after == '-'  ? forms->scenario
			    : forms->name;
}

/* TEXT with all words replaced; the caller frees it.  NULL: no memory. */
static char *
rename_in(const struct forms *forms, const char *text)
{
	const char *at = text, *form;
	char *renamed = NULL;
	size_t bytes;
	FILE *file = open_memstream(&renamed, &bytes);

	if (file == NULL)
		return NULL;
	while (*at != '\0') {
		form = form_at(forms, text, at);
		if (form == NULL) {
			putc(*at++, file);
			continue;
		}
		fputs(form, file);
		at += strlen(SAMPLE_WORD);
	}
	if (fclose(file) != 0) {
		free(renamed);
		return NULL;
	}
	return renamed;
}

/* The text of a file; the caller frees it.  NULL: errno says why. */
static char *
read_text(const char *path, mode_t *mode)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	struct stat st;

	if (file == NULL)
		return NULL;
	if (fstat(fileno(file), &st) == 0 &&
	    (text = calloc(1, (size_t)st.st_size + 1)) != NULL &&
	    fread(text, 1, (size_t)st.st_size, file) != (size_t)st.st_size) {
		free(text);
		text = NULL;
		errno = EIO;
	}
	*mode = st.st_mode & 0777;
	fclose(file);
	return text;
}

static int
write_text(
    const char *path, const char *text, mode_t mode, struct tz_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool good = file != NULL && fputs(text, file) >= 0;

	if (file != NULL && fclose(file) != 0)
		good = false;
	return good ? 0
		    : tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
}

/* Copies the file FROM to TO, with the words in its text replaced. */
static int
copy_renamed(const struct forms *forms, const char *from, const char *to,
    struct tz_error *err)
{
	mode_t mode = 0;
	char *text = read_text(from, &mode), *renamed;
	int error;

	if (text == NULL)
		return tz_error(err, TZ_EIO, "%s: %s", from, strerror(errno));
	renamed = rename_in(forms, text);
	free(text);
	if (renamed == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = write_text(to, renamed, mode | S_IWUSR, err);
	free(renamed);
	return error;
}

static int
copy_entry(const struct forms *forms, const char *sample, const char *folder,
    const char *entry, struct tz_error *err)
{
	char *from = NULL, *to = NULL, *name = rename_in(forms, entry);
	int error;

	if (name == NULL || asprintf(&from, "%s/%s", sample, entry) < 0 ||
	    asprintf(&to, "%s/%s", folder, name) < 0)
		error = tz_error(err, TZ_EIO, "out of memory");
	else
		error = copy_renamed(forms, from, to, err);
	free(from);
	free(to);
	free(name);
	return error;
}

static int
is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Removes the folder, which this process has created, with its files. */
static void
remove_folder(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) >= 0) {
			unlink(path);
			free(path);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	rmdir(folder);
}

static int
copy_all(const struct forms *forms, const char *sample, const char *folder,
    struct tz_error *err)
{
	struct dirent **entries;
	int count = scandir(sample, &entries, is_visible, alphasort);
	int error = 0;

	if (count < 0)
		return tz_error(err, TZ_EIO, "%s: %s", sample, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (error == 0)
			error = copy_entry(
			    forms, sample, folder, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	return error;
}

int
scaffold_driver(
    const char *sample, const char *dir, const char *name, struct tz_error *err)
{
	struct forms forms;
	char *folder;
	int error = check_name(name, err);

	if (error != 0)
		return error;
	forms = make_forms(name);
	if (asprintf(&folder, "%s/%s", dir, name) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	if (mkdir(folder, 0777) != 0) {
		error = tz_error(
		    err, TZ_EUSAGE, "%s: %s", folder, strerror(errno));
	} else {
		error = copy_all(&forms, sample, folder, err);
		if (error != 0)
			remove_folder(folder);
	}
	free(folder);
	return error;
}
