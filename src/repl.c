#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "bind/lmain.h"
#include "interrupt.h"
#include "leave.h"
#include "repl.h"
#include "run.h"

#include <lauxlib.h>

#define EARLY_MS  200                   /* after the editor has begun */
#define SIGNAL_MS 100                   /* until a signal that came is seen at the latest */
#define CONTROL_D '\004'

struct repl {
    lua_State *L;               /* the module iolua.repl is at index `module` */
    int module;
    struct lhost *host;
    EditLine *edit;             /* NULL: standard input is no terminal */
    History *history;
    char path[PATH_MAX];        /* of the history, "" for none */
    long began;                 /* ms: when the editor began the line */
    bool more;                  /* the chunk goes on: the second prompt */
    bool broken;                /* a signal came while a line was typed */
};

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct repl *of(EditLine *edit)
{
    void *data = NULL;

    el_get(edit, EL_CLIENTDATA, &data);
    return data;
}

static char *prompt(EditLine *edit)
{
    static char first[] = "> ", second[] = ">> ";

    return of(edit)->more ? second : first;
}

static bool at_start(EditLine *edit)
{
    const LineInfo *line = el_line(edit);

    return line->buffer == line->lastchar;
}

/* Was this typed before the editor had the terminal? A ^D comes as NUL then: the terminal took
 * it for the end of a line. */
static bool early(const struct repl *r)
{
    return now_ms() - r->began < EARLY_MS;
}

