#include "harness/host/raw.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "emu/base/base.h"

/* Those that end the process without stop.h. */
static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGQUIT };

/* For the signal handlers. */
static struct {
	volatile sig_atomic_t on;
	struct termios before;
} raw;

void
raw_leave(void)
{
	if (raw.on)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw.before);
	raw.on = 0;
}

/* SA_RESETHAND: the second one has its usual effect. */
static void
on_fatal(int number)
{
	raw_leave();
	(void)raise(number);
}

bool
raw_enter(void)
{
	const struct sigaction action = { .sa_handler = on_fatal,
		.sa_flags = (int)SA_RESETHAND };
	struct termios now;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &now) != 0)
		return false;
	raw.before = now;
	cfmakeraw(&now);
	if (atexit(raw_leave) != 0)
		return false;
	for (size_t i = 0; i < TZ_ARRAY_LEN(fatal); i++)
		(void)sigaction(fatal[i], &action, NULL);
	raw.on = 1;
	return tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
}

void
raw_size(unsigned *lines, unsigned *columns)
{
	struct winsize size = { 0 };

	*lines = *columns = 0;
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	*lines = size.ws_row;
	*columns = size.ws_col;
}
