/*
 * Goal: a machine with a board starts by the 64-bit boot protocol, and its devices work
 * for the code of a guest, on one CPU and two, from a snapshot, too.
 * Method: short guests, assembled here, as a made-up kernel; what they send by the UART,
 * how the run ends, and the record of unknown accesses.
 */
#include "emu/board/kernel.h"
#include "emu/board/unknown.h"
#include "emu/machine.h"
#include "emu/profile/cpu_set.h"
#include "emu/profile/profile.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RAM_BYTES (UINT64_C(16) << 20)
#define LOAD_PA   UINT64_C(0x200000)

/* Each guest is position-independent and begins with the state of the protocol. */
#define GUEST(name, code)                                           \
 extern const uint8_t name##_begin[], name##_end[];                 \
 __asm__(".pushsection .rodata\n" #name "_begin:\n" code "\n" #name \
	 "_end:\n.popsection")
#define SEND(c)     "mov $0x3f8, %edx; mov $" #c ", %al; out %al, %dx\n"
#define POWER(p, v) "mov $" #p ", %edx; mov $" #v ", %al; out %al, %dx; hlt\n"

/* 'z' if RSI is a zero page; the data of unknown ports, of the LSR. */
GUEST(ports,
    "cmpl $0x53726448, 0x202(%rsi); jne 1f\n" SEND(
	0x7a) "1: xor %eax, %eax; in $0x80, %al\n"
	      "mov $0x3f8, %edx; out %al, %dx\n"
	      "mov $0x3fd, %edx; in %dx, %al\n"
	      "mov $0x3f8, %edx; out %al, %dx\n"
	      "mov $0x1234, %edx; in %dx, %eax\n"
	      "inc %rax; shr $32, %rax; mov $0x3f8, %edx; out %al, %dx\n"
	      "mov $0x55, %al; out %al, $0x80; out %al, $0x80\n" POWER(
		  0x604, 0x34));
GUEST(reset, POWER(0xcf9, 6));
/* Sets RTS, then echoes until 'q'. */
GUEST(echo,
    "mov $0x3fc, %edx; mov $2, %al; out %al, %dx\n"
    "1: mov $0x3fd, %edx; in %dx, %al; test $1, %al; jz 1b\n"
    "mov $0x3f8, %edx; in %dx, %al; out %al, %dx\n"
    "cmp $0x71, %al; jne 1b\n" POWER(0x604, 0x34));
/*
 * CPU 0 starts CPU 1 by the local APIC, twice, with the code BODY at 8000H, and waits for
 * its answer.  What is at 8000H is addressed as AT().
 */
#define AT(label) "0x8000 + " #label " - 20b"
/* A block of its own, so that it is clear which instruction writes. */
#define APIC(reg, value) \
 "mov $0xfee00" #reg ", %edi; movl $" #value ", (%rdi); jmp 9f; 9:\n"
#define STARTUP_GUEST(name, body)                                                  \
 GUEST(name,                                                                       \
     "lea 20f(%rip), %rsi; mov $0x8000, %edi; mov $21f - 20f, %ecx; rep movsb\n"   \
     "mov %cr3, %rax; mov %eax, 0x8ff0; mov $2, %r8d\n"                            \
     "1: movb $0, 0x9000\n" APIC(310, 0x1000000) APIC(300, 0xc500) APIC(           \
	 300, 0x8500) APIC(300, 0x4608) APIC(300,                                  \
	 0x4608) "2: pause; cmpb $0, 0x9000; je 2b; dec %r8d; jnz 1b\n" SEND(0x30) \
	 POWER(0x604, 0x34) "20: .code16\n" body "21: .code64\n")
/* With the APIC ID as a digit in BL, CODE runs in 64-bit mode. */
#define LONG_GUEST(name, code)                                                                     \
 STARTUP_GUEST(name,                                                                               \
     "cli; xor %ax, %ax; mov %ax, %ds; mov $0x7000, %sp; call 22f\n"                               \
     "mov $1, %eax; cpuid; shr $24, %ebx; add $0x30, %bl\n"                                        \
     "lgdtl " AT(                                                                                  \
	 31f) "; mov %cr0, %eax; or $1, %eax; mov %eax, %cr0\n"                                    \
	      "ljmpl $8, $" AT(                                                                    \
		  23f) "\n"                                                                        \
		       "22: ret\n"                                                                 \
		       ".code32; 23: mov $24, %eax; mov %eax, %ds; mov %eax, %ss; mov %eax, %es\n" \
		       "mov $0x620, %eax; mov %eax, %cr4; mov 0x8ff0, %eax; mov %eax, %cr3\n"      \
		       "mov $0xc0000080, %ecx; rdmsr; or $0x100, %eax; wrmsr\n"                    \
		       "mov %cr0, %eax; or $0x80000000, %eax; mov %eax, %cr0\n"                    \
		       "ljmpl $16, $" AT(                                                          \
			   24f) "\n"                                                               \
				".code64; 24: " code                                               \
				"movb $1, 0x9000; 25: hlt; jmp 25b\n"                              \
				".balign 8; 30: .quad 0, 0xcf9a000000ffff, 0xaf9a000000ffff\n"     \
				".quad 0xcf92000000ffff; 31: .word 31; .long " AT(                 \
				    30b) "\n")
