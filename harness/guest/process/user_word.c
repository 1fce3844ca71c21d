/*
 * Waiting between threads and processes: on words in user memory, identified by
 * their physical address, and on a few semaphores for the whole machine.
 */
#include "harness/guest/internal.h"

#define SEMAPHORES 64

static struct spin word_lock = SPIN_INIT("words");
static uint32_t semaphores[SEMAPHORES];

/* The word in the direct map; waiters sleep on this address. */
static const uint32_t *
find_word(uint64_t user_word)
{
	uint64_t pa = 0;

	if (user_word < SYS_USER_TOP && user_word % sizeof(uint32_t) == 0)
		pa = virt_to_phys((const void *)(uintptr_t)user_word);
	return pa == 0 ? NULL : phys_to_virt(pa);
}

int
user_word_wait(uint64_t user_word, uint32_t value)
{
	const uint32_t *word = find_word(user_word);
	int error = 0;

	if (word == NULL)
		return KE_FAULT;
	spin_lock(&word_lock);
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
		error = task_sleep_spin(word, &word_lock, true, 0);
	spin_unlock(&word_lock);
	return error;
}

int
user_word_wake(uint64_t user_word)
{
	const uint32_t *word = find_word(user_word);

	if (word == NULL)
		return KE_FAULT;
	spin_lock(&word_lock);
	task_wakeup(word);
	spin_unlock(&word_lock);
	return 0;
}

int
semaphore_wait(uint64_t number)
{
	int error = 0;

	if (number >= SEMAPHORES)
		return KE_INVAL;
	spin_lock(&word_lock);
	while (semaphores[number] == 0 && error == 0)
		error = task_sleep_spin(
		    &semaphores[number], &word_lock, true, 0);
	if (error == 0)
		semaphores[number]--;
	spin_unlock(&word_lock);
	return error;
}

int
semaphore_post(uint64_t number)
{
	if (number >= SEMAPHORES)
		return KE_INVAL;
	spin_lock(&word_lock);
	semaphores[number]++;
	task_wakeup_one(&semaphores[number]);
	spin_unlock(&word_lock);
	return 0;
}
