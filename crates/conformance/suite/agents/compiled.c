/*
 * compiled.c - methods that are compiled, and compiled code that goes.
 */
#include "methods.h"

static volatile int loads, unknown_methods, no_code, disordered, beyond, mismatched, unloads, never_loaded, hot;
static int hot_has_lines;
enum { CODES = 65536 };
static struct { jmethodID id; } codes[CODES];
static volatile int n_codes;

static void compiled(const JVMPI_Event *e)
{
    const JVMPI_Lineno *table = e->u.compiled_method_load.lineno_table;
    jint size = e->u.compiled_method_load.lineno_table_size, length = e->u.compiled_method_load.code_size, i;
    const Method *m = method_of(e->u.compiled_method_load.method_id);

    pthread_mutex_lock(&count_lock);
    unknown_methods += m == NULL;
    no_code += e->u.compiled_method_load.code_addr == NULL || length <= 0;
    mismatched += (size == 0) != (table == NULL);
    for (i = 0; i < size && table != NULL; i++) {
        disordered += i > 0 && table[i].offset < table[i - 1].offset;
        beyond += table[i].offset < 0 || table[i].offset > length;
    }
    if (m != NULL && strcmp(m->name, "hot") == 0 && size > 0) {
        hot_has_lines = 1;
        for (i = 0; i < size; i++)
            hot_has_lines &= table[i].lineno >= m->first_line && table[i].lineno <= m->last_line;
        hot = 1;
    }
    if (n_codes < CODES)
        codes[n_codes++].id = e->u.compiled_method_load.method_id;
    loads++;
    pthread_mutex_unlock(&count_lock);
}

static void discarded(const JVMPI_Event *e)
{
    int i, found = 0;

    pthread_mutex_lock(&count_lock);
    for (i = 0; i < n_codes && !found; i++)
        if (codes[i].id == e->u.compiled_method_unload.method_id) {
            codes[i].id = NULL;
            found = 1;
        }
    never_loaded += !found;
    unloads++;
    pthread_mutex_unlock(&count_lock);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        learn_methods(e);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
        compiled(e);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_UNLOAD:
        discarded(e);
    }
}

static void code(void)
{
    judge("compiled-001", loads > 0 && unknown_methods == 0, "CLASS_LOAD has not told of a method");
    judge("compiled-002", loads > 0 && no_code == 0, "there is no code");
    judge("compiled-003", loads > 0 && mismatched == 0, "lineno_table_size does not fit lineno_table");
    judge("compiled-004", hot && disordered == 0 && beyond == 0, "the offsets are not in order, or lie outside of the code");
    judge("compiled-005", hot && hot_has_lines, "a line is none of the method's");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "hot") == 0)
        return hot;
    if (strcmp(what, "code") == 0)
        code();
    else if (strcmp(what, "unloads") == 0) {
        jvmpi->RunGC();
        return unloads > number;
    } else if (strcmp(what, "unloaded") == 0)
        judge("compiled-006", unloads > 0 && never_loaded == 0, "it comes for code of which COMPILED_METHOD_LOAD has not told");
    else if (strcmp(what, "discarded") == 0)
        return unloads;
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_COMPILED_METHOD_LOAD);
    enable(JVMPI_EVENT_COMPILED_METHOD_UNLOAD);
    return JNI_OK;
}
