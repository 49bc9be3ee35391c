/*
 * loaded_files.c - CLASS_LOAD_HOOK, also of the classes that are loaded before it is enabled.
 *
 * Option late=1     enables the event only when the program calls "enable"; "disable" disables it
 *        methods=1  enables METHOD_ENTRY too, so that the loaded classes are rewritten; no file may show that
 *        toggle=1   disables and enables METHOD_ENTRY in the first handlers, which come while the shim reads the files of
 *                   loaded classes
 *        change=1   gives each class a constant more, which nobody uses, and Object.toString() another text; Integer is
 *                   no longer final, which JVMTI refuses
 *
 * The program calls "check", which reports each loaded class that was not shown exactly once, or not
 * before its CLASS_LOAD, and counts the classes of lambdas. JVMTI lets nobody change those.
 */
#include "call.h"
#include "class_file.h"

#include <jvmti.h>
#include <pthread.h>

/* A class by its name, as class files spell it. */
struct seen {
    char *name;
    int hooks, loads, hooks_after_load;
};

static struct seen all[16384];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long shown, entries;

/* The caller has the lock. */
static struct seen *find(const char *name)
{
    struct seen *seen = all;

    while (seen->name != NULL && strcmp(seen->name, name) != 0)
        seen++;
    if (seen->name == NULL)
        seen->name = strdup(name);
    return seen;
}

/* The number of the Utf8 constant with this text. */
static unsigned utf8(const unsigned char *file, const unsigned char **constants, const char *text)
{
    unsigned i, length = (unsigned)strlen(text);

    for (i = 1; i < two(file + 8); i++)
        if (constants[i] != NULL && *constants[i] == 1 && two(constants[i] + 1) == length
            && memcmp(constants[i] + 3, text, length) == 0)
            return i;
    return 0;
}

static void change(JVMPI_Event *e, const char *name)
{
    static const unsigned char more[] = "\001\000\006Unused";
    const unsigned char **constants = calloc(65536, sizeof *constants);
    const unsigned char *data = e->u.class_load_hook.class_data;
    size_t size = (size_t)e->u.class_load_hook.class_data_len, added = sizeof more - 1;
    size_t head = (size_t)(find_constants(data, constants) - data);
    unsigned char *fresh = e->u.class_load_hook.malloc_f((unsigned)(size + added));
    unsigned count = two(data + 8) + 1;

    memcpy(fresh, data, head);
    memcpy(fresh + head, more, added);
    memcpy(fresh + head + added, data + head, size - head);
    fresh[8] = (unsigned char)(count >> 8);
    fresh[9] = (unsigned char)count;
    if (strcmp(name, "java/lang/Object") == 0)
        fresh[constants[utf8(data, constants, "@")] + 3 - data] = '#';
    if (strcmp(name, "java/lang/Integer") == 0)
        fresh[head + added + 1] ^= 0x10;
    e->u.class_load_hook.new_class_data = fresh;
    e->u.class_load_hook.new_class_data_len = (jint)(size + added);
    free(constants);
}

static void toggle(JVMPI_Event *e)
{
    enum { TIMES = 6 };

    keep_class_file(e);
    if (__atomic_add_fetch(&shown, 1, __ATOMIC_SEQ_CST) <= TIMES) {
        CHECK("off", jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL) == JVMPI_SUCCESS);
        CHECK("on", jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL) == JVMPI_SUCCESS);
    }
}

static void hook(JVMPI_Event *e)
{
    const unsigned char *data = e->u.class_load_hook.class_data;
    const char *name = name_of(data);
    const unsigned char **constants = calloc(65536, sizeof *constants);
    struct seen *seen;

    find_constants(data, constants);
    if (utf8(data, constants, "jvmpi/Tracker") != 0)
        report("error what=rewritten name=%s", q(name));
    if (e->env_id != current_env())
        report("error what=thread name=%s", q(name));
    pthread_mutex_lock(&lock);
    seen = find(name);
    seen->hooks++;
    seen->hooks_after_load += seen->loads != 0;
    pthread_mutex_unlock(&lock);
    if (strcmp(name, "java/lang/Object") == 0)
        report("object text=%s", utf8(data, constants, "#") != 0 ? "#" : "@");
    free(constants);
    if (option("change", NULL) != NULL)
        change(e, name);
    if (option("toggle", NULL) != NULL)
        toggle(e);
}

static void loaded(const char *dotted)
{
    char name[1024] = "", *p;

    strncpy(name, dotted, sizeof name - 1);
    for (p = name; *p != '\0'; p++)
        *p = *p == '.' ? '/' : *p;
    pthread_mutex_lock(&lock);
    find(name)->loads++;
    pthread_mutex_unlock(&lock);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        hook(e);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        loaded(e->u.class_load.class_name);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        __atomic_add_fetch(&entries, 1, __ATOMIC_SEQ_CST);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        report("jvm_init_done shown=%d", find("java/lang/Object")->hooks);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report("end shown=%ld entries=%ld", shown, entries);
    }
}

/* The loaded classes that have class files. */
static void check(void)
{
    jvmtiEnv *jvmti;
    jclass *classes;
    jint count, i, right = 0, lambdas = 0;

    if ((*agent_vm)->GetEnv(agent_vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK
        || (*jvmti)->GetLoadedClasses(jvmti, &count, &classes) != JVMTI_ERROR_NONE)
        abort();
    for (i = 0; i < count; i++) {
        jboolean can_change = JNI_FALSE;
        char *signature;
        struct seen seen;

        (*jvmti)->IsModifiableClass(jvmti, classes[i], &can_change);
        (*jvmti)->GetClassSignature(jvmti, classes[i], &signature, NULL);
        lambdas += !can_change && strstr(signature, "$$Lambda") != NULL;
        if (!can_change || signature[0] != 'L' || strcmp(signature, "Ljvmpi/Tracker;") == 0)
            continue;
        signature[strlen(signature) - 1] = '\0';
        pthread_mutex_lock(&lock);
        seen = *find(signature + 1);
        pthread_mutex_unlock(&lock);
        if (seen.hooks == 1 && seen.hooks_after_load == 0)
            right++;
        else
            report("wrong name=%s hooks=%d after_load=%d", q(signature + 1), seen.hooks, seen.hooks_after_load);
    }
    report("check right=%d lambdas=%d", (int)right, (int)lambdas);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "check") == 0)
        check();
    else if (strcmp(what, "enable") == 0)
        enable(JVMPI_EVENT_CLASS_LOAD_HOOK);
    else if (strcmp(what, "disable") == 0)
        jvmpi->DisableEvent(JVMPI_EVENT_CLASS_LOAD_HOOK, NULL);
    else if (strcmp(what, "enable methods") == 0)
        enable(JVMPI_EVENT_METHOD_ENTRY);
    else if (strcmp(what, "disable methods") == 0)
        jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
    else
        abort();
    return 0;
}

ON_LOAD(notify)
{
    if (option("late", NULL) == NULL)
        enable(JVMPI_EVENT_CLASS_LOAD_HOOK);
    if (option("methods", NULL) != NULL)
        enable(JVMPI_EVENT_METHOD_ENTRY);
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN);
}