/* One character for the editor. A signal ends the line: the editor alone would go on. */
static int next_char(EditLine *edit, wchar_t *out)
{
    struct repl *r = of(edit);
    mbstate_t state = { 0 };
    char byte;

    for (;;) {
        struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
        size_t used;
        ssize_t n;

        if (r->host->signal) {          /* looked at between waits: it may come before one */
            r->broken = true;
            return -1;
        }
        if (poll(&input, 1, SIGNAL_MS) <= 0)
            continue;
        n = read(STDIN_FILENO, &byte, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        if (at_start(edit) && (byte == CONTROL_D || (byte == '\0' && early(r))))
            return 0;
        if (byte == '\0')
            continue;           /* the editor would quote what comes next */
        used = mbrtowc(out, &byte, 1, &state);
        if (used == (size_t)-2)
            continue;
        if (used == (size_t)-1)
            *out = L'?';
        return 1;
    }
}

/* Call module[name](text) for so many results; false and nothing on the stack when it fails. */
static bool ask(struct repl *r, const char *name, const char *text, size_t len, int results)
{
    lua_State *L = r->L;

    if (!lua_checkstack(L, results + 3))
        return false;
    lua_getfield(L, r->module, name);
    lua_pushlstring(L, text, len);
    if (lua_pcall(L, 1, results, 0) == LUA_OK)
        return true;
    lua_pop(L, 1);
    return false;
}

/* Tab: complete(text before the cursor) -> text to insert, list of what is possible. */
static unsigned char complete(EditLine *edit, int key)
{
    const LineInfo *line = el_line(edit);
    struct repl *r = of(edit);
    unsigned char result = CC_REFRESH_BEEP;

    (void)key;
    if (!ask(r, "complete", line->buffer, (size_t)(line->cursor - line->buffer), 2))
        return result;
    if (lua_isstring(r->L, -2) && lua_rawlen(r->L, -2) > 0 &&
        el_insertstr(edit, lua_tostring(r->L, -2)) == 0)
        result = CC_REFRESH;
    if (lua_isstring(r->L, -1)) {
        printf("\n%s\n", lua_tostring(r->L, -1));
        result = CC_REDISPLAY;
    }
    lua_pop(r->L, 2);
    return result;
}

/* Where the history of sessions is kept: IOLUA_HISTORY (empty: nowhere), or the home folder. */
static void find_history(struct repl *r)
{
    const char *path = getenv("IOLUA_HISTORY"), *home = getenv("HOME");

    r->path[0] = '\0';
    if (path)
        snprintf(r->path, sizeof r->path, "%s", path);
    else if (home)
        snprintf(r->path, sizeof r->path, "%s/.iolua_history", home);
}

static void open_editor(struct repl *r)
{
    HistEvent event;

    r->edit = el_init("iolua", stdin, stdout, stderr);
    r->history = history_init();
    if (!r->edit || !r->history)
        return;
    history(r->history, &event, H_SETSIZE, 1000);
    history(r->history, &event, H_SETUNIQUE, 1);
    find_history(r);
    if (r->path[0])
        history(r->history, &event, H_LOAD, r->path);
    el_set(r->edit, EL_CLIENTDATA, r);
    el_set(r->edit, EL_PROMPT, prompt);
    el_set(r->edit, EL_EDITOR, "emacs");
    el_set(r->edit, EL_SIGNAL, 0);
    el_wset(r->edit, EL_GETCFN, next_char);
    el_set(r->edit, EL_HIST, history, r->history);
    el_set(r->edit, EL_ADDFN, "iolua-complete", "Complete a name", complete);
    el_set(r->edit, EL_BIND, "^I", "iolua-complete", NULL);
    el_set(r->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
}

static void close_editor(struct repl *r)
{
    if (r->history)
        history_end(r->history);
    if (r->edit)
        el_end(r->edit);
}

/* A chunk as one entry, also over several lines; kept at once, in case the next one hangs. */
static void remember(struct repl *r, const char *chunk)
{
    HistEvent event;

    if (!r->history || !*chunk)
        return;
    history(r->history, &event, H_ENTER, chunk);
    if (r->path[0])
        history(r->history, &event, H_SAVE, r->path);
}

/* Push the next line without its newline. False at the end of input, or after a signal. */
static bool push_line(struct repl *r)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    int count;

    if (r->edit) {
        const char *text;

        r->began = now_ms();
        text = el_gets(r->edit, &count);

        if (!text || count <= 0)
            return false;
        lua_pushlstring(r->L, text, (size_t)count - (text[count - 1] == '\n'));
        return true;
    }
    n = getline(&line, &size, stdin);
    if (n > 0)
        lua_pushlstring(r->L, line, (size_t)n - (line[n - 1] == '\n'));
    free(line);
    return n > 0;
}

/* Read lines until they are a chunk. Pushes its function. False at the end of input or after a
 * signal; lines that are wrong are told and begun anew. */
static bool push_chunk(struct repl *r)
{
    lua_State *L = r->L;
    int base = lua_gettop(L);

    while (push_line(r)) {
        size_t len;
        const char *line = lua_tolstring(L, -1, &len);

        if (!ask(r, "add", line, len, 3))       /* line function text message */
            return false;
        if (lua_isstring(L, base + 3))
            remember(r, lua_tostring(L, base + 3));
        if (lua_isstring(L, base + 4))
            fprintf(stderr, "%s\n", lua_tostring(L, base + 4));
        r->more = lua_isnil(L, base + 3);
        lua_settop(L, base + 2);
        lua_remove(L, base + 1);
        if (lua_isfunction(L, -1))
            return true;
        lua_settop(L, base);
    }
    lua_settop(L, base);
    return false;
}

/* The line was given up by ^C: a new prompt. False when the run is to end. */
static bool start_over(struct repl *r)
{
    bool go_on = r->broken && r->host->signal == SIGINT;

    if (r->edit)
        fputc('\n', stdout);
    r->more = r->broken = false;
    if (!go_on)
        return false;
    interrupt_rearm();          /* before anything is called: it would be interrupted */
    ask(r, "reset", "", 0, 0);
    el_reset(r->edit);
    return true;
}

/* Run the function on top of the stack as the main fiber. -1, or the status of the end. */
static int run_chunk(struct repl *r)
{
    lua_State *L = r->L;
    enum lmain_end end;

    lua_getfield(L, r->module, "run");
    lua_insert(L, -2);
    end = lmain_call(L, 1);
    if (end == LMAIN_LEFT)
        return leave_status();
    if (end == LMAIN_FAILED && run_exit(L))
        return run_failure(L, r->host);
    if (end == LMAIN_FAILED)
        run_print_error(L);
    while (lmain_unseen(L))
        run_print_error(L);
    fflush(stdout);
    if (r->host->signal && r->host->signal != SIGINT)
        return RUN_FAILED;      /* ended by the signal */
    if (r->host->signal)
        interrupt_rearm();
    return -1;
}

static int run_lines(struct repl *r)
{
    int base = lua_gettop(r->L), status;

    for (;;) {
        if (push_chunk(r)) {
            status = run_chunk(r);
            lua_settop(r->L, base);
            if (status >= 0)
                return status;
        } else if (!start_over(r)) {
            return r->host->signal ? RUN_FAILED : -1;
        }
    }
}

int repl_run(lua_State *L, struct lhost *host)
{
    struct repl r = { .L = L, .host = host };
    int status;

    lua_getglobal(L, "require");
    lua_pushliteral(L, "iolua.repl");
    lua_call(L, 1, 1);
    r.module = lua_gettop(L);
    if (isatty(STDIN_FILENO))
        open_editor(&r);
    status = run_lines(&r);
    close_editor(&r);
    lua_settop(L, r.module - 1);
    return status;
}
