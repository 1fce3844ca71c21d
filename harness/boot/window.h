/*
 * The host window: RAM that the guest's kernel does not use, through which files go in
 * and out.  init.sh in the guest reads and writes it through /dev/mem; the host looks at
 * it between two runs of the machine.  No device and no driver of topaz is in the guest.
 *
 * The first page has a request of the guest, "NUMBER WORD...\n", and from its middle the
 * answer of the host, "NUMBER VALUE\n"; NUMBER counts the requests from 1.  The other
 * pages have the piece of a file that the request is about.
 *
 *   next                    the next piece of the host's archive (cpio); VALUE: its bytes;
 *                           0: that was all
 *   file BYTES CRC32 PATH   a file follows
 *   piece                   a piece of it: as much as the window has room for, or the rest
 *   text BYTES              output of the script
 *   absent PATH             the guest has no such file
 *   exit STATUS             of the script; the guest powers off
 */
#ifndef TOPAZ_HARNESS_BOOT_WINDOW_H
#define TOPAZ_HARNESS_BOOT_WINDOW_H

#include "harness/boot/image/unpack.h"

#define WINDOW_BYTES     (UINT64_C(16) << 20)
#define WINDOW_TEXT_MAX  1024 /* bytes of a request */
#define WINDOW_FILES_MAX 64

/* A file that the guest has sent. */
struct window_file {
	char *path; /* in the guest */
	struct bytes content;
	uint32_t crc32;
	size_t expected; /* bytes */
	bool absent;     /* the guest does not have it */
};

/* Gets the output of the script. */
typedef void (*window_text)(void *arg, const char *text, size_t count);

struct window {
	window_text text;
	void *text_arg;
	uint8_t *ram;         /* the window's first byte */
	struct bytes archive; /* for the guest; not owned */
	size_t given;         /* bytes of it */
	uint64_t number;      /* of the last request */
	struct window_file file[WINDOW_FILES_MAX];
	size_t file_count;
	bool exited;
	int status; /* of the script */
};

enum window_event {
	WINDOW_IDLE,  /* no new request */
	WINDOW_READY, /* the guest has asked for the first piece: it is booted */
	WINDOW_DONE,  /* a request was answered */
};

/*
 * Looks for a request and answers it, but the first one only if .archive is set: until
 * then the guest waits.  -TZ_EFORMAT: a request that is none of the above, a file that
 * arrived with another checksum; -TZ_EUSAGE: too many files, or one that is too large;
 * -TZ_EIO: no memory.
 */
int window_poll(
    struct window *window, enum window_event *event, struct tz_error *err);

/* Frees the files after the first COUNT. */
void window_forget(struct window *window, size_t count);

/* Frees the files. */
void window_free(struct window *window);

#endif
