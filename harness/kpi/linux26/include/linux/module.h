#ifndef TOPAZ_LINUX26_LINUX_MODULE_H
#define TOPAZ_LINUX26_LINUX_MODULE_H

/* All global functions of the kernel's parts are visible to each other. */
#define EXPORT_SYMBOL(name) extern __typeof__(name) name

#endif
