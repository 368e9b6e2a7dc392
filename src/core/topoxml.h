/*
 * topoxml - is this text a topology that hwloc 2 wrote?
 *
 * hwloc 2.9 crashes on files that it did not write itself: an object without its sets, a file
 * of hwloc 3, one that was cut or edited by hand. So the text is checked whole before the
 * library sees it: well-formed, version 2, only elements and types that version knows, each
 * object with its four sets, children inside their parents. No library, no state.
 */
#ifndef IOLUA_CORE_TOPOXML_H
#define IOLUA_CORE_TOPOXML_H

#include <stddef.h>

/* 0, or -EINVAL with "line N: reason" in message. */
int topoxml_check(const char *text, size_t n, char *message, size_t len);

/* The file's checked text with a NUL after it, which the caller frees. 0, or -errno with a
 * sentence in message that names the file. */
int topoxml_read(char **out, size_t *size, const char *path, char *message, size_t len);

#endif
