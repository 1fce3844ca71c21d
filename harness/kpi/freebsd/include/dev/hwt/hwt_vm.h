/* A trace buffer: its pages, its mapping in the kernel and its device node. */
#ifndef _DEV_HWT_HWT_VM_H_
#define _DEV_HWT_HWT_VM_H_

#include <vm/vm.h>

struct cdev;
struct hwt_context;
struct hwt_cpu;
struct hwt_thread;

struct hwt_vm {
	vm_page_t *pages;
	int npages;
	vm_object_t obj;
	void *kvaddr;
	struct cdev *cdev;

	struct hwt_context *ctx;
	struct hwt_cpu *cpu;    /* CPU mode */
	struct hwt_thread *thr; /* thread mode */
};

int hwt_vm_alloc(size_t bufsize, int kva_req, char *path, struct hwt_vm **vm0);
void hwt_vm_free(struct hwt_vm *vm);

#endif