/* Sends the digit, and halts with a breakpoint, that is, while single instructions run. */
LONG_GUEST(startup,
    "mov $0x3f8, %edx; mov %bl, %al; out %al, %dx\n"
    "mov $1, %eax; mov %rax, %dr7\n");
/* Counts instructions. */
LONG_GUEST(startup_counts,
    "mov $0x186, %ecx; mov $0x4300c0, %eax; xor %edx, %edx; wrmsr\n"
    "mov $0x38f, %ecx; mov $1, %eax; wrmsr\n");
/* Records branches, in a buffer of no records. */
LONG_GUEST(startup_records,
    "mov $0x600, %ecx; mov $0x9100, %eax; xor %edx, %edx; wrmsr\n"
    "mov $0x1d9, %ecx; mov $0xc0, %eax; wrmsr\n");
STARTUP_GUEST(startup_halts, "nop; cli; hlt\n");
STARTUP_GUEST(startup_loops, "22: jmp 22b\n");
STARTUP_GUEST(startup_port, "in $0x80, %al\n");
STARTUP_GUEST(startup_msr, "mov $0x10, %ecx; rdmsr\n");
STARTUP_GUEST(startup_trap, "int3\n");
STARTUP_GUEST(startup_tsc, "rdtsc\n");
STARTUP_GUEST(startup_tscp, "rdtscp\n");
STARTUP_GUEST(startup_random, "rdrand %eax\n");
STARTUP_GUEST(startup_apic,
    "cli; mov $0xf000, %ax; mov %ax, %ds; mov $0xfee00020, %ebx\n"
    "xor %ax, %ax; mov %ax, %ds; mov (%ebx), %eax\n");
/*
 * Copies 4 bytes from RSI to RDI, as an end of memcpy() that returns by a JMP: first a
 * few times elsewhere in its page, then over that JMP, which becomes a JMP to 'n'.
 */
GUEST(patch,
    "mov $0x300000, %esp; lea 8f(%rip), %rsi; mov $3, %ebx\n"
    "1: lea 9f(%rip), %rdi; call 5f\n"
    "dec %ebx; jnz 1b; lea 6f(%rip), %rdi; call 5f; hlt\n"
    "5: mov (%rsi), %eax; mov %eax, (%rdi); nop\n"
    "6: .byte 0xe9; .long 7f - . - 4\n"
    ".fill 16, 1, 0xcc\n"
    "22: " SEND(0x6e)
	POWER(0x604, 0x34) "7: ret\n"
			   "8: .byte 0xeb, 22b - 6b - 2, 0x90, 0x90\n"
			   "9: .long 0\n");
#define SAME(value) "mov $" #value ", %rax; cmp %rax, %rbx; jne 9f\n"
/* 'd' if the debug registers and CR8 keep what they have bits for. */
GUEST(special,
    "mov $0x1234567890abcdef, %rax; mov %rax, %db0; mov %db0, %rbx\n" SAME(0x1234567890abcdef) "mov %rax, %db3; mov %db3, %rbx\n" SAME(
	0x1234567890abcdef) "xor %eax, %eax; mov %rax, %db6\n"
			    "mov %db6, %rbx\n" SAME(
				0xffff0ff0) "mov $0xe00f, %eax; mov %rax, %db4\n"
					    "mov %db6, %rbx\n" SAME(
						0xffffefff) "mov $0xffffdf00, %eax\n"
							    "mov %rax, %db7; mov %db5, %rbx\n" SAME(
								0xffff0700) "mov $0xe0402, %eax; mov %rax, %db7\n"
									    "mov %db7, %rbx\n" SAME(0xe0402) "mov $5, %eax; mov %rax, %cr8; mov %cr8, %rbx\n" SAME(
										5) "mov $0xfee00000, %ecx; mov 0x80(%rcx), %ebx\n" SAME(0x50)
										SEND(0x64) "9:" POWER(
										    0x604,
										    0x34));
/* Each of these is a fault, and there is no IDT. */
GUEST(wide_dr6, "mov $0x1ffff0ff0, %rax; mov %rax, %db6\n" POWER(0x604, 0x34));
GUEST(wide_dr7, "mov $0x100000400, %rax; mov %rax, %db7\n" POWER(0x604, 0x34));
GUEST(wide_cr8, "mov $0x10, %eax; mov %rax, %cr8\n" POWER(0x604, 0x34));
GUEST(de_dr4,
    "mov %cr4, %rax; or $8, %eax; mov %rax, %cr4; mov %db4, %rax\n" POWER(
	0x604, 0x34));

