/* What the module does for the services of the core beside them (../core/services.h). */
#ifndef TOPAZ_DRIVER_INSNTRACE_LINUX_SERVICES_H
#define TOPAZ_DRIVER_INSNTRACE_LINUX_SERVICES_H

/* Once, before and after all operations.  -ENOENT: the kernel does not say when it
 * switches threads; -ENOMEM. */
int services_begin(void);
void services_end(void);

#endif
