/* both.c - counts the objects of each class: -Xrunboth with JVMPI, -agentlib:both with JVMTI. */
#include <jvmpi.h>
#include <jvmti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Class {
    struct Class *next;
    jobjectID id; /* with JVMPI */
    char *name;
    long objects;
} Class;

static Class *classes;
static JVMPI_Interface *jvmpi; /* one of these two is NULL */
static jvmtiEnv *jvmti;
static JVMPI_RawMonitor jvmpi_lock;
static jrawMonitorID jvmti_lock;

static void enter(void)
{
    if (jvmpi != NULL)
        jvmpi->RawMonitorEnter(jvmpi_lock);
    else
        (*jvmti)->RawMonitorEnter(jvmti, jvmti_lock);
}

static void leave(void)
{
    if (jvmpi != NULL)
        jvmpi->RawMonitorExit(jvmpi_lock);
    else
        (*jvmti)->RawMonitorExit(jvmti, jvmti_lock);
}

static Class *add_class(const char *name)
{
    Class *c = calloc(1, sizeof *c);

    if (c == NULL || (c->name = strdup(name)) == NULL)
        exit(1);
    c->next = classes;
    return classes = c;
}

static void write_report(void)
{
    const Class *c;

    for (c = classes; c != NULL; c = c->next)
        if (c->objects > 0)
            fprintf(stderr, "%8ld %s\n", c->objects, c->name);
}

/* ---- JVMPI ---- */

static void notify(JVMPI_Event *e)
{
    Class *c;

    enter();
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        add_class(e->u.class_load.class_name)->id = e->u.class_load.class_id;
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        for (c = classes; c != NULL && c->id != e->u.obj_alloc.class_id; c = c->next)
            ;
        if (c != NULL && e->u.obj_alloc.is_array == JVMPI_NORMAL_OBJECT)
            c->objects++;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        write_report();
        break;
    }
    leave();
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) != JNI_OK)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi_lock = jvmpi->RawMonitorCreate("_both");
    return jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL) == JVMPI_SUCCESS
            && jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL) == JVMPI_SUCCESS
            && jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL) == JVMPI_SUCCESS
        ? JNI_OK : JNI_ERR;
}

/* ---- JVMTI: the tag of a class is its Class ---- */

static void JNICALL object_alloc(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object,
                                 jclass type, jlong size)
{
    jlong tag = 0;
    char *signature = NULL, *p;

    enter(); /* two threads may allocate the first object of a class */
    (*jvmti)->GetTag(jvmti, type, &tag);
    if (tag == 0 && (*jvmti)->GetClassSignature(jvmti, type, &signature, NULL) == JVMTI_ERROR_NONE) {
        if (signature[0] == 'L') { /* Ljava/lang/String; but [I for an array */
            for (p = signature; *p != '\0'; p++)
                if (*p == '/' || *p == ';')
                    *p = *p == '/' ? '.' : '\0';
            tag = (jlong)(intptr_t)add_class(signature + 1);
            (*jvmti)->SetTag(jvmti, type, tag);
        }
        (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    }
    if (tag != 0)
        ((Class *)(intptr_t)tag)->objects++;
    leave();
}

static int enable(jvmtiEvent event)
{
    return (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, event, NULL) == JVMTI_ERROR_NONE;
}

static void JNICALL vm_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    enable(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC);
    (*jvmti)->ForceGarbageCollection(jvmti); /* ends the threads' allocation buffers, which are not reported */
}

static void JNICALL vm_death(jvmtiEnv *jvmti, JNIEnv *env)
{
    enter(); /* daemon threads go on allocating */
    write_report();
    leave();
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    static jvmtiEventCallbacks callbacks; /* zero: no callback */
    jvmtiCapabilities wanted = { 0 };

    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK)
        return JNI_ERR;
    wanted.can_tag_objects = 1;
    wanted.can_generate_sampled_object_alloc_events = 1;
    callbacks.VMInit = vm_init;
    callbacks.VMDeath = vm_death;
    callbacks.SampledObjectAlloc = object_alloc;
    return (*jvmti)->AddCapabilities(jvmti, &wanted) == JVMTI_ERROR_NONE
            && (*jvmti)->SetHeapSamplingInterval(jvmti, 0) == JVMTI_ERROR_NONE /* every object */
            && (*jvmti)->CreateRawMonitor(jvmti, "both", &jvmti_lock) == JVMTI_ERROR_NONE
            && (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) == JVMTI_ERROR_NONE
            && enable(JVMTI_EVENT_VM_INIT) && enable(JVMTI_EVENT_VM_DEATH)
        ? JNI_OK : JNI_ERR;
}
