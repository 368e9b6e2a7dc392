/*
 * pty COMMAND...: runs a command on a terminal of its own and talks to it as standard input says:
 *
 *   send TEXT      type TEXT; \r \n \t \e \\ and \xHH are what they are in C
 *   expect TEXT    wait (60 s at most) until TEXT comes, after what was expected before
 *   many N TEXT    type TEXT N times
 *   wait MS        let the time pass
 *   leave X        type ^D, again each second until the command has ended
 *   signal N       send the signal to the command
 *
 * Then it waits for the end of the command and prints all that came, and `status N` (128 + the
 * signal where one ended it). Exit status: 0, or 1 when something expected did not come.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *seen;              /* all output */
static size_t length, room;     /* of it; of its memory */
static size_t looked;           /* where the next expectation begins */
static int master;

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Take what comes within ms. 0 when nothing came, -1 at the end. */
static int take(int ms)
{
    struct pollfd p = { .fd = master, .events = POLLIN };
    ssize_t n;

    if (poll(&p, 1, ms) <= 0)
        return 0;
    if (room - length < 65537)
        seen = realloc(seen, room = 2 * room + 65537);
    n = read(master, seen + length, 65536);
    if (n <= 0)
        return n < 0 && errno == EAGAIN ? 0 : -1;
    length += (size_t)n;
    seen[length] = '\0';
    return 1;
}

/* What was typed is echoed: take while writing, or both sides wait for each other. */
static void type(const char *text, size_t n)
{
    long end = now_ms() + 60000;

    while (n > 0 && now_ms() < end) {
        struct pollfd p = { .fd = master, .events = POLLIN | POLLOUT };
        ssize_t done;

        poll(&p, 1, 100);
        if (p.revents & POLLIN && take(0) < 0)
            return;
        done = write(master, text, n < 512 ? n : 512);
        if (done < 0 && errno != EAGAIN)
            return;
        if (done > 0) {
            text += done;
            n -= (size_t)done;
        }
    }
}

static size_t unescape(char *text)
{
    char *out = text;

    for (const char *in = text; *in; in++) {
        if (*in != '\\') {
            *out++ = *in;
            continue;
        }
        switch (*++in) {
        case 'r': *out++ = '\r'; break;
        case 'n': *out++ = '\n'; break;
        case 't': *out++ = '\t'; break;
        case 'e': *out++ = '\033'; break;
        case 'x': {
            char hex[3] = { in[1], in[2], '\0' };

            *out++ = (char)strtol(hex, NULL, 16);
            in += 2;
            break;
        }
        default: *out++ = *in;
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

static int expect(const char *text)
{
    long end = now_ms() + 60000;

    for (;;) {
        char *at = seen ? strstr(seen + looked, text) : NULL;

        if (at) {
            looked = (size_t)(at - seen) + strlen(text);
            return 0;
        }
        if (now_ms() >= end || take(50) < 0) {
            printf("expected and not seen: %s\n", text);
            return 1;
        }
    }
}

/* An editor that is just taking the terminal over loses a ^D. */
static int leave(void)
{
    for (int i = 0; i < 20; i++) {
        int got;

        type("\004", 1);
        while ((got = take(1000)) > 0)
            continue;
        if (got < 0)
            break;
    }
    return 0;
}

static int step(char *line, pid_t child)
{
    char *text = strchr(line, ' ');
    size_t n = text ? unescape(++text) : 0;

    if (!text)
        return 0;
    if (strncmp(line, "send ", 5) == 0) {
        type(text, n);
    } else if (strncmp(line, "many ", 5) == 0) {
        char *rest = strchr(text, ' ');

        for (long i = strtol(text, NULL, 10); rest && i > 0; i--)
            type(rest + 1, strlen(rest + 1));
    } else if (strncmp(line, "wait ", 5) == 0) {
        for (long end = now_ms() + atol(text); now_ms() < end;)
            take(10);
    } else if (strncmp(line, "signal ", 7) == 0) {
        kill(child, atoi(text));
    } else if (strncmp(line, "leave ", 6) == 0) {
        return leave();
    } else if (strncmp(line, "expect ", 7) == 0) {
        return expect(text);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct winsize size = { .ws_row = 24, .ws_col = 80 };
    char line[8192];
    int status, got, failed = 0;
    pid_t child;

    if (argc < 2)
        return 2;
    child = forkpty(&master, NULL, NULL, &size);
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0)
        return 77;
    fcntl(master, F_SETFL, O_NONBLOCK);
    while (!failed && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        failed = step(line, child);
    }
    if (failed)
        kill(child, SIGKILL);
    while ((got = take(15000)) > 0)
        continue;
    if (got == 0)
        kill(child, SIGKILL);   /* it does not end by itself */
    waitpid(child, &status, 0);
    printf("%s\nstatus %d\n", seen ? seen : "",
           WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    return failed;
}
