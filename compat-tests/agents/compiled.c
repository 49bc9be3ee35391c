/*
 * compiled.c - compiled methods: checks that each was announced by CLASS_LOAD before, and that its
 * line table is in order.
 *
 * Options: when=late    compiled methods are asked for when the program has begun
 *          when=behind  methods reported at the start of the program are reported again after that
 */
#include "call.h"
#include "map.h"
#include "methods.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Map codes; /* the method of the code at each address */
static volatile long unloads;
static long never_loaded, again;
static long loads, unknown, disordered, foreign, beyond, mismatched;
static volatile int program_is_compiled;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_behind;

static void check_table(const JVMPI_Event *e, const Method *m)
{
    jint n = e->u.compiled_method_load.lineno_table_size, i, last = 0;
    const JVMPI_Lineno *table = e->u.compiled_method_load.lineno_table;

    mismatched += (n == 0) != (table == NULL);
    for (i = 0; i < n; i++) {
        disordered += table[i].offset < last;
        foreign += m != NULL && (table[i].lineno < m->first_line || table[i].lineno > m->last_line);
        beyond += table[i].offset < 0 || table[i].offset > e->u.compiled_method_load.code_size;
        last = table[i].offset;
    }
    program_is_compiled |= n > 0 && m != NULL && strncmp(m->name, "Rounds.lambda", 13) == 0;
}

static void enable_compiled(void)
{
    ENABLE(JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMPI_EVENT_COMPILED_METHOD_UNLOAD);
}

static int is_when(const char *when)
{
    return strcmp(option("when", ""), when) == 0;
}

/* The classes of the program Rounds, in the order in which it needs them. */
static void begin(const char *class_name)
{
    if (strcmp(class_name, "Await") == 0 && is_when("late"))
        enable_compiled();
    pthread_mutex_lock(&lock);
    if (strcmp(class_name, "Rounds") == 0)
        is_behind = is_when("behind");
    else if (strcmp(class_name, "Agent") == 0)
        is_behind = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void notify(JVMPI_Event *e)
{
    const Method *m;

    if (e->event_type == JVMPI_EVENT_CLASS_LOAD)
        begin(e->u.class_load.class_name);
    pthread_mutex_lock(&lock);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        learn_methods(e);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
        while (is_behind)
            pthread_cond_wait(&changed, &lock);
        m = method_of(e->u.compiled_method_load.method_id);
        loads++;
        unknown += m == NULL;
        again += map_get(&codes, e->u.compiled_method_load.code_addr) == e->u.compiled_method_load.method_id;
        map_put(&codes, e->u.compiled_method_load.code_addr, e->u.compiled_method_load.method_id);
        check_table(e, m);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_UNLOAD:
        unloads++;
        never_loaded += map_remove(&codes, e->u.compiled_method_unload.code_addr)
            != e->u.compiled_method_unload.method_id;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report("unloaded unloads=%ld never_loaded=%ld again=%ld", unloads, never_loaded, again);
        report("compiled loads=%ld unknown=%ld disordered=%ld foreign=%ld beyond=%ld mismatched=%ld",
               loads, unknown, disordered, foreign, beyond, mismatched);
    }
    pthread_mutex_unlock(&lock);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    return strcmp(what, "unloaded") == 0 ? unloads : 20 * program_is_compiled;
}

ON_LOAD(notify)
{
    enable(JVMPI_EVENT_CLASS_LOAD);
    if (!is_when("late"))
        enable_compiled();
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
}
