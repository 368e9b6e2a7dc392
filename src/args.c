#include "args.h"

#include <stdio.h>
#include <string.h>

static int complain(char *message, size_t len, const char *what, const char *option)
{
    snprintf(message, len, "%s: %s", option, what);
    return -1;
}

/* One long option, the dashes not included. */
static int long_option(struct args *a, const char *name)
{
    if (strcmp(name, "help") == 0)
        a->help = true;
    else if (strcmp(name, "version") == 0)
        a->version = true;
    else if (strcmp(name, "doctor") == 0 || strcmp(name, "restore") == 0)
        a->command = name;
    else
        return -1;
    return 0;
}

/* The file of --machine at argv[*i], which is after it. */
static int machine_option(struct args *a, int *i, char *message, size_t len)
{
    if (*i + 1 >= a->argc || a->argv[*i + 1][0] == '-')
        return complain(message, len, "needs a file", a->argv[*i]);
    a->machine = a->argv[++*i];
    return 0;
}

/* One option of one letter at argv[*i]; takes the argument of -e and -l. */
static int short_option(struct args *a, int *i, char *message, size_t len)
{
    const char *option = a->argv[*i];
    bool alone = option[2] == '\0';

    switch (option[1]) {
    case 'e':
        a->chunks = true;
        /* fall through */
    case 'l':
        if (alone && (*i + 1 >= a->argc || a->argv[*i + 1][0] == '-'))
            return complain(message, len, "needs an argument", option);
        *i += alone;
        return 0;
    case 'i':
        a->interactive = a->version = true;
        break;
    case 'h':
        a->help = true;
        break;
    case 'v':
        a->version = true;
        break;
    case 'E':
        a->no_env = true;
        break;
    case 'W':
        break;
    default:
        return complain(message, len, "unknown option", option);
    }
    return alone ? 0 : complain(message, len, "unknown option", option);
}

int args_parse(struct args *a, int argc, char **argv, char *message, size_t len)
{
    int i;

    *a = (struct args){ .argc = argc, .argv = argv, .script = argc };
    for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--machine") == 0) {
            if (machine_option(a, &i, message, len) < 0)
                return -1;
        } else if (argv[i][1] == '-') {
            if (long_option(a, argv[i] + 2) < 0)
                return complain(message, len, "unknown option", argv[i]);
            if (a->command)     /* what follows is its own */
                break;
        } else if (short_option(a, &i, message, len) < 0) {
            return -1;
        }
    }
    a->script = i < argc ? i : argc;
    a->stdin_script = i < argc && strcmp(argv[i], "-") == 0;
    return 0;
}

char args_chunk(const struct args *a, int *at, const char **text)
{
    for (int i = *at; i < a->script; i++) {
        const char *option = a->argv[i];
        char letter = option[0] == '-' ? option[1] : '\0';

        if (letter == 'e' || letter == 'l') {
            *text = option[2] ? option + 2 : a->argv[++i];
            *at = i + 1;
            return letter;
        }
        if (letter == 'W') {
            *at = i + 1;
            return letter;
        }
    }
    *at = a->script;
    return 0;
}
