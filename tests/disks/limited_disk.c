/* The product's slow disk with what only experiments need: limits.h and blocks.h. */
#define DEVICE_MORE uint64_t capacity_bytes, used_bytes, read_error_after, write_error_after; /* limits, 0: none */
#define CONTROL_MORE uint64_t maps; struct map { uint64_t file, reads[BLOCKS], device[BLOCKS]; } map[MAPS];
#define HOOKS "../../tests/disks/hooks.h"
enum { BLOCK = 8192, MAPS = 8, BLOCKS = 32768 };
#include "../../agent/demo/slow_disk.c"
