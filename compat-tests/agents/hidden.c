/*
 * hidden.c - the events of a hidden class, and the actions that JVMTI allows on it.
 *
 * The program calls "look" with an object of the hidden class, when it has run its method.
 */
#include "call.h"
#include "class_file.h"

#include <jvmti.h>

static volatile long hooks, entries;
static jmethodID methods[4096];
static volatile int methods_used;

static int is_hidden_name(const char *name)
{
    return strncmp(name, "Hidden$$Lambda", 14) == 0;
}

static void notify(JVMPI_Event *e)
{
    int i;

    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        if (is_hidden_name(name_of(e->u.class_load_hook.class_data)))
            hooks++;
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        if (!is_hidden_name(e->u.class_load.class_name))
            break;
        report("class_load id=%#lx name=%s methods=%d", ID(e->u.class_load.class_id),
               q(e->u.class_load.class_name), (int)e->u.class_load.num_methods);
        for (i = 0; i < e->u.class_load.num_methods && methods_used < 4096; i++)
            methods[methods_used++] = e->u.class_load.methods[i].method_id;
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        for (i = 0; i < methods_used; i++)
            if (methods[i] == e->u.method.method_id)
                entries++;
        break;
    }
}

static void look(JNIEnv *env, jobject object)
{
    jvmtiEnv *jvmti;
    jvmtiCapabilities capabilities;
    jvmtiClassDefinition definition = { NULL, 4, (const unsigned char *)"none" };
    jclass class = (*env)->GetObjectClass(env, object);
    jboolean can_change = JNI_TRUE;
    jint retransformed, redefined;

    memset(&capabilities, 0, sizeof capabilities);
    capabilities.can_retransform_classes = 1;
    capabilities.can_redefine_classes = 1;
    if ((*agent_vm)->GetEnv(agent_vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK
        || (*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE)
        abort();
    definition.klass = class;
    (*jvmti)->IsModifiableClass(jvmti, class, &can_change);
    retransformed = (jint)(*jvmti)->RetransformClasses(jvmti, 1, &class);
    redefined = (jint)(*jvmti)->RedefineClasses(jvmti, 1, &definition);
    report("hidden id=%#lx can_change=%d retransformed=%d redefined=%d hooks=%ld entries=%ld",
           ID(jvmpi->jobject2jobjectID(class)), can_change, (int)retransformed, (int)redefined, hooks, entries);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    look(env, object);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_CLASS_LOAD_HOOK);
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_METHOD_ENTRY);
    return JNI_OK;
}
