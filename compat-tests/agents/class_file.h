/*
 * class_file.h - looking into class files.
 */
#ifndef CLASS_FILE_H
#define CLASS_FILE_H

#include <string.h>

static inline unsigned two(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

/* Finds the constants of this class file, by number; returns the place after the last one. */
static inline const unsigned char *find_constants(const unsigned char *file, const unsigned char **constants)
{
    unsigned count = two(file + 8), i;
    const unsigned char *p = file + 10;

    for (i = 1; i < count; i++) {
        constants[i] = p;
        switch (*p) {
        case 1: p += 3 + two(p + 1); break;
        case 5: case 6: p += 9; i++; break;
        case 7: case 8: case 16: case 19: case 20: p += 3; break;
        case 15: p += 4; break;
        default: p += 5;
        }
    }
    return p;
}

/* The name of the class in this class file: the Utf8 that the Class of this_class names. */
static inline const char *name_of(const unsigned char *file)
{
    static __thread char name[1024];
    static __thread const unsigned char *constants[65536];
    const unsigned char *p = find_constants(file, constants);
    unsigned length;

    p = constants[two(constants[two(p + 2)] + 1)];
    length = two(p + 1) < sizeof name ? two(p + 1) : sizeof name - 1;
    memcpy(name, p + 3, length);
    name[length] = '\0';
    return name;
}

#endif
