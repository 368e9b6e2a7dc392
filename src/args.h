/*
 * args - the command line: iolua [options] [script [args]], with Lua's own habits.
 *
 * Parsing only looks: nothing is run and nothing printed. -e, -l and -W are run later, in their
 * order, by walking argv again with args_chunk.
 */
#ifndef IOLUA_ARGS_H
#define IOLUA_ARGS_H

#include <stdbool.h>
#include <stddef.h>

struct args {
    int argc;
    char **argv;
    int script;                 /* index of the script or command in argv; argc: there is none */
    bool stdin_script;          /* the script is "-" */
    bool interactive;           /* -i */
    bool version;               /* -v, --version */
    bool no_env;                /* -E: LUA_INIT, LUA_PATH and LUA_CPATH are not looked at */
    bool help;                  /* --help */
    bool chunks;                /* there is an -e */
    const char *machine;        /* --machine FILE: the description, or NULL */
    const char *command;        /* --doctor, --restore: command without the dashes, or NULL */
};

/* Fill a. 0, or -1 with what is wrong in message. */
int args_parse(struct args *a, int argc, char **argv, char *message, size_t len);

/*
 * The next of -e, -l and -W at or after argv[*at]: its letter, with its text in *text and *at
 * moved behind it; 0 when there are no more.
 */
char args_chunk(const struct args *a, int *at, const char **text);

#endif
