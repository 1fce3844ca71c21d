/* Drivers: their manifests and their sources. */
#define _GNU_SOURCE
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

#define YAML   "drivers/grab/driver.yaml"
#define SOURCE "drivers/grab/grab.c"

/* A command that reads, and perhaps builds and runs, the driver. */
static void
use_driver(struct hostile *hostile, bool endless)
{
	static const char *const commands[] = { "explore", "run", "ci",
		"faults", "replay" };
	const char *command = endless
	    ? "run"
	    : commands[hostile_draw(hostile, TZ_ARRAY_LEN(commands))];
	bool is_run = strcmp(command, "run") == 0;

	hostile_arg(hostile, "%s", command);
	if (strcmp(command, "replay") == 0) {
		hostile_arg(hostile, "tz1:grab-give:skylake:0::0000");
	} else {
		hostile_arg(hostile, is_run ? "grab" : "grab/grab-give");
		hostile_arg(hostile, "-o");
		hostile_arg(hostile, "out");
	}
	hostile_arg(hostile, "--drivers");
	hostile_arg(hostile, "drivers");
	hostile_arg(hostile, "--cc-seconds=2");
	if (is_run) {
		hostile_arg(hostile, "--limit=3M");
	} else if (strcmp(command, "replay") != 0) {
		hostile_arg(hostile, "--budget=3");
		if (strcmp(command, "faults") != 0) {
			hostile_arg(hostile, "--no-sequences");
			hostile_arg(hostile, "--no-pages");
		}
		hostile_arg(hostile, "-j1");
		hostile_arg(hostile, "--progress=none");
	}
	if (strcmp(command, "faults") == 0)
		hostile_arg(hostile, "--kinds=nmi");
	hostile->diagnoses = true;
}

/* The line that begins with KEY becomes LINE; LINE comes first if there is none. */
static void
set_line(struct hostile *hostile, const char *key, const char *line)
{
	size_t count;
	char *text = hostile_read(hostile, YAML, &count), *at, *rest, *more;

	at = strstr(text, key);
	rest = at != NULL ? strchrnul(at, '\n') : text;
	if (at == NULL)
		at = text;
	TZ_ASSERT(asprintf(&more, "%.*s%s%s%s", (int)(at - text), text, line,
		      at == rest ? "\n" : "", rest) >= 0);
	hostile_text(hostile, YAML, more);
	free(more);
	free(text);
}

static char *
repeat(const char *text, size_t times)
{
	size_t length = strlen(text);
	char *all = malloc(length * times + 1);

	TZ_ASSERT(all != NULL);
	for (size_t i = 0; i < times; i++)
		memcpy(all + i * length, text, length);
	all[length * times] = '\0';
	return all;
}

static const struct {
	const char *key, *line;
} lines[] = {
	{ "name: grab\n", "name: ../../x" },
	{ "name: grab\n", "name: /dev/x" },
	{ "name: grab\n", "name: \"\"" },
	{ "name: grab\n", "name: \"gr\\0ab\"" },
	{ "name: grab\n", "name: other" },
	{ "name: grab\n", "name: -o" },
	{ "name: grab\n", "name: {a: b}" },
	{ "os:", "os: ../../../etc" },
	{ "os:", "os: freebsd" },
	{ "os:", "os: none" },
	{ "owner:", "owner: none" },
	{ "owner:", "owner: \"a b=c\"" },
	{ "actor:", "actor: w_mix" },
	{ "actor:", "actor: ../init" },
	{ "sources:", "sources: []" },
	{ "sources:", "sources: [/etc/passwd]" },
	{ "sources:", "sources: [../../../outside/secret.c]" },
	{ "sources:", "sources: [\"-o\", grab.c]" },
	{ "sources:", "sources: [\"@list.c\"]" },
	{ "sources:", "sources: [grab.c, grab.c]" },
	{ "sources:", "sources: [none.c]" },
	{ "settings:", "settings: nosuch=1" },
	{ "settings:", "settings: \"manual=grab init=none\"" },
	{ "settings:", "settings: \"heap_seed=99999999999999999999\"" },
	{ "prefixes:", "prefixes: [load+none]" },
	{ "prefixes:", "lives: [load+none]" },
	{ "prefixes:", "without: [none]" },
	{ "prefixes:", "defaults: [{key: a b, value: c}]" },
	{ "prefixes:", "instances: [\"../x\"]" },
	{ "prefixes:", "msrs: [{msr: 0x570, mask: 1, fields: [none]}]" },
	{ "     result: fd", "     result: other, needs: [loaded]}" },
	{ "    cpus: 2", "    cpus: 99" },
	{ "    cpus: 2", "    cpus: -1" },
	{ "    steps:", "    steps: load+load+load+" },
	{ "    steps:", "    steps: 9load" },
	{ "name: grab\n", "name: &a [*a, *a]" },
	{ "name: grab\n", "%YAML 9.9\n---\nname: grab" },
};

