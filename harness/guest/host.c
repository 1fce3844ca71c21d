/*
 * The channel to the host (emu/guest_abi.h): console, calls, panic, and the
 * boot information.  A call block belongs to its CPU and is used with
 * interrupts off.  NMI context has a block of its own, so an NMI between the
 * filling of a block and the OUT does not overwrite it.
 */
#include "harness/guest/internal.h"

const struct abi_boot *boot_info;

static uint32_t console_busy;

static void
out8(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static void
out32(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

void
console_write(const char *s, size_t bytes)
{
	bool nmi = cpu_in_nmi();
	bool enabled = intr_enabled();

	intr_disable();
	while (!nmi &&
	    __atomic_exchange_n(&console_busy, 1, __ATOMIC_ACQUIRE) != 0)
		cpu_pause();
	for (size_t i = 0; i < bytes; i++)
		out8(ABI_PORT_CONSOLE, (uint8_t)s[i]);
	if (!nmi)
		__atomic_store_n(&console_busy, 0, __ATOMIC_RELEASE);
	if (enabled)
		intr_enable();
}

/* Clears the block after the call, so that equal states have equal memory. */
static int32_t
host_call(enum abi_op op, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	bool enabled = intr_enabled();
	struct cpu *cpu;
	struct abi_call *call;
	int32_t result;

	intr_disable();
	cpu = cpu_self();
	call = cpu->nmi_depth != 0 ? &cpu->nmi_call : &cpu->call;
	*call = (struct abi_call){ .op = (uint32_t)op, .arg = { a, b, c, d } };
	/* The kernel image lies at ABI_KERNBASE + its physical address. */
	out32(ABI_PORT_CALL,
	    (uint32_t)((uint64_t)(uintptr_t)call - ABI_KERNBASE));
	result = call->result;
	*call = (struct abi_call){ 0 };
	if (enabled)
		intr_enable();
	return result;
}

_Noreturn void
host_exit(int code)
{
	host_call(ABI_EXIT, (uint64_t)(int64_t)code, 0, 0, 0);
	for (;;)
		cpu_pause();
}

void
host_alloc(const void *va, size_t bytes, const void *caller)
{
	host_call(ABI_ALLOC, (uintptr_t)va, bytes, (uintptr_t)caller, 0);
}

void
host_free(const void *va, const void *caller)
{
	host_call(ABI_FREE, (uintptr_t)va, (uintptr_t)caller, 0, 0);
}

/* True if all of [VA, VA + BYTES) is a program's. */
static bool
is_user(uint64_t va, uint64_t bytes)
{
	return va < SYS_USER_TOP && bytes <= SYS_USER_TOP - va;
}

/* Makes one call for each page of [VA, VA + BYTES). */
static int
host_pages(enum abi_op op, uint64_t stream, uint64_t va, uint64_t bytes)
{
	while (bytes != 0) {
		uint64_t room = PAGE_BYTES - va % PAGE_BYTES;
		uint64_t count = bytes < room ? bytes : room;
		uint64_t pa = virt_to_phys((const void *)(uintptr_t)va);

		if (pa == 0)
			return KE_FAULT;
		host_call(op, stream, pa, count, 0);
		va += count;
		bytes -= count;
	}
	return 0;
}

int
host_drain(uint64_t stream, uint64_t va, uint64_t bytes)
{
	return is_user(va, bytes) ? host_pages(ABI_DRAIN, stream, va, bytes)
				  : KE_FAULT;
}

int
host_buffer(uint64_t stream, uint64_t va, uint64_t bytes)
{
	return is_user(va, bytes) ? host_pages(ABI_BUFFER, stream, va, bytes)
				  : KE_FAULT;
}

int
host_log_read(uint64_t log, uint64_t va, uint64_t bytes)
{
	return is_user(va, bytes) ? host_pages(ABI_LOG_READ, log, va, bytes)
				  : KE_FAULT;
}

void
host_counter(uint64_t counter, uint64_t what, uint64_t value)
{
	host_call(ABI_COUNTER, counter, what, value, 0);
}

void
host_records_read(uint64_t pid, const void *records, uint64_t bytes)
{
	if (bytes == 0)
		host_call(ABI_RECORDS_READ, pid, 0, 0, 0);
	else if (host_pages(ABI_RECORDS_READ, pid, (uintptr_t)records, bytes) !=
	    0)
		kpanic("branch records at %p are not mapped", records);
}

void
host_space(uint64_t pid, uint64_t cr3)
{
	host_call(ABI_SPACE, pid, cr3, 0, 0);
}

void
host_records(uint64_t pid, const void *area, uint64_t room)
{
	host_call(ABI_RECORDS, pid, (uintptr_t)area, room, 0);
}

void
host_recording(uint64_t pid, bool on, bool switches)
{
	host_call(ABI_RECORDING, pid, on, switches, 0);
}

void
host_atomic_sleep(const void *caller)
{
	host_call(ABI_ATOMIC_SLEEP, (uintptr_t)caller, 0, 0, 0);
}

void
host_lost(uint64_t stream, uint64_t bytes)
{
	host_call(ABI_LOST, stream, bytes, 0, 0);
}

void
host_position(uint64_t stream, uint64_t bytes)
{
	host_call(ABI_POSITION, stream, bytes, 0, 0);
}

void
host_object_page(uint64_t object, uint64_t pa, uint64_t index)
{
	host_call(ABI_OBJECT_PAGE, object, pa, index, 0);
}

void
host_threads(uint64_t running_pa, uint64_t next_pa, uint64_t number)
{
	host_call(ABI_THREAD, running_pa, next_pa, number, 0);
}

void
host_traced_thread(uint64_t stream, uint32_t thread, bool object)
{
	host_call(ABI_TRACED_THREAD, stream, thread, object, 0);
}

void
kern_traced_thread(uint64_t pa, uint32_t thread)
{
	host_traced_thread(pa / PAGE_BYTES, thread, true);
}

void
kern_traced_any(uint64_t pa)
{
	kern_traced_thread(pa, ABI_THREAD_ANY);
}

void
host_note(uint64_t code, uint64_t value)
{
	host_call(ABI_NOTE, code, value, 0, 0);
}

void
host_owner_gone(int code)
{
	host_call(ABI_OWNER_GONE, (uint64_t)(int64_t)code, 0, 0, 0);
}

static void
host_dropped(uint64_t operation, int error, uint64_t cpu)
{
	host_call(ABI_DROPPED, operation, (uint64_t)(int64_t)error, cpu, 0);
}

void
kern_dropped_configure(int error, uint64_t cpu)
{
	host_dropped(ABI_DROPPED_CONFIGURE, error, cpu);
}

void
kern_dropped_enable(int error, uint64_t cpu)
{
	host_dropped(ABI_DROPPED_ENABLE, error, cpu);
}

void
kern_dropped_record(int error)
{
	host_dropped(ABI_DROPPED_RECORD, error, 0);
}

void
host_nmi_done(unsigned claims)
{
	host_call(ABI_NMI_DONE, claims, 0, 0, 0);
}

void
host_script(uint64_t pa, uint64_t bytes)
{
	host_call(ABI_SCRIPT, pa, bytes, 0, 0);
}

void
host_call_begin(uint64_t step, uint64_t actor, uint64_t call)
{
	host_call(ABI_CALL_BEGIN, step, actor, call, 0);
}

void
host_call_end(uint64_t step, uint64_t actor, uint64_t result)
{
	host_call(ABI_CALL_END, step, actor, result, 0);
}

void
host_stack(uint64_t pa, uint64_t bytes, uint64_t kind)
{
	host_call(ABI_STACK, pa, bytes, kind, 0);
}

void
host_clear(const uint64_t *pas, uint64_t count)
{
	if (host_call(ABI_CLEAR, (uintptr_t)pas, count, 0, 0) != 0)
		kpanic("the host cannot clear %lu frames", count);
}

bool
fault_point_of(uint32_t point, const void *caller)
{
	uint64_t at = (uintptr_t)caller;

	if (is_kernel_text(at) || cpu_in_nmi())
		return false;
	return host_call(ABI_POINT, point, at, 0, 0) == 1;
}

bool
kern_fault_point(const char *function, const void *caller)
{
	return fault_point_of(point_hash(function, strlen(function)), caller);
}

/* RIP: an address in the instruction to report; for a caller, in its call. */
static _Noreturn __attribute__((format(printf, 3, 0))) void
panic_at(uint64_t rip, uint64_t rbp, const char *fmt, va_list args)
{
	char text[256];
	size_t length;

	intr_disable();
	kvsnprintf(text, sizeof(text), fmt, args);
	length = strlen(text);
	host_call(ABI_PANIC, (uintptr_t)text, length, rip, rbp);
	for (;;)
		cpu_pause();
}

_Noreturn void
kvpanic(const char *fmt, va_list args)
{
	const uint64_t *frame = __builtin_frame_address(0);

	panic_at(frame[1] - 1, frame[0], fmt, args);
}

_Noreturn void
kpanic(const char *fmt, ...)
{
	const uint64_t *frame = __builtin_frame_address(0);
	va_list args;

	va_start(args, fmt);
	panic_at(frame[1] - 1, frame[0], fmt, args);
}

_Noreturn void
kpanic_frame(const struct trap_frame *frame, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	panic_at(frame->rip, frame->rbp, fmt, args);
}

const char *
boot_cmdline(void)
{
	return phys_to_virt(boot_info->cmdline_pa);
}

static uint64_t
parse_number(const char *s)
{
	uint64_t value = 0;
	unsigned base = 10;

	if (s[0] == '0' && s[1] == 'x') {
		base = 16;
		s += 2;
	}
	for (;; s++) {
		unsigned digit;

		if (*s >= '0' && *s <= '9')
			digit = (unsigned)(*s - '0');
		else if (base == 16 && *s >= 'a' && *s <= 'f')
			digit = (unsigned)(*s - 'a') + 10;
		else
			return value;
		value = value * base + digit;
	}
}

/* The value of KEY= on the command line; NULL: KEY is absent. */
static const char *
find_word(const char *key)
{
	size_t length = strlen(key);
	const char *s = boot_cmdline();

	while (*s != '\0') {
		if (strncmp(s, key, length) == 0 && s[length] == '=')
			return s + length + 1;
		while (*s != '\0' && *s != ' ')
			s++;
		while (*s == ' ')
			s++;
	}
	return NULL;
}

uint64_t
boot_option(const char *key, uint64_t fallback)
{
	const char *word = find_word(key);

	return word != NULL ? parse_number(word) : fallback;
}

bool
boot_text(const char *key, char *to, size_t bytes)
{
	const char *word = find_word(key);
	size_t i = 0;

	for (;
	     word != NULL && i + 1 < bytes && word[i] != '\0' && word[i] != ' ';
	     i++)
		to[i] = word[i];
	to[i] = '\0';
	return word != NULL;
}

const struct abi_module *
module_at(uint64_t index)
{
	const struct abi_module *modules = phys_to_virt(boot_info->modules_pa);

	return index < boot_info->module_count ? &modules[index] : NULL;
}
