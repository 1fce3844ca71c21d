#include "emu/board/uart.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Registers; with DLAB, the first two are the divisor. */
enum { RBR_THR, IER, IIR_FCR, LCR, MCR, LSR, MSR, SCR };

#define IER_RECEIVED 0x01
#define IER_THRE     0x02
#define IER_BITS     0x0f
#define IIR_NONE     0x01
#define IIR_THRE     0x02
#define IIR_RECEIVED 0x04
#define IIR_TIMEOUT  0x0c /* below the trigger level */
#define IIR_FIFOS    0xc0
#define FCR_ENABLE   0x01
#define FCR_CLEAR_RX 0x02
#define FCR_BITS     0xc9 /* that are kept */
#define LCR_DLAB     0x80
#define MCR_DTR      0x01
#define MCR_RTS      0x02
#define MCR_OUT1     0x04
#define MCR_OUT2     0x08
#define MCR_LOOP     0x10
#define MCR_BITS     0x1f
#define LSR_READY    0x01
#define LSR_EMPTY    0x60 /* THRE and TEMT */
#define MSR_CTS      0x10
#define MSR_DSR      0x20
#define MSR_RI       0x40
#define MSR_DCD      0x80

void
uart_reset(struct uart *uart)
{
	*uart = (struct uart){ 0 };
}

static bool
has_fifo(const struct uart *uart)
{
	return (uart->fcr & FCR_ENABLE) != 0;
}

/* Bytes that the receiver has now. */
static unsigned
received(const struct uart *uart)
{
	unsigned room = has_fifo(uart) ? UART_FIFO_BYTES : 1;

	return uart->count < room ? uart->count : room;
}

/* The trigger level of the receiver FIFO, FCR[7:6]. */
static unsigned
trigger(const struct uart *uart)
{
	static const uint8_t levels[] = { 1, 4, 8, 14 };

	return has_fifo(uart) ? levels[uart->fcr >> 6] : 1;
}

/* Table IV "Interrupt Control Functions": the pending one of the highest priority. */
static uint8_t
pending(const struct uart *uart)
{
	unsigned count = received(uart);

	if ((uart->ier & IER_RECEIVED) && count > 0)
		return count >= trigger(uart) ? IIR_RECEIVED : IIR_TIMEOUT;
	if ((uart->ier & IER_THRE) && uart->thr_empty)
		return IIR_THRE;
	return IIR_NONE;
}

bool
uart_interrupt(const struct uart *uart)
{
	return (uart->mcr & MCR_OUT2) && !(uart->mcr & MCR_LOOP) &&
	    pending(uart) != IIR_NONE;
}

static uint8_t
take_byte(struct uart *uart)
{
	uint8_t byte;

	if (received(uart) == 0)
		return 0;
	byte = uart->queue[uart->first];
	uart->first = (uint16_t)((uart->first + 1u) % UART_QUEUE_MAX);
	uart->count--;
	return byte;
}

static void
add_byte(struct uart *uart, uint8_t byte)
{
	unsigned next = uart->first;

	TZ_ASSERT(uart->count < UART_QUEUE_MAX);
	next += uart->count++;
	uart->queue[next % UART_QUEUE_MAX] = byte;
}

/* The other side is always there; in loopback the outputs lead to the inputs. */
static uint8_t
modem_status(const struct uart *uart)
{
	uint8_t status = 0;

	if (!(uart->mcr & MCR_LOOP))
		return MSR_CTS | MSR_DSR | MSR_DCD;
	if (uart->mcr & MCR_RTS)
		status |= MSR_CTS;
	if (uart->mcr & MCR_DTR)
		status |= MSR_DSR;
	if (uart->mcr & MCR_OUT1)
		status |= MSR_RI;
	if (uart->mcr & MCR_OUT2)
		status |= MSR_DCD;
	return status;
}

uint8_t
uart_read(struct uart *uart, unsigned reg)
{
	bool divisor = (uart->lcr & LCR_DLAB) != 0;
	uint8_t value;

	switch (reg) {
	case RBR_THR:
		return divisor ? uart->dll : take_byte(uart);
	case IER:
		return divisor ? uart->dlm : uart->ier;
	case IIR_FCR:
		value = pending(uart);
		/* Reading it resets the interrupt, if it is the source. */
		if (value == IIR_THRE)
			uart->thr_empty = false;
		return has_fifo(uart) ? value | IIR_FIFOS : value;
	case LCR:
		return uart->lcr;
	case MCR:
		return uart->mcr;
	case LSR:
		return LSR_EMPTY | (received(uart) > 0 ? LSR_READY : 0);
	case MSR:
		return modem_status(uart);
	default:
		TZ_ASSERT(reg == SCR);
		return uart->scr;
	}
}

static void
write_fcr(struct uart *uart, uint8_t value)
{
	/* A change of bit 0 clears the FIFOs; bytes beyond have not arrived. */
	bool clear = ((uart->fcr ^ value) & FCR_ENABLE) != 0 ||
	    ((value & FCR_ENABLE) && (value & FCR_CLEAR_RX));

	for (unsigned left = clear ? received(uart) : 0; left > 0; left--)
		(void)take_byte(uart);
	uart->fcr = value & FCR_ENABLE ? value & FCR_BITS : 0;
}

bool
uart_write(struct uart *uart, unsigned reg, uint8_t value, uint8_t *sent)
{
	bool divisor = (uart->lcr & LCR_DLAB) != 0;

	switch (reg) {
	case RBR_THR:
		if (divisor) {
			uart->dll = value;
			break;
		}
		uart->thr_empty = true;
		if (uart->mcr & MCR_LOOP) {
			if (uart->count < UART_QUEUE_MAX)
				add_byte(uart, value);
			break;
		}
		*sent = value;
		return true;
	case IER:
		if (divisor) {
			uart->dlm = value;
			break;
		}
		if ((value & IER_THRE) && !(uart->ier & IER_THRE))
			uart->thr_empty = true;
		uart->ier = value & IER_BITS;
		break;
	case IIR_FCR:
		write_fcr(uart, value);
		break;
	case LCR:
		uart->lcr = value;
		break;
	case MCR:
		uart->mcr = value & MCR_BITS;
		break;
	case SCR:
		uart->scr = value;
		break;
	default: /* LSR and MSR are read-only */
		break;
	}
	return false;
}

bool
uart_asks(const struct uart *uart)
{
	return (uart->mcr & MCR_RTS) != 0;
}

size_t
uart_receive(struct uart *uart, const uint8_t *bytes, size_t count)
{
	size_t room = UART_QUEUE_MAX - uart->count;

	if (count > room)
		count = room;
	for (size_t i = 0; i < count; i++)
		add_byte(uart, bytes[i]);
	return count;
}

uint64_t
uart_hash(const struct uart *uart)
{
	const uint8_t regs[] = { uart->ier, uart->fcr, uart->lcr, uart->mcr,
		uart->scr, uart->dll, uart->dlm, uart->thr_empty };
	uint64_t hash = XXH3_64bits(regs, sizeof(regs));

	for (unsigned i = 0; i < uart->count; i++)
		hash = XXH3_64bits_withSeed(
		    &uart->queue[(uart->first + i) % UART_QUEUE_MAX], 1, hash);
	return hash;
}
