/*
 * streams - the three standard descriptors: always taken, and what was printed has arrived.
 */
#ifndef IOLUA_STREAMS_H
#define IOLUA_STREAMS_H

/* Take those of the descriptors 0, 1 and 2 that were closed at the start: else the next file
 * that is opened gets the number, and what is printed is written into it. Reading and writing
 * them still fails. Returns 0 or -errno. */
int streams_take(void);

/* Flush standard output. Returns 0, or -1 after saying on stderr that something printed is
 * lost. */
int streams_finish(void);

#endif