struct rig {
	struct machine *machine;
	struct machine_result result;
	char sent[64];
	unsigned count;
};

static void
console(void *arg, char c)
{
	struct rig *rig = arg;

	assert_true(rig->count < sizeof(rig->sent));
	rig->sent[rig->count++] = c;
}

static void
make(struct rig *rig, const uint8_t *begin, const uint8_t *end, unsigned cpus,
    bool step)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		uint8_t code[512];
	} file = { .header = { .e_machine = EM_X86_64,
		       .e_entry = LOAD_PA,
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 1 },
		.segment = { .p_type = PT_LOAD,
		    .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
		    .p_paddr = LOAD_PA,
		    .p_filesz = sizeof(file.code),
		    .p_memsz = sizeof(file.code) } };
	struct kernel_image image = { .vmlinux = (const uint8_t *)&file,
		.vmlinux_bytes = sizeof(file),
		.cmdline = "",
		.cpu_count = cpus,
		.ram_bytes = RAM_BYTES };
	struct cpu_set cpu_set = { 0 };
	struct machine_config config = { .cpu_set = &cpu_set,
		.cpu_count = cpus,
		.ram_bytes = RAM_BYTES,
		.single_step = step,
		.board = true };
	struct machine_observer observer = { .arg = rig, .console = console };
	struct kernel_entry entry;
	struct tz_error err;

	memset(rig, 0, sizeof(*rig));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	assert_true((size_t)(end - begin) <= sizeof(file.code));
	memcpy(file.code, begin, (size_t)(end - begin));
	cpu_set_set(&cpu_set, profile_find("skylake"));
	assert_int_equal(
	    machine_create(&config, &observer, &rig->machine, &err), 0);
	assert_int_equal(
	    kernel_load(machine_ram(rig->machine), &image, &entry, &err), 0);
	machine_boot(rig->machine, entry.rip, entry.zero_page, entry.cr3);
}

static void
run(struct rig *rig, enum machine_end end)
{
	machine_run(rig->machine, 10000000, &rig->result);
	if (rig->result.end != end)
		fail_msg("end %d: %s", (int)rig->result.end, rig->result.text);
}

static void
ports_are_those_of_the_board(void **state)
{
	struct rig rig;
	const struct unknowns *unknowns;

	(void)state;
	make(&rig, ports_begin, ports_end, 1, false);
	run(&rig, MACHINE_OFF);
	assert_int_equal(rig.count, 4);
	assert_memory_equal(rig.sent, "z\xff\x60\x01", 4);
	unknowns = machine_unknowns(rig.machine);
	assert_int_equal(unknowns->count, 3);
	assert_int_equal(unknowns->item[0].access, UNKNOWN_IN);
	assert_int_equal(unknowns->item[0].index, 0x80);
	assert_true(unknowns->item[0].rip > LOAD_PA);
	assert_int_equal(unknowns->item[1].index, 0x1234);
	assert_int_equal(unknowns->item[2].access, UNKNOWN_OUT);
	assert_int_equal(unknowns->item[2].value & 0xff, 0x55);
	assert_int_equal(unknowns->item[2].count, 2);
	machine_destroy(rig.machine);
}

static void
reset_ends_the_run(void **state)
{
	struct rig rig;

	(void)state;
	make(&rig, reset_begin, reset_end, 1, false);
	run(&rig, MACHINE_RESET);
	machine_destroy(rig.machine);
}

static void
snapshot_has_the_board(void **state)
{
	struct machine_snapshot *snapshot;
	struct tz_error err;
	struct rig rig;
	uint64_t hash;

	(void)state;
	make(&rig, echo_begin, echo_end, 1, false);
	assert_int_equal(
	    machine_receive(rig.machine, (const uint8_t *)"ab", 2), 0);
	machine_run(rig.machine, 1000, &rig.result);
	assert_int_equal(
	    machine_receive(rig.machine, (const uint8_t *)"ab", 2), 2);
	snapshot = machine_snapshot_take(rig.machine, &err);
	assert_non_null(snapshot);
	hash = machine_hash(rig.machine, NULL);
	for (int round = 0; round < 2; round++) {
		rig.count = 0;
		machine_run(rig.machine, 10000, &rig.result);
		assert_int_equal(rig.count, 2);
		assert_memory_equal(rig.sent, "ab", 2);
		assert_int_not_equal(machine_hash(rig.machine, NULL), hash);
		machine_snapshot_apply(rig.machine, snapshot);
		assert_int_equal(machine_hash(rig.machine, NULL), hash);
	}
	(void)machine_receive(rig.machine, (const uint8_t *)"q", 1);
	assert_int_not_equal(machine_hash(rig.machine, NULL), hash);
	rig.count = 0;
	run(&rig, MACHINE_OFF);
	assert_int_equal(rig.count, 3);
	assert_memory_equal(rig.sent, "abq", 3);
	machine_snapshot_free(rig.machine, snapshot);
	machine_destroy(rig.machine);
}

