/* Fixed-size sets of bits: the storage and the operations on one set. */
#ifndef _SYS__BITSET_H_
#define _SYS__BITSET_H_

#define _BITSET_BITS      (8 * sizeof(long))
#define __bitset_words(s) (((s) + _BITSET_BITS - 1) / _BITSET_BITS)

#define BITSET_DEFINE(t, s)         \
 struct t {                         \
  long __bits[__bitset_words((s))]; \
 }

#endif