void
hostile_manifest(struct hostile *hostile)
{
	uint64_t which = hostile_draw(hostile, 10);
	char *text;

	hostile_copy(hostile, "drivers");
	if (which < 6) {
		size_t i = hostile_draw(hostile, TZ_ARRAY_LEN(lines));

		set_line(hostile, lines[i].key, lines[i].line);
		hostile_say(hostile,
		    "driver.yaml|grab|secret.c|@list.c|-o|none.c",
		    "driver.yaml: %.40s", lines[i].line);
	} else if (which == 6) {
		hostile_say(hostile, "driver.yaml|grab", "driver.yaml: %s",
		    hostile_replace(hostile, YAML));
	} else if (which == 7) {
		static const char *const units[] = { "[", "{a: ", "- ",
			"a: b\n", "- {name: a, call: open}\n" };
		const char *unit =
		    units[hostile_draw(hostile, TZ_ARRAY_LEN(units))];
		uint64_t times = 1 + hostile_draw(hostile, 40000);

		text = repeat(unit, times);
		hostile_text(hostile, YAML, text);
		free(text);
		hostile_say(hostile, "driver.yaml",
		    "driver.yaml: %.8s %u times", unit, (unsigned)times);
	} else {
		hostile_say(hostile, "driver.yaml|grab", "driver.yaml: %s",
		    hostile_damage(hostile, YAML));
	}
	use_driver(hostile, false);
}

#define LOAD(body)                                \
 "#include \"harness/guest/kern.h\"\n"            \
 "#include \"harness/kpi/native/module.h\"\n"     \
 "static int load(void) { " body " return 0; }\n" \
 "static void unload(void) { }\n"                 \
 "NATIVE_MODULE(grab, load, unload);\n"
#define ASM(text) LOAD("__asm__ volatile(\"" text "\" ::: \"memory\");")

struct source {
	const char *what, *text;
};

static const struct source sources[] = {
	{ "#include /dev/zero", "#include \"/dev/zero\"\n" },
	{ "#include of itself, twice",
	    "#if __INCLUDE_LEVEL__ < 40\n#include \"grab.c\"\n"
	    "#include \"grab.c\"\n#endif\n" },
	{ ".incbin of /dev/zero", "__asm__(\".incbin \\\"/dev/zero\\\"\");\n" },
	{ ".rept without end",
	    "__asm__(\".rept 2000000000\\n.byte 1\\n.endr\");\n" },
	{ "an object of 1 GiB", "char large[1u << 30] = { 1 };\n" },
	{ "100 MiB of bss", LOAD("") "char large[100 << 20];\n" },
	{ "an alignment of 2 MiB",
	    LOAD("") "char odd __attribute__((aligned(1 << 21)));\n" },
	{ "thread-local data", LOAD("") "__thread int odd;\n" },
	{ "a common symbol", LOAD("") "__asm__(\".comm odd, 8\");\n" },
	{ "an unresolved symbol", LOAD("extern void odd(void); odd();") },
	{ "a symbol of the kernel's",
	    LOAD("") "void kpanic(void); void kpanic(void) { }\n" },
	{ "a section that is executable and writable",
	    LOAD("") "__asm__(\".section odd, \\\"awx\\\"; .byte 0xcc\");\n" },
	{ "nothing at all", "" },
	{ "no module", "int odd(void); int odd(void) { return 1; }\n" },
	{ "two modules", LOAD("") "NATIVE_MODULE(other, load, unload);\n" },
	{ "HLT with interrupts off", ASM("cli; hlt") },
	{ "a jump to 0", LOAD("((void (*)(void))0)();") },
	{ "a non-canonical jump",
	    ASM("mov $1, %%rax; shl $60, %%rax; jmp *%%rax") },
	{ "a stack of nothing", ASM("xor %%esp, %%esp; push %%rax") },
	{ "a triple fault", ASM("push $0; push $0; lidt (%%rsp); ud2") },
	{ "CR3 = 0", ASM("xor %%eax, %%eax; mov %%rax, %%cr3") },
	{ "CR0 without paging", ASM("xor %%eax, %%eax; mov %%rax, %%cr0") },
	{ "RDRAND", ASM("rdrand %%rax") },
	{ "an unknown MSR", ASM("mov $0x1234, %%ecx; rdmsr") },
	{ "port I/O", ASM("mov $0x60, %%dx; in %%dx, %%al") },
	{ "RSM", ASM("rsm") },
	{ "an INT to an odd vector", ASM("int $0xff") },
};

/* A schedule of one of these takes long: they are for topaz run. */
static const struct source endless[] = {
	{ "a loop without end", LOAD("for (;;) { }") },
	{ "a loop with interrupts off", ASM("cli; 1: jmp 1b") },
	{ "stores all over the kernel",
	    LOAD("for (char *p = (char *)load;; p += 4096) *p = 0;") },
	{ "a wild store through the direct map",
	    LOAD("for (unsigned long a = 0;; a += 8)"
		 " *(volatile long *)(0xffff800000000000ul + a) = 0;") },
	{ "a recursion without end",
	    "static int deep(int n) { volatile char room[512]; room[0] = 1;\n"
	    "return n == 0 ? 0 : deep(n + 1) + room[0]; }\n" LOAD("deep(1);") },
};

void
hostile_source(struct hostile *hostile)
{
	size_t count = TZ_ARRAY_LEN(sources);
	size_t i = hostile_draw(hostile, count + TZ_ARRAY_LEN(endless) + 4);
	const struct source *source = i < count ? &sources[i]
	    : i < count + TZ_ARRAY_LEN(endless) ? &endless[i - count]
						: NULL;

	hostile_copy(hostile, "drivers");
	if (source != NULL) {
		hostile_text(hostile, SOURCE, source->text);
		hostile_say(hostile, "grab", "source: %s", source->what);
	} else {
		hostile_say(hostile, "grab", "source: %s",
		    hostile_draw(hostile, 4) == 0
			? hostile_replace(hostile, SOURCE)
			: hostile_damage(hostile, SOURCE));
	}
	use_driver(hostile, source != NULL && i >= count);
}
