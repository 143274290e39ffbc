/* A disk's service time for files below chosen folders, preloaded into a program (LD_PRELOAD).
 *
 * Every call that reads or writes such a file does its real work first and then waits as long as the modelled device
 * would have taken. The page cache is not part of the model: every read that the program asks for costs service time,
 * as if the machine's memory were no larger than the program's own buffer pool.
 *
 * Device: `channels` positions served in parallel behind one bus. A request holds a channel for access + transfer and
 * the bus for its transfer, first come first served, among all processes: the queue is a shared next-free time, advanced
 * by compare-and-swap, so that a process killed at any point leaves nothing locked.
 *
 * Read-ahead belongs to the device, not to a process (parallel scans share it): a read that begins where a recent one
 * ended loads the aligned chunk around it; reads within a loaded chunk are free while it is fresh. A single-channel
 * device whose head already stands at the request pays no access.
 *
 * Writes go to a write cache: they take the bus and channel for their transfer, which delays the reads behind them, and
 * hold the writer up for the transfer alone. fsync waits for one access in the queue.
 *
 * An experiment may add to the model: DEVICE_MORE and CONTROL_MORE are more fields, HOOKS is a file that says which device
 * serves a read and which calls are refused.
 *
 * The control file is written by slow_disk.py, whose ctypes structures mirror those below; every field is 64 bits wide.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8 && sizeof(void *) == 8, "needs a 64-bit system");

enum { DEVICES = 4, CHANNELS = 16, PLACEMENTS = 16, CHUNKS = 64, ENDS = 64, PATH_BYTES = 1024, DESCRIPTORS = 65536 };
#ifndef HOOKS
#define DEVICE_MORE
#define CONTROL_MORE
#endif
static const uint64_t MAGIC = 0x6b736964776f6c73, SECOND = 1000000000, FRESH = 1000000000;

struct device {
    uint64_t channels, access_ns, bytes_per_second, chunk_bytes;                             /* parameters */
    uint64_t channel_free[CHANNELS], bus_free, head;                                         /* the queue */
    uint64_t next_chunk, chunk[CHUNKS], chunk_ready[CHUNKS], next_end, end[ENDS];            /* read-ahead */
    uint64_t reads, read_bytes, read_ahead_hits, accesses, writes, write_bytes, busy_ns;     /* counters */
    DEVICE_MORE
};

struct placement {
    uint64_t device, length;
    char folder[PATH_BYTES];
};

struct control {
    uint64_t magic, bytes, on, generation, attached, placements;
    struct device device[DEVICES];
    struct placement placement[PLACEMENTS];
    CONTROL_MORE
};

struct target {
    uint64_t generation, file; /* generation 0: never looked up */
    struct device *device;     /* NULL: not a file of ours */
};

static struct control *control;
static struct target targets[DESCRIPTORS];

/* libc calls some of these before any constructor has run, hence the lookup at first use. */
#define REAL(name) ((__typeof__(&name))real(&real_##name, #name))
#define POINTER(name) static void *real_##name

static void *real(void **slot, const char *name) {
    if (!*slot) *slot = dlsym(RTLD_NEXT, name);
    return *slot;
}

#define GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define ADD(field, value) __atomic_fetch_add(&(field), (value), __ATOMIC_RELAXED)

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("HOTPLACE_SLOW_DISK");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    struct stat is;
    if (fstat(fd, &is) == 0 && (uint64_t)is.st_size == sizeof(struct control)) {
        struct control *map = mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED && map->magic == MAGIC && map->bytes == sizeof *map) control = map;
    }
    close(fd);
    if (!control) return;
    prctl(PR_SET_TIMERSLACK, 1UL); /* the default 50 us would make a 100 us device half as slow again */
    ADD(control->attached, 1);
}

/* ---- which device a descriptor belongs to ---------------------------------------------------------------------- */

