/*
 * events.c - switching events on and off. What is switched is mostly what tells of JNI's global
 * references, as the agent can make one at any time, and is told on the spot.
 */
#include "conform.h"

static volatile int class_loads, allocs, frees, nested, stops;
static volatile int late_allocs;

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        class_loads++;
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
        count(&allocs);
        if (nested)
            jvmpi->EnableEvent(JVMPI_EVENT_JNI_GLOBALREF_FREE, NULL);
        if (stops)
            jvmpi->DisableEvent(JVMPI_EVENT_JNI_GLOBALREF_ALLOC, NULL);
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_FREE:
        count(&frees);
    }
}

/* How many events tell that a reference is made. */
static int made(JNIEnv *env)
{
    int before = allocs;
    jobject local = (*env)->NewStringUTF(env, "referred to");

    (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, local));
    (*env)->DeleteLocalRef(env, local);
    return allocs - before;
}

static jint on(void *argument)
{
    return jvmpi->EnableEvent(JVMPI_EVENT_JNI_GLOBALREF_ALLOC, argument);
}

static jint off(void)
{
    return jvmpi->DisableEvent(JVMPI_EVENT_JNI_GLOBALREF_ALLOC, NULL);
}

static void switching(JNIEnv *env)
{
    int before;

    expect_int("events-004", "events before any was enabled", made(env) + late_allocs, 0);
    on(NULL);
    expect_int("events-004", "events of one that is enabled", made(env), 1);
    done("events-004");

    expect_int("events-005", "enabled again", on(NULL), JVMPI_SUCCESS);
    expect_int("events-005", "events of what was enabled twice", made(env), 1);
    off();
    expect_int("events-005", "events of what was disabled once", made(env), 0);
    done("events-005");

    expect_int("events-006", "disabled again", off(), JVMPI_SUCCESS);
    on(NULL);
    expect_int("events-006", "events of what was enabled once", made(env), 1);
    expect_int("events-006", "disabled", off(), JVMPI_SUCCESS);
    expect_int("events-006", "events of what was disabled", made(env), 0);
    done("events-006");

    expect_int("events-007", "result with an argument", on(jvmpi), JVMPI_SUCCESS);
    judge("events-007", made(env) == 1, "the event does not come");
    off();

    before = frees;
    on(NULL);
    made(env);
    expect_int("events-008", "events of another type", frees - before, 0);
    jvmpi->EnableEvent(JVMPI_EVENT_JNI_GLOBALREF_FREE, NULL);
    off();
    expect_int("events-008", "events of the disabled type", made(env), 0);
    expect_int("events-008", "events of the other type", frees - before, 1);
    done("events-008");
    jvmpi->DisableEvent(JVMPI_EVENT_JNI_GLOBALREF_FREE, NULL);
}

static void from_handlers(JNIEnv *env)
{
    int before = frees;

    on(NULL);
    nested = 1;
    made(env);
    nested = 0;
    judge("events-009", frees == before + 1, "what a handler enables does not come");
    jvmpi->DisableEvent(JVMPI_EVENT_JNI_GLOBALREF_FREE, NULL);
    stops = 1;
    expect_int("events-010", "the event whose handler disables it", made(env), 1);
    stops = 0;
    expect_int("events-010", "events after it", made(env), 0);
    done("events-010");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "made") == 0)
        return made(env);
    if (strcmp(what, "on") == 0)
        return on(NULL);
    if (strcmp(what, "off") == 0)
        return off();
    if (strcmp(what, "other thread") == 0)
        judge("events-011", number == 1, "a thread that runs already does not send it");
    if (strcmp(what, "other thread again") == 0)
        judge("events-012", number == 0, "a thread that runs already sends it still");
    if (strcmp(what, "switch") == 0) {
        judge("events-001", class_loads > 0, "what was enabled in JVM_OnLoad does not come");
        switching(env);
        from_handlers(env);
    }
    return 0;
}

/* Those that are only requested. */
static int is_dump(jint type)
{
    return type == JVMPI_EVENT_HEAP_DUMP || type == JVMPI_EVENT_OBJECT_DUMP || type == JVMPI_EVENT_MONITOR_DUMP;
}

static int is_defined(jint type)
{
    return (type >= JVMPI_EVENT_METHOD_ENTRY && type <= JVMPI_EVENT_INSTRUCTION_START)
        || (type >= JVMPI_EVENT_THREAD_START && type <= JVMPI_MAX_EVENT_TYPE_VAL && type != 36);
}

static void results(void)
{
    jint unknown[5], type;
    int i;

    for (type = 0; type <= JVMPI_MAX_EVENT_TYPE_VAL; type++) {
        int dump = is_dump(type), defined = is_defined(type);
        const char *id = dump ? "events-002" : defined ? "events-001" : "events-003";
        jint expected = !dump && defined ? JVMPI_SUCCESS : JVMPI_NOT_AVAILABLE;
        char what[64];

        sprintf(what, "EnableEvent(%d)", (int)type);
        expect_int(id, what, jvmpi->EnableEvent(type, NULL), expected);
        sprintf(what, "DisableEvent(%d)", (int)type);
        expect_int(id, what, jvmpi->DisableEvent(type, NULL), expected);
    }
    unknown[0] = -1;
    unknown[1] = JVMPI_MAX_EVENT_TYPE_VAL + 1;
    unknown[2] = (jint)0x80000000;
    unknown[3] = 0x7fffffff;
    unknown[4] = JVMPI_REQUESTED_EVENT | JVMPI_EVENT_CLASS_LOAD;
    for (i = 0; i < 5; i++) {
        expect_int("events-003", "EnableEvent of an unknown type", jvmpi->EnableEvent(unknown[i], NULL),
                   JVMPI_NOT_AVAILABLE);
        expect_int("events-003", "DisableEvent of an unknown type", jvmpi->DisableEvent(unknown[i], NULL),
                   JVMPI_NOT_AVAILABLE);
    }
    done("events-002");
    done("events-003");
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    results();
    enable(JVMPI_EVENT_CLASS_LOAD);
    return JNI_OK;
}
