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
/* CPU 0 wakes CPU 1 by the mailbox and waits for its answer, then sends. */
GUEST(two,
    "mov $0xe8000, %ebx; movl $1, 4(%rbx)\n"
    "lea 3f(%rip), %rax; mov %rax, 8(%rbx); movw $1, (%rbx)\n"
    "1: pause; cmpw $0, (%rbx); jne 1b\n"
    "2: pause; cmpb $0, 0x100(%rbx); je 2b\n" SEND(0x30)
	POWER(0x604, 0x34) "3: mov $0xe8000, %ebx\n" SEND(
	    0x31) "movb $1, 0x100(%rbx); 4: cli; hlt; jmp 4b\n");
/* CPU 0 starts CPU 1 by the local APIC instead. */
GUEST(startup,
    "mov $0xfee00310, %ebx; movl $0x1000000, (%rbx)\n"
    "mov $0xfee00300, %ecx; movl $0x4608, (%rcx); 1: pause; jmp 1b\n");
/*
 * Through 32-bit code, as a kernel's second CPU goes: each of its instructions there, and
 * LEGACY, then 'L' in 64-bit mode, and '3' if CR4 is what that code has set.
 */
#define LEGACY_GUEST(name, legacy)                                                        \
 GUEST(name,                                                                              \
     "mov $0x90000, %ebx; movq $0, (%rbx)\n"                                              \
     "movabs $0x00cf9a000000ffff, %rax; mov %rax, 8(%rbx)\n"                              \
     "movabs $0x00af9a000000ffff, %rax; mov %rax, 16(%rbx)\n"                             \
     "movabs $0x00cf92000000ffff, %rax; mov %rax, 24(%rbx)\n"                             \
     "movw $31, 0x100(%rbx); mov %rbx, 0x102(%rbx); lgdt 0x100(%rbx)\n"                   \
     "mov %cr3, %rax; mov %eax, 0x200(%rbx)\n"                                            \
     "mov %cr4, %rax; or $4, %eax; mov %eax, 0x204(%rbx)\n"                               \
     "movl $2, 0x208(%rbx); movw $8, 0x114(%rbx)\n"                                       \
     "movl $0x200000 + 1f - " #name "_begin, 0x110(%rbx)\n"                               \
     "ljmpl *0x110(%rbx)\n"                                                               \
     ".code32; 1: mov $0x80000, %esp; mov $0x18, %dx\n"                                   \
     "mov $0x50033, %eax; mov %eax, %cr0\n"                                               \
     "ljmpl $8, $0x200000 + 2f - " #name "_begin\n"                                       \
     "2: mov %edx, %ss; mov %edx, %ds; mov %edx, %es; add $0x100, %esp\n"                 \
     "btl $1, 0x90208; jnc 9f; btl $0, 0x90208; jc 9f\n"                                  \
     "mov 0x90204, %eax; mov %eax, %cr4; mov 0x90200, %eax\n"                             \
     "mov %eax, %cr3; mov $0xc0000080, %ecx; rdmsr; cmp %edx, %eax; je 9f\n"              \
     "cmp 0x90200, %edx; jne 3f; jmp 9f; 3: nop\n"                                        \
     "mov $1, %ecx; add $-1, %ecx; jnc 9f; jne 9f\n"                                      \
     "mov $1, %ecx; and $2, %ecx; jc 9f; jne 9f; mov $0xc0000080, %ecx; rdmsr\n" legacy   \
     "wrmsr; mov $0x80050033, %eax; mov %eax, %cr0\n"                                     \
     "9: ljmpl $16, $0x200000 + 4f - " #name "_begin; .code64; 4:\n" SEND(                \
	 0x4c) "mov %cr4, %rax; xor 0x90204, %eax; jnz 5f\n" SEND(0x33) "5:" POWER(0x604, \
	 0x34))
LEGACY_GUEST(legacy, "");
LEGACY_GUEST(legacy_other, "inc %eax\n");
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
mailbox_starts_the_other_cpu(void **state)
{
	struct rig rig;

	(void)state;
	for (int step = 0; step < 2; step++) {
		make(&rig, two_begin, two_end, 2, step);
		run(&rig, MACHINE_OFF);
		assert_int_equal(rig.count, 2);
		assert_memory_equal(rig.sent, "10", 2);
		machine_destroy(rig.machine);
	}
}

static void
startup_ipi_ends_the_run(void **state)
{
	struct rig rig;

	(void)state;
	make(&rig, startup_begin, startup_end, 2, false);
	run(&rig, MACHINE_UNMODELLED);
	assert_non_null(strstr(rig.result.text, "start-up IPI"));
	machine_destroy(rig.machine);
}

static void
cpu_goes_through_32_bit_code(void **state)
{
	struct rig rig;

	(void)state;
	for (int step = 0; step < 2; step++) {
		make(&rig, legacy_begin, legacy_end, 1, step);
		run(&rig, MACHINE_OFF);
		assert_int_equal(rig.count, 2);
		assert_memory_equal(rig.sent, "L3", 2);
		machine_destroy(rig.machine);
	}
	make(&rig, legacy_other_begin, legacy_other_end, 1, false);
	run(&rig, MACHINE_UNMODELLED);
	assert_non_null(strstr(rig.result.text, "32-bit code at 0x200"));
	assert_non_null(strstr(rig.result.text, "not modelled"));
	machine_destroy(rig.machine);
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
		cmocka_unit_test(mailbox_starts_the_other_cpu),
		cmocka_unit_test(startup_ipi_ends_the_run),
		cmocka_unit_test(cpu_goes_through_32_bit_code),
		cmocka_unit_test(debug_registers_and_cr8_have_their_bits),
		cmocka_unit_test(debug_registers_and_cr8_have_no_other_bits),
		cmocka_unit_test(jmp_that_was_just_overwritten_is_the_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