static struct device *placed(const char *path, uint64_t length) {
    struct device *device = NULL;
    for (uint64_t i = 0; i < control->placements; i++) {
        struct placement *p = &control->placement[i];
        if (length > p->length && path[p->length] == '/' && !memcmp(path, p->folder, p->length))
            device = &control->device[p->device];
    }
    return device;
}

static void look_up(int fd, struct target *t, uint64_t generation) {
    char link[40], path[PATH_MAX];
    struct stat is;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    t->device = length > 0 ? placed(path, (uint64_t)length) : NULL;
    if (t->device && fstat(fd, &is) == 0) t->file = (uint64_t)is.st_ino * 0x9e3779b97f4a7c15u ^ is.st_dev;
    __atomic_store_n(&t->generation, generation, __ATOMIC_RELEASE);
}

/* The device of a descriptor while the model is on, else NULL. */
static struct target *target_of(int fd) {
    if (!control || fd < 0 || fd >= DESCRIPTORS || !GET(control->on)) return NULL;
    int error = errno;
    uint64_t generation = __atomic_load_n(&control->generation, __ATOMIC_ACQUIRE);
    struct target *t = &targets[fd];
    if (__atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) != generation) look_up(fd, t, generation);
    errno = error;
    return t->device ? t : NULL;
}

static void forget(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS) SET(targets[fd].generation, 0);
}

