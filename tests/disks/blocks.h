/* Reads counted by block, and single blocks of a file on another device than its folder's. Part of limited_disk.c.
 *
 * Databases place whole objects, arrays place extents: with this an experiment compares the two. A file is known by its
 * inode. A read of several blocks belongs to the first of them; what is written goes to the folder's device.
 */

/* The device that a read is charged to. */
static struct device *device_of_read(const struct target *t, uint64_t offset) {
    uint64_t block = offset / BLOCK, maps = __atomic_load_n(&control->maps, __ATOMIC_ACQUIRE);
    for (uint64_t i = 0; i < maps && block < BLOCKS; i++) {
        struct map *m = &control->map[i];
        if (m->file != t->file) continue;
        ADD(m->reads[block], 1);
        uint64_t elsewhere = GET(m->device[block]); /* 0: where the folder is */
        return elsewhere ? &control->device[elsewhere - 1] : t->device;
    }
    return t->device;
}
