#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
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

/* Open for writing, files only: no device is ever written here. A file that keeps its bytes (in
 * a copied tree) is emptied; the kernel's own take no notice. */
static int open_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    if (st.st_size > 0 && ftruncate(fd, 0) < 0)
        errno = 0;
    return fd;
}

int attr_write(const char *path, const char *value)
{
    size_t len = strlen(value);
    int fd = open_file(path), err = 0;
    ssize_t n;

    if (fd < 0)
        return fd;
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