static void
startup_ipi_starts_the_other_cpu_in_real_mode(void **state)
{
	struct rig rig;

	(void)state;
	for (int step = 0; step < 2; step++) {
		make(&rig, startup_begin, startup_end, 2, step);
		run(&rig, MACHINE_OFF);
		assert_int_equal(rig.count, 3);
		assert_memory_equal(rig.sent, "110", 3);
		machine_destroy(rig.machine);
	}
}

static void
startup_code_that_is_not_modelled_ends_the_run(void **state)
{
	static const struct {
		const uint8_t *begin, *end;
		const char *why;
	} guests[] = {
		{ startup_halts_begin, startup_halts_end,
		    "at 0x8002: it halts before 64-bit mode" },
		{ startup_loops_begin, startup_loops_end,
		    "at 0x8000: not in 64-bit mode after instructions" },
		{ startup_port_begin, startup_port_end,
		    "at 0x8000: port 0x80" },
		{ startup_msr_begin, startup_msr_end, "MSR 0x10" },
		{ startup_trap_begin, startup_trap_end,
		    "at 0x8000: interrupt or exception 0x3" },
		{ startup_tsc_begin, startup_tsc_end, "a counter is read" },
		{ startup_tscp_begin, startup_tscp_end, "a counter is read" },
		{ startup_random_begin, startup_random_end, "random numbers" },
		{ startup_counts_begin, startup_counts_end,
		    "INIT of a CPU that traces, counts" },
		{ startup_records_begin, startup_records_end,
		    "INIT of a CPU that traces, counts or is recorded" },
		{ startup_apic_begin, startup_apic_end, "start-up code, at" },
	};
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(guests); i++) {
		make(&rig, guests[i].begin, guests[i].end, 2, false);
		run(&rig, MACHINE_UNMODELLED);
		if (strstr(rig.result.text, guests[i].why) == NULL)
			fail_msg("\"%s\" is not: %s", guests[i].why,
			    rig.result.text);
		assert_int_equal(rig.result.cpu, 1);
		machine_destroy(rig.machine);
	}
}

static void
jmp_that_was_just_overwritten_is_the_new_one(void **state)
{
	struct rig rig;

	(void)state;
	for (int step = 0; step < 2; step++) {
		make(&rig, patch_begin, patch_end, 1, step);
		run(&rig, MACHINE_OFF);
		assert_int_equal(rig.count, 1);
		assert_int_equal(rig.sent[0], 'n');
		machine_destroy(rig.machine);
	}
}

static void
debug_registers_and_cr8_have_their_bits(void **state)
{
	const struct unknowns *unknowns;
	struct rig rig;

	(void)state;
	for (int step = 0; step < 2; step++) {
		make(&rig, special_begin, special_end, 1, step);
		run(&rig, MACHINE_OFF);
		assert_int_equal(rig.count, 1);
		assert_int_equal(rig.sent[0], 'd');
		/* Breakpoints of I/O are not modelled. */
		unknowns = machine_unknowns(rig.machine);
		assert_int_equal(unknowns->count, 1);
		assert_int_equal(unknowns->item[0].access, UNKNOWN_MOV_DR);
		assert_int_equal(unknowns->item[0].value, 0xe0402);
		machine_destroy(rig.machine);
	}
}

static void
debug_registers_and_cr8_have_no_other_bits(void **state)
{
	static const struct {
		const uint8_t *begin, *end;
	} guests[] = { { wide_dr6_begin, wide_dr6_end },
		{ wide_dr7_begin, wide_dr7_end },
		{ wide_cr8_begin, wide_cr8_end },
		{ de_dr4_begin, de_dr4_end } };
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		make(&rig, guests[i].begin, guests[i].end, 1, false);
		run(&rig, MACHINE_TRIPLE_FAULT);
		machine_destroy(rig.machine);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_those_of_the_board),
		cmocka_unit_test(reset_ends_the_run),
		cmocka_unit_test(snapshot_has_the_board),
		cmocka_unit_test(startup_ipi_starts_the_other_cpu_in_real_mode),
		cmocka_unit_test(
		    startup_code_that_is_not_modelled_ends_the_run),
		cmocka_unit_test(debug_registers_and_cr8_have_their_bits),
		cmocka_unit_test(debug_registers_and_cr8_have_no_other_bits),
		cmocka_unit_test(jmp_that_was_just_overwritten_is_the_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
