/* What the disk allows, without an interpreter: durable writes one after the other, and by a leader for all who wait. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* `count` records of `size` bytes from `offset` on, each made durable before the next; 0, or the errno. */
int durable_writes(int fd, long offset, int count, int size) {
    int failed = 0;
    char *record = malloc(size);
    if (record == NULL) return ENOMEM;
    memset(record, 'x', size);
    record[size - 1] = '\n';
    for (int i = 0; i < count && !failed; i++, offset += size)
        if (pwrite(fd, record, size, offset) != size || fdatasync(fd)) failed = errno ? errno : EIO;
    free(record);
    return failed;
}

/* Group commit: whoever finds no leader writes what all have left and syncs once for them. */
struct group {
    int fd, size, failed, leading;
    long offset;
    double ends;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char *left, *taken;
    size_t length;
    long written, durable, records, syncs;
};

static void lead(struct group *g) {
    char *batch = g->left;
    size_t length = g->length;
    long upto = g->written, offset = g->offset;
    g->left = g->taken;
    g->taken = batch;
    g->length = 0;
    g->offset += length;
    g->leading = 1;
    pthread_mutex_unlock(&g->mutex);
    int bad = pwrite(g->fd, batch, length, offset) != (ssize_t)length || fdatasync(g->fd);
    pthread_mutex_lock(&g->mutex);
    if (bad) g->failed = errno ? errno : EIO;
    g->leading = 0;
    g->durable = upto;
    g->syncs++;
    pthread_cond_broadcast(&g->changed);
}

static void *member(void *argument) {
    struct group *g = argument;
    while (now() < g->ends && !g->failed) {
        pthread_mutex_lock(&g->mutex);
        memset(g->left + g->length, 'x', g->size);
        g->length += g->size;
        long mine = ++g->written;
        while (g->durable < mine && !g->failed) {
            if (g->leading) pthread_cond_wait(&g->changed, &g->mutex);
            else lead(g);
        }
        g->records++;
        pthread_mutex_unlock(&g->mutex);
    }
    return NULL;
}

/* For `seconds`, records of `size` bytes by `threads` threads; counted: records and syncs, and the next offset. */
int group_commit(int fd, long offset, int threads, double seconds, int size, long *records, long *syncs, long *next) {
    struct group g = {.fd = fd, .size = size, .offset = offset};
    pthread_t members[256];
    if (threads > 256) return EINVAL;
    pthread_mutex_init(&g.mutex, NULL);
    pthread_cond_init(&g.changed, NULL);
    g.left = malloc((size_t)threads * size);
    g.taken = malloc((size_t)threads * size);
    if (g.left == NULL || g.taken == NULL) return ENOMEM;
    g.ends = now() + seconds;
    for (int i = 0; i < threads; i++) pthread_create(&members[i], NULL, member, &g);
    for (int i = 0; i < threads; i++) pthread_join(members[i], NULL);
    free(g.left);
    free(g.taken);
    *records = g.records;
    *syncs = g.syncs;
    *next = g.offset;
    return g.failed;
}
