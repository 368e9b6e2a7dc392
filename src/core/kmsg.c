#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/kmsg.h"

#define KMSG_WARNING 4          /* a record begins with its priority, facility times 8 + level */

void kmsg_open(struct kmsg *k)
{
    k->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (k->fd >= 0 && lseek(k->fd, 0, SEEK_END) < 0)
        kmsg_close(k);
}

/* A record a read: "6,339,5140900,-;text\n". EPIPE: some were overwritten, go on. */
size_t kmsg_find(char *text, size_t len, struct kmsg *k, const char *word)
{
    char record[1024];
    const char *at;
    ssize_t n;

    while (k->fd >= 0) {
        n = read(k->fd, record, sizeof record - 1);
        if (n < 0 && errno == EPIPE)
            continue;
        if (n <= 0)
            return 0;
        record[n] = '\0';
        record[strcspn(record, "\n")] = '\0';
        at = strchr(record, ';');
        at = at && strtoul(record, NULL, 10) % 8 <= KMSG_WARNING ? strstr(at, word) : NULL;
        if (at)
            return (size_t)snprintf(text, len, "%s", at + strlen(word));
    }
    return 0;
}

void kmsg_close(struct kmsg *k)
{
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
}
