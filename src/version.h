/*
 * version - what this build calls itself.
 */
#ifndef IOLUA_VERSION_H
#define IOLUA_VERSION_H

#define IOLUA_VERSION "0.1.0"

#endif
