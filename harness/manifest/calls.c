/* The names of an actor's calls: those of sys.h and script.h. */
#include <string.h>

#include "harness/guest/sys.h"
#include "harness/manifest/model.h"

static const struct {
	const char *name;
	uint32_t number;
} calls[] = {
	{ "exit", SYS_EXIT },
	{ "getpid", SYS_GETPID },
	{ "spawn", SYS_SPAWN },
	{ "wait", SYS_WAIT },
	{ "yield", SYS_YIELD },
	{ "sleep", SYS_SLEEP },
	{ "set_affinity", SYS_SET_AFFINITY },
	{ "open", SYS_OPEN },
	{ "close", SYS_CLOSE },
	{ "ioctl", SYS_IOCTL },
	{ "mmap", SYS_MMAP },
	{ "map_anon", SYS_MAP_ANON },
	{ "map_program", SYS_MAP_PROGRAM },
	{ "munmap", SYS_MUNMAP },
	{ "sem_wait", SYS_SEM_WAIT },
	{ "sem_post", SYS_SEM_POST },
	{ "kill", SYS_KILL },
	{ "drain", SYS_DRAIN },
	{ "buffer", SYS_BUFFER },
	{ "lost", SYS_LOST },
	{ "module_load", SYS_MODULE_LOAD },
	{ "module_unload", SYS_MODULE_UNLOAD },
	{ "cpu_offline", SYS_CPU_OFFLINE },
	{ "module_call", SYS_MODULE_CALL },
	{ "work", SCRIPT_WORK },
	{ "read_word", SCRIPT_READ_WORD },
	{ "hwt_map", SCRIPT_HWT_MAP },
	{ "hwt_fetch", SCRIPT_HWT_FETCH },
	{ "insntrace_map", SCRIPT_INSNTRACE_MAP },
	{ "insntrace_read", SCRIPT_INSNTRACE_READ },
	{ "insntrace_release", SCRIPT_INSNTRACE_RELEASE },
	{ "insntrace_assign", SCRIPT_INSNTRACE_ASSIGN },
	{ "insntrace_free", SCRIPT_INSNTRACE_FREE },
	{ "hwt_alloc", SCRIPT_HWT_ALLOC },
	{ "hwt_unmap", SCRIPT_HWT_UNMAP },
	{ "target_spawn", SCRIPT_TARGET_SPAWN },
	{ "target_work", SCRIPT_TARGET_WORK },
	{ "target_go", SCRIPT_TARGET_GO },
	{ "target_thread", SCRIPT_TARGET_THREAD },
	{ "target_kill", SCRIPT_TARGET_KILL },
	{ "trace_setup", SCRIPT_TRACE_SETUP },
	{ "trace_read", SCRIPT_TRACE_READ },
};

uint32_t
call_number(const char *name)
{
	size_t i;

	for (i = 0; i < TZ_ARRAY_LEN(calls); i++) {
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].number;
	}
	return 0;
}
