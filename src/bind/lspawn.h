/*
 * lspawn - what main does when it is run as a minder (core/minder.h).
 */
#ifndef IOLUA_BIND_LSPAWN_H
#define IOLUA_BIND_LSPAWN_H

#include <stdbool.h>

/* Was this process started to mind a program? Then its main is lspawn_mind. */
bool lspawn_minds(char **argv);
int lspawn_mind(char **argv);

#endif
