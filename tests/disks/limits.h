/* What makes a modelled device refuse: no room left (ENOSPC) and a broken medium (EIO). Part of limited_disk.c.
 *
 * Room is counted in bytes of file length: a call that would make a file longer takes what it adds before it runs, and
 * gives it back when it fails; cutting and removing a file give back. The count may drift where a program is killed in
 * between; LimitedDisk recounts whenever the model is switched on. Errors begin once so many bytes have been read,
 * or written, and last until the limit is taken away: a disk breaks in the middle of a copy, not before it.
 */

static uint64_t length_of(int fd) {
    struct stat is;
    return fstat(fd, &is) == 0 && is.st_size > 0 ? (uint64_t)is.st_size : 0;
}

/* Never below nothing, whatever a drifted count says. */
static void give_back(struct device *d, uint64_t bytes) {
    uint64_t before = GET(d->used_bytes), after;
    do after = before > bytes ? before - bytes : 0;
    while (!__atomic_compare_exchange_n(&d->used_bytes, &before, after, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Take room for a file that is to reach to `end`; returns 0 or the error. *taken is what giving back would be. */
static int take_room(struct target *t, int fd, uint64_t end, uint64_t *taken) {
    struct device *d = t->device;
    uint64_t capacity = GET(d->capacity_bytes), length = capacity ? length_of(fd) : end;
    *taken = end > length ? end - length : 0;
    if (!*taken || ADD(d->used_bytes, *taken) + *taken <= capacity) return 0;
    give_back(d, *taken);
    *taken = 0;
    return ENOSPC;
}

static int broken(const uint64_t *limit, const uint64_t *done) { return GET(*limit) && GET(*done) >= GET(*limit); }

/* 0, or why this write cannot be; a write at no place of its own goes on from where the descriptor stands. */
static int refused_write(struct target *t, int fd, off_t offset, uint64_t bytes, uint64_t *taken) {
    *taken = 0;
    if (broken(&t->device->write_error_after, &t->device->write_bytes)) return EIO;
    return take_room(t, fd, (uint64_t)(offset < 0 ? lseek(fd, 0, SEEK_CUR) : offset) + bytes, taken);
}

static uint64_t bytes_of(const struct iovec *vector, int count) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += vector[i].iov_len;
    return bytes;
}

/* The device of a file by its name, with the file's length where this was its last name. */
static struct device *device_of_path(const char *path, uint64_t *length) {
    char whole[PATH_MAX];
    struct stat is;
    *length = 0;
    if (!control || !GET(control->on) || stat(path, &is) || !S_ISREG(is.st_mode)) return NULL;
    if (is.st_nlink == 1) *length = (uint64_t)is.st_size;
    return realpath(path, whole) ? placed(whole, strlen(whole)) : NULL;
}

#define LIMITED(fd, offset, bytes, call)                                       \
    struct target *limited = target_of(fd);                                    \
    uint64_t taken = 0;                                                        \
    int refused = limited ? refused_write(limited, fd, offset, bytes, &taken) : 0; \
    if (refused) {                                                             \
        errno = refused;                                                       \
        return -1;                                                             \
    }                                                                          \
    ssize_t done = call;                                                       \
    if (done < 0 && taken) give_back(limited->device, taken)

#define READABLE(fd)                                                                               \
    do {                                                                                           \
        struct target *t = target_of(fd);                                                          \
        if (t && broken(&t->device->read_error_after, &t->device->read_bytes)) {                   \
            errno = EIO;                                                                           \
            return -1;                                                                             \
        }                                                                                          \
    } while (0)

POINTER(posix_fallocate);
int posix_fallocate(int fd, off_t offset, off_t bytes) {
    struct target *t = target_of(fd);
    uint64_t taken = 0;
    int refused = t ? refused_write(t, fd, offset, (uint64_t)bytes, &taken) : 0;
    if (refused) return refused;
    int failed = REAL(posix_fallocate)(fd, offset, bytes);
    if (failed && taken) give_back(t->device, taken);
    return failed;
}

POINTER(ftruncate);
int ftruncate(int fd, off_t length) {
    struct target *t = target_of(fd);
    uint64_t before = t ? length_of(fd) : 0, taken = 0;
    if (t && (errno = take_room(t, fd, (uint64_t)length, &taken))) return -1;
    int failed = REAL(ftruncate)(fd, length);
    if (t && failed) give_back(t->device, taken);
    else if (t && before > (uint64_t)length) give_back(t->device, before - (uint64_t)length);
    return failed;
}

POINTER(truncate);
int truncate(const char *path, off_t length) {
    uint64_t before;
    struct device *d = device_of_path(path, &before);
    int failed = REAL(truncate)(path, length);
    if (d && !failed && before > (uint64_t)length) give_back(d, before - (uint64_t)length);
    return failed;
}

POINTER(unlink);
int unlink(const char *path) {
    uint64_t before;
    struct device *d = device_of_path(path, &before);
    int failed = REAL(unlink)(path);
    if (d && !failed) give_back(d, before);
    return failed;
}

int posix_fallocate64(int, off64_t, off64_t) __attribute__((alias("posix_fallocate")));
int ftruncate64(int, off64_t) __attribute__((alias("ftruncate")));
int truncate64(const char *, off64_t) __attribute__((alias("truncate")));
