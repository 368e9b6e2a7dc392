#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/attr.h"

/* Fill text from fd until its end. */
static int fill(char *text, size_t len, int fd)
{
    size_t have = 0;

    for (;;) {
        ssize_t n = read(fd, text + have, len - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return (int)have;
        have += (size_t)n;
        if (have == len)
            return -E2BIG;
    }
}

int attr_read(char *text, size_t len, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), n;

    if (fd < 0)
        return -errno;
    n = fill(text, len, fd);
    close(fd);
    if (n < 0)
        return n;
    if (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    return n;
}

int attr_write(const char *path, const char *value)
{
    size_t len = strlen(value);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY), err = 0;
    ssize_t n;

    if (fd < 0)
        return -errno;
    do
        n = write(fd, value, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        err = -errno;
    else if ((size_t)n != len)
        err = -EIO;
    if (close(fd) < 0 && err == 0)
        err = -errno;
    return err;
}
