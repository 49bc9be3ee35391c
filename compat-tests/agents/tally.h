/*
 * tally.h - how many objects of each shape were allocated: of a class, plain or in arrays, or of a
 * primitive type, and of a size. The caller sees to it that only one thread at a time is in here.
 */
#ifndef TALLY_H
#define TALLY_H

#include "map.h"

typedef struct Tally {
    struct Tally *next; /* of the same class or type */
    jint is_array, size;
    long count;
} Tally;

/* By class ID, or by the number of the primitive type, which is no ID. */
static Map tallies;

static inline const void *tally_key(jobjectID class_id, jint is_array)
{
    return class_id != NULL ? (const void *)class_id : (const void *)(intptr_t)is_array;
}

static inline void count_allocation(const JVMPI_Event *e)
{
    jint is_array = e->u.obj_alloc.is_array, size = e->u.obj_alloc.size;
    const void *key = tally_key(e->u.obj_alloc.class_id, is_array);
    Tally *first = map_get(&tallies, key), *t = first;

    while (t != NULL && (t->is_array != is_array || t->size != size))
        t = t->next;
    if (t == NULL) {
        t = malloc(sizeof *t);
        if (t == NULL)
            abort();
        *t = (Tally){ first, is_array, size, 0 };
        map_put(&tallies, key, t);
    }
    t->count++;
}

static inline void clear_tallies(void)
{
    Slot *slot;
    Tally *t;

    MAP_EACH(&tallies, slot)
        for (t = slot->value; t != NULL; t = t->next)
            t->count = 0;
}

/* The allocated objects of some shapes: their number, the number of sizes, the largest size. */
typedef struct {
    long count, sizes, size;
} Sum;

/* The shapes of this class or type with a size in this range. */
static inline Sum sum_of(jobjectID class_id, jint is_array, jint least, jint most)
{
    const Tally *t = map_get(&tallies, tally_key(class_id, is_array));
    Sum sum = { 0, 0, 0 };

    for (; t != NULL; t = t->next)
        if (t->is_array == is_array && t->count > 0 && t->size >= least && t->size <= most) {
            sum.count += t->count;
            sum.sizes++;
            sum.size = t->size > sum.size ? t->size : sum.size;
        }
    return sum;
}

#endif
