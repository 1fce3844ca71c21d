#define _GNU_SOURCE
#include "harness/boot/image/kernel_file.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VMLINUX_BYTES_MAX ((size_t)1 << 30)
#define PACKAGE_BYTES_MAX ((size_t)2 << 30)
#define SECTOR_BYTES      512

/* Offsets in a bzImage: the real-mode kernel header. */
enum {
	SETUP_SECTS = 0x1f1,
	HEADER_MAGIC = 0x202,
	VERSION = 0x206,
	KERNEL_VERSION = 0x20e,
	XLOADFLAGS = 0x236,
	PAYLOAD_OFFSET = 0x248,
	PAYLOAD_LENGTH = 0x24c,
	HEADER_END = 0x268,
};

#define MAGIC         "HdrS"
#define PROTOCOL_64   0x020c /* the first with xloadflags */
#define XLF_KERNEL_64 1
#define AR_MAGIC      "!<arch>\n"
#define RPM_MAGIC     "\xed\xab\xee\xdb"
#define GZIP_MAGIC    "\x1f\x8b"
#define LENGTH_BYTES  4 /* of the payload, after it; gzip has its own */

/* Where distributions have the kernel in a package. */
static const char *const kernel_paths[] = {
	"boot/vmlinuz-*",
	"lib/modules/*/vmlinuz",
	"usr/lib/modules/*/vmlinuz",
	"usr/lib/debug/boot/vmlinux-*",
	"usr/lib/debug/lib/modules/*/vmlinux",
	NULL,
};

static uint32_t
get(const struct bytes *file, size_t offset, size_t count)
{
	uint32_t value = 0;

	memcpy(&value, file->at + offset, count);
	return value;
}

static bool
has_magic(const struct bytes *file, size_t offset, const char *magic)
{
	size_t count = strlen(magic);

	return file->count >= offset + count &&
	    memcmp(file->at + offset, magic, count) == 0;
}

static bool
is_elf(const struct bytes *file)
{
	return file->count >= sizeof(Elf64_Ehdr) && has_magic(file, 0, ELFMAG);
}

static bool
is_bzimage(const struct bytes *file)
{
	return file->count >= HEADER_END &&
	    has_magic(file, HEADER_MAGIC, MAGIC);
}

static bool
is_deb(const struct bytes *file)
{
	return has_magic(file, 0, AR_MAGIC);
}

static bool
is_rpm(const struct bytes *file)
{
	return has_magic(file, 0, RPM_MAGIC);
}

static int
refuse(const char *path, struct tz_error *err)
{
	return tz_error(err, TZ_EFORMAT,
	    "%s: not a kernel: neither a bzImage, nor a vmlinux, nor a .deb or "
	    ".rpm package with one",
	    path);
}

int
kernel_file_check(
    const char *path, const struct bytes *file, struct tz_error *err)
{
	return is_elf(file) || is_bzimage(file) || is_deb(file) || is_rpm(file)
	    ? 0
	    : refuse(path, err);
}

static int
check_elf(const char *path, const struct bytes *file, struct tz_error *err)
{
	Elf64_Ehdr header;

	memcpy(&header, file->at, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_machine != EM_X86_64)
		return tz_error(err, TZ_EFORMAT,
		    "%s: a kernel of another machine (ELF class %d, machine "
		    "%d); the machine is a 64-bit x86",
		    path, header.e_ident[EI_CLASS], header.e_machine);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return tz_error(err, TZ_EFORMAT,
		    "%s: not a kernel: an ELF file of type %d", path,
		    header.e_type);
	return 0;
}

static void
copy_version(struct kernel_file *image)
{
	const struct bytes *file = &image->setup;
	size_t at = get(file, KERNEL_VERSION, 2) + (size_t)0x200;
	size_t i;

	for (i = 0; i < sizeof(image->version) - 1 && at + i < file->count;
	     i++) {
		uint8_t c = file->at[at + i];

		if (c < ' ' || c > '~')
			break;
		image->version[i] = (char)c;
	}
	image->version[i] = '\0';
}

