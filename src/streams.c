#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "streams.h"

int streams_take(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        /* The wrong way round, so that using them fails as on a closed one. The lowest free
         * number is given, and those below are taken. */
        if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return -errno;
    }
    return 0;
}

int streams_finish(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "iolua: standard output: %s\n",
            errno ? strerror(errno) : "something printed could not be written");
    clearerr(stdout);
    return -1;
}
