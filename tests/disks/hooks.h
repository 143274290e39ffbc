/* What slow_disk.c asks before each call: see there. */
#include "blocks.h"
#include "limits.h"
