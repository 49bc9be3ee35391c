/*
 * map.h - a map from IDs to what an agent keeps of them. The caller sees to it that only one thread
 * at a time is in here.
 */
#ifndef MAP_H
#define MAP_H

#include "agent.h"

typedef struct {
    const void *key; /* NULL when the slot is free */
    void *value;
} Slot;

/* Slots are found by trying one after the other, beginning with the one that the hash names. */
typedef struct {
    Slot *slots;
    size_t room, used; /* room is 0 or a power of two, from LEAST_ROOM on */
} Map;

enum { LEAST_ROOM = 1024 };

/* The slot that the key hashes to. IDs differ in their middle bits most. */
static inline size_t map_home(const Map *map, const void *key)
{
    return (((uintptr_t)key >> 3) * 0x9e3779b97f4a7c15u >> 20) & (map->room - 1);
}

/* The slot of the key, or the free one where it would go; map->room is not 0. */
static inline Slot *map_slot(const Map *map, const void *key)
{
    size_t i = map_home(map, key);

    while (map->slots[i].key != NULL && map->slots[i].key != key)
        i = (i + 1) & (map->room - 1);
    return &map->slots[i];
}

/* The value, or NULL if the map does not have the key. */
static inline void *map_get(const Map *map, const void *key)
{
    return map->room == 0 || key == NULL ? NULL : map_slot(map, key)->value;
}

/* Makes room for this many slots; all used ones must find a place. */
static inline void map_resize(Map *map, size_t room)
{
    Map other = { calloc(room, sizeof *other.slots), room, map->used };
    size_t i;

    if (other.slots == NULL)
        abort();
    for (i = 0; i < map->room; i++)
        if (map->slots[i].key != NULL)
            *map_slot(&other, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = other;
}

/* Sets the value of a key, neither of them NULL. */
static inline void map_put(Map *map, const void *key, void *value)
{
    Slot *slot;

    if (map->used >= map->room / 2)
        map_resize(map, map->room > 0 ? 2 * map->room : LEAST_ROOM);
    slot = map_slot(map, key);
    map->used += slot->key == NULL;
    slot->key = key;
    slot->value = value;
}

/* Takes the key out; its value, or NULL if it was not there. */
static inline void *map_remove(Map *map, const void *key)
{
    Slot *hole = map->room == 0 || key == NULL ? NULL : map_slot(map, key);
    void *value = hole != NULL ? hole->value : NULL;
    size_t i;

    if (value == NULL)
        return NULL;
    map->used--;
    /* Entries after the hole move up, unless they are nearer to their home there. */
    for (i = (size_t)(hole - map->slots + 1) & (map->room - 1); map->slots[i].key != NULL;
         i = (i + 1) & (map->room - 1)) {
        size_t from_home = (i - map_home(map, map->slots[i].key)) & (map->room - 1);
        size_t from_hole = (i - (size_t)(hole - map->slots)) & (map->room - 1);
        if (from_home >= from_hole) {
            *hole = map->slots[i];
            hole = &map->slots[i];
        }
    }
    hole->key = NULL;
    hole->value = NULL;
    if (map->room > LEAST_ROOM && map->used < map->room / 8)
        map_resize(map, map->room / 2);
    return value;
}

/* Every slot that is taken, in no order. The map must not be changed meanwhile. */
#define MAP_EACH(map, slot) \
    for (slot = (map)->slots; slot != (map)->slots + (map)->room; slot++) \
        if (slot->key != NULL)

#endif