/* image->setup is a bzImage: makes image->vmlinux of its payload. */
static int
unpack_bzimage(
    const char *path, struct kernel_file *image, struct tz_error *err)
{
	const struct bytes *file = &image->setup;
	size_t sectors = file->at[SETUP_SECTS] != 0 ? file->at[SETUP_SECTS] : 4;
	size_t begin, count;
	char name[300];
	int error;

	if (get(file, VERSION, 2) < PROTOCOL_64 ||
	    !(get(file, XLOADFLAGS, 2) & XLF_KERNEL_64))
		return tz_error(err, TZ_EFORMAT,
		    "%s: a 32-bit kernel, or one before 3.8: it has no 64-bit "
		    "entry (boot protocol %u.%02u)",
		    path, get(file, VERSION + 1, 1), get(file, VERSION, 1));
	copy_version(image);
	begin = (sectors + 1) * SECTOR_BYTES + get(file, PAYLOAD_OFFSET, 4);
	count = get(file, PAYLOAD_LENGTH, 4);
	if (begin > file->count || count > file->count - begin ||
	    count <= LENGTH_BYTES)
		return tz_error(err, TZ_EFORMAT,
		    "%s: truncated: the kernel's payload of %zu bytes at %zu "
		    "ends after the file",
		    path, count, begin);
	if (memcmp(file->at + begin, GZIP_MAGIC, 2) != 0)
		count -= LENGTH_BYTES;
	snprintf(name, sizeof(name), "%s: the kernel's payload", path);
	error = unpack_stream(name, (struct bytes){ file->at + begin, count },
	    VMLINUX_BYTES_MAX, &image->vmlinux, err);
	if (error != 0)
		return error;
	if (!is_elf(&image->vmlinux))
		return tz_error(err, TZ_EFORMAT, "%s: not an ELF file", name);
	return check_elf(path, &image->vmlinux, err);
}

/* FILE belongs to IMAGE from here on. */
static int
take_kernel(const char *path, struct bytes file, struct kernel_file *image,
    struct tz_error *err)
{
	if (is_elf(&file)) {
		image->vmlinux = file;
		return check_elf(path, &file, err);
	}
	image->setup = file;
	return is_bzimage(&file) ? unpack_bzimage(path, image, err)
				 : refuse(path, err);
}

/* FILES is an archive with the files of the package PATH. */
static int
take_packed(const char *path, struct bytes files, struct kernel_file *image,
    struct tz_error *err)
{
	struct bytes kernel;
	int error = unpack_member(
	    path, files, kernel_paths, VMLINUX_BYTES_MAX, &kernel, err);

	if (error == -TZ_ENOENT)
		return tz_error(err, TZ_EFORMAT,
		    "%s: a package without a kernel (boot/vmlinuz-* or "
		    "lib/modules/*/vmlinuz); from Linux 6.19 on, Debian has it "
		    "in linux-binary-*",
		    path);
	return error == 0 ? take_kernel(path, kernel, image, err) : error;
}

/* A Debian package: an ar archive whose member data.tar* has the files. */
static int
take_deb(const char *path, struct bytes file, struct kernel_file *image,
    struct tz_error *err)
{
	static const char *const data_paths[] = { "data.tar*", NULL };
	struct bytes data;
	int error = unpack_member(
	    path, file, data_paths, PACKAGE_BYTES_MAX, &data, err);

	if (error != 0)
		return error;
	error = take_packed(path, data, image, err);
	free(data.at);
	return error;
}

int
kernel_file_unpack(const char *path, struct bytes file,
    struct kernel_file *image, struct tz_error *err)
{
	struct bytes copy = { NULL, file.count };

	*image = (struct kernel_file){ .version = "" };
	if (is_deb(&file))
		return take_deb(path, file, image, err);
	if (is_rpm(&file))
		return take_packed(path, file, image, err);
	copy.at = malloc(file.count + 1);
	if (copy.at == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	memcpy(copy.at, file.at, file.count);
	return take_kernel(path, copy, image, err);
}

void
kernel_file_free(struct kernel_file *image)
{
	free(image->vmlinux.at);
	free(image->setup.at);
	*image = (struct kernel_file){ .version = "" };
}