/* ---- the queue ------------------------------------------------------------------------------------------------- */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t at) {
    struct timespec t = {.tv_sec = (time_t)(at / SECOND), .tv_nsec = (long)(at % SECOND)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
}

/* Take `service` ns of a server that is free at *free_at; returns when that time is over. */
static uint64_t claim(uint64_t *free_at, uint64_t now, uint64_t service) {
    uint64_t before = GET(*free_at), after;
    do after = (before > now ? before : now) + service;
    while (!__atomic_compare_exchange_n(free_at, &before, after, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return after;
}

static uint64_t *least_busy(struct device *d) {
    uint64_t *best = &d->channel_free[0];
    for (uint64_t i = 1; i < d->channels; i++)
        if (GET(d->channel_free[i]) < GET(*best)) best = &d->channel_free[i];
    return best;
}

static uint64_t transfer_ns(const struct device *d, uint64_t bytes) { return bytes * SECOND / d->bytes_per_second; }

/* Queue one request; returns when it is done. */
static uint64_t request(struct device *d, uint64_t now, uint64_t access, uint64_t bytes) {
    uint64_t transfer = transfer_ns(d, bytes);
    uint64_t by_bus = claim(&d->bus_free, now, transfer);
    uint64_t by_channel = claim(least_busy(d), now, access + transfer);
    ADD(d->busy_ns, access + transfer);
    return by_bus > by_channel ? by_bus : by_channel;
}

/* The device that serves a read. */
static struct device *device_of_read(const struct target *t, uint64_t offset);

/* ---- reads ----------------------------------------------------------------------------------------------------- */

static uint64_t mark(uint64_t file, uint64_t position) { return (file ^ position * 0xff51afd7ed558ccdu) | 1; }

static int ended_recently_at(struct device *d, uint64_t position) {
    for (int i = 0; i < ENDS; i++)
        if (GET(d->end[i]) == position) return 1;
    return 0;
}

/* When the chunk is, or will be, in the read-ahead buffer; 0: it is not. */
static uint64_t read_ahead(struct device *d, uint64_t chunk, uint64_t now) {
    for (int i = 0; i < CHUNKS; i++)
        if (GET(d->chunk[i]) == chunk && GET(d->chunk_ready[i]) + FRESH > now) return GET(d->chunk_ready[i]);
    return 0;
}

/* Read from the medium, paying for the access unless the one head already stands there. */
static uint64_t from_medium(struct device *d, uint64_t now, uint64_t file, uint64_t from, uint64_t bytes) {
    uint64_t stood = __atomic_exchange_n(&d->head, mark(file, from + bytes), __ATOMIC_RELAXED);
    int in_place = d->channels == 1 && stood == mark(file, from);
    if (!in_place) ADD(d->accesses, 1);
    return request(d, now, in_place ? 0 : d->access_ns, bytes);
}

static uint64_t load_chunk(struct device *d, uint64_t now, uint64_t file, uint64_t start) {
    uint64_t ready = from_medium(d, now, file, start, d->chunk_bytes);
    uint64_t slot = ADD(d->next_chunk, 1) % CHUNKS;
    SET(d->chunk_ready[slot], ready);
    SET(d->chunk[slot], mark(file, start));
    return ready;
}

static void charge_read(struct target *t, uint64_t offset, uint64_t length) {
    struct device *d = device_of_read(t, offset);
    uint64_t now = now_ns(), done = now, end = offset + length;
    int sequential = ended_recently_at(d, mark(t->file, offset));
    ADD(d->reads, 1);
    ADD(d->read_bytes, length);
    for (uint64_t from = offset, next; from < end; from = next) {
        uint64_t start = from - from % d->chunk_bytes, ready = read_ahead(d, mark(t->file, start), now);
        next = start + d->chunk_bytes < end ? start + d->chunk_bytes : end;
        if (ready) ADD(d->read_ahead_hits, 1);
        else if (sequential) ready = load_chunk(d, now, t->file, start);
        else ready = from_medium(d, now, t->file, from, next - from);
        sequential = 1; /* the rest of this very request follows on */
        if (ready > done) done = ready;
    }
    SET(d->end[ADD(d->next_end, 1) % ENDS], mark(t->file, end));
    sleep_until(done);
}

/* ---- writes ---------------------------------------------------------------------------------------------------- */

static void charge_write(struct target *t, uint64_t length) {
    struct device *d = t->device;
    uint64_t now = now_ns();
    ADD(d->writes, 1);
    ADD(d->write_bytes, length);
    request(d, now, 0, length);
    sleep_until(now + transfer_ns(d, length));
}

static void charge_sync(struct target *t) { sleep_until(request(t->device, now_ns(), t->device->access_ns, 0)); }

#ifdef HOOKS
#include HOOKS
#else
static struct device *device_of_read(const struct target *t, uint64_t offset) {
    (void)offset;
    return t->device;
}
#define READABLE(fd)
#define LIMITED(fd, offset, bytes, call) ssize_t done = call
#endif

/* ---- the calls, as PostgreSQL 14 to 18 use them on data files ---------------------------------------------------- */

/* After a successful call: wait, with errno as the call left it. */
#define AFTER(fd, done, charge)                                    \
    do {                                                           \
        struct target *t = (done) > 0 ? target_of(fd) : NULL;      \
        int error = errno;                                         \
        if (t) charge;                                             \
        errno = error;                                             \
    } while (0)

POINTER(pread);
ssize_t pread(int fd, void *buffer, size_t bytes, off_t offset) {
    READABLE(fd);
    ssize_t done = REAL(pread)(fd, buffer, bytes, offset);
    AFTER(fd, done, charge_read(t, (uint64_t)offset, (uint64_t)done));
    return done;
}

POINTER(preadv);
ssize_t preadv(int fd, const struct iovec *vector, int count, off_t offset) {
    READABLE(fd);
    ssize_t done = REAL(preadv)(fd, vector, count, offset);
    AFTER(fd, done, charge_read(t, (uint64_t)offset, (uint64_t)done));
    return done;
}

POINTER(preadv2); /* not PostgreSQL's, but Python's preadv */
ssize_t preadv2(int fd, const struct iovec *vector, int count, off_t offset, int flags) {
    READABLE(fd);
    ssize_t done = REAL(preadv2)(fd, vector, count, offset, flags);
    AFTER(fd, done, charge_read(t, (uint64_t)(offset < 0 ? lseek(fd, 0, SEEK_CUR) - done : offset), (uint64_t)done));
    return done;
}

POINTER(read);
ssize_t read(int fd, void *buffer, size_t bytes) {
    READABLE(fd);
    ssize_t done = REAL(read)(fd, buffer, bytes);
    AFTER(fd, done, charge_read(t, (uint64_t)(lseek(fd, 0, SEEK_CUR) - done), (uint64_t)done));
    return done;
}

POINTER(pwrite);
ssize_t pwrite(int fd, const void *buffer, size_t bytes, off_t offset) {
    LIMITED(fd, offset, bytes, REAL(pwrite)(fd, buffer, bytes, offset));
    AFTER(fd, done, charge_write(t, (uint64_t)done));
    return done;
}

POINTER(pwritev);
ssize_t pwritev(int fd, const struct iovec *vector, int count, off_t offset) {
    LIMITED(fd, offset, bytes_of(vector, count), REAL(pwritev)(fd, vector, count, offset));
    AFTER(fd, done, charge_write(t, (uint64_t)done));
    return done;
}

POINTER(pwritev2);
ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t offset, int flags) {
    LIMITED(fd, offset, bytes_of(vector, count), REAL(pwritev2)(fd, vector, count, offset, flags));
    AFTER(fd, done, charge_write(t, (uint64_t)done));
    return done;
}

POINTER(write);
ssize_t write(int fd, const void *buffer, size_t bytes) {
    LIMITED(fd, -1, bytes, REAL(write)(fd, buffer, bytes));
    AFTER(fd, done, charge_write(t, (uint64_t)done));
    return done;
}

POINTER(copy_file_range);
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t bytes, unsigned flags) {
    READABLE(in);
    LIMITED(out, out_at ? *out_at : -1, bytes, REAL(copy_file_range)(in, in_at, out, out_at, bytes, flags));
    AFTER(in, done, charge_read(t, (uint64_t)((in_at ? *in_at : lseek(in, 0, SEEK_CUR)) - done), (uint64_t)done));
    AFTER(out, done, charge_write(t, (uint64_t)done));
    return done;
}

POINTER(fsync);
int fsync(int fd) {
    int failed = REAL(fsync)(fd);
    AFTER(fd, !failed, charge_sync(t));
    return failed;
}

POINTER(fdatasync);
int fdatasync(int fd) {
    int failed = REAL(fdatasync)(fd);
    AFTER(fd, !failed, charge_sync(t));
    return failed;
}

/* A hint to fill the page cache, which the model does without: it must not make reads of ours free, nor cost anything. */
POINTER(posix_fadvise);
int posix_fadvise(int fd, off_t offset, off_t length, int advice) {
    return target_of(fd) ? 0 : REAL(posix_fadvise)(fd, offset, length, advice);
}

/* A number that is used again must be looked up again. */
POINTER(close);
int close(int fd) {
    forget(fd);
    return REAL(close)(fd);
}

POINTER(dup2);
int dup2(int from, int to) {
    forget(to);
    return REAL(dup2)(from, to);
}

POINTER(dup3);
int dup3(int from, int to, int flags) {
    forget(to);
    return REAL(dup3)(from, to, flags);
}

/* The names that programs built with 64-bit file offsets import; off_t has 64 bits here either way. */
#define ALSO(name) __attribute__((alias(#name)))
ssize_t pread64(int, void *, size_t, off64_t) ALSO(pread);
ssize_t preadv64(int, const struct iovec *, int, off64_t) ALSO(preadv);
ssize_t preadv64v2(int, const struct iovec *, int, off64_t, int) ALSO(preadv2);
ssize_t pwritev64v2(int, const struct iovec *, int, off64_t, int) ALSO(pwritev2);
ssize_t pwrite64(int, const void *, size_t, off64_t) ALSO(pwrite);
ssize_t pwritev64(int, const struct iovec *, int, off64_t) ALSO(pwritev);
int posix_fadvise64(int, off64_t, off64_t, int) ALSO(posix_fadvise);
