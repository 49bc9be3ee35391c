/*
 * heap_walk.c - gives the program HeapWork its native method: HeapWork.walk asks for a heap dump of
 * level 2. With jvmpi=COMMAND it has this command write a heap dump into out=FILE.hprof instead.
 */
#include "agent.h"

static size_t dumped;

static jlong JNICALL walk(JNIEnv *env, jclass self, jclass watched)
{
    const char *command = option("jvmpi", NULL);
    jint result;

    if (command != NULL) {
        char line[4096];
        FILE *pipe;

        snprintf(line, sizeof line, "'%s' heap --pid %d -o '%s.hprof'", command, (int)getpid(), option("out", NULL));
        /* system() would have this process ignore the SIGQUIT that jvmpi sends. */
        pipe = popen(line, "w");
        if (pipe == NULL || pclose(pipe) != 0)
            abort();
        snprintf(line, sizeof line, "%s.hprof", option("out", NULL));
        remove(line);
        return -1;
    }
    dumped = 0;
    result = jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, NULL);
    report("walk result=%d bytes=%zu", (int)result, dumped);
    if (result != JVMPI_SUCCESS)
        abort();
    return -1;
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE) {
        JNINativeMethod method = { "walk", "(Ljava/lang/Class;)J", (void *)walk };
        jclass class = (*e->env_id)->FindClass(e->env_id, "HeapWork");

        if (class == NULL || (*e->env_id)->RegisterNatives(e->env_id, class, &method, 1) != JNI_OK)
            abort();
    } else if (e->event_type == (JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT))
        dumped = (size_t)(e->u.heap_dump.end - e->u.heap_dump.begin);
}

ON_LOAD(notify)
{
    enable(JVMPI_EVENT_JVM_INIT_DONE);
}
