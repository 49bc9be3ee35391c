/*
 * embed.c - a program with a JVM in it, which tells what happens in there:
 * embed CLASS-PATH CLASS [ARGUMENT...]
 */
#include <jvmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock;
static long classes; /* belongs to who holds lock */

static void notify(JVMPI_Event *e)
{
    jvmpi->RawMonitorEnter(lock);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        classes++;
        break;
    case JVMPI_EVENT_THREAD_START:
        fprintf(stderr, "thread %s\n", e->u.thread_start.thread_name);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        fprintf(stderr, "%ld classes were loaded\n", classes);
        break;
    }
    jvmpi->RawMonitorExit(lock);
}

static int profile(JavaVM *vm)
{
    static const jint events[] = {
        JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_JVM_SHUT_DOWN
    };
    size_t i;

    if (jvmpi_get_interface(vm, JVMPI_VERSION_1_2, &jvmpi) != JNI_OK)
        return 0;
    jvmpi->NotifyEvent = notify;
    lock = jvmpi->RawMonitorCreate("_embed");
    for (i = 0; i < sizeof events / sizeof *events; i++)
        if (jvmpi->EnableEvent(events[i], NULL) != JVMPI_SUCCESS)
            return 0;
    return 1;
}

static int run(JNIEnv *env, char *name, int count, char **arguments)
{
    char *c;
    jclass type, string = (*env)->FindClass(env, "java/lang/String");
    jmethodID method;
    jobjectArray array;
    int i;

    for (c = name; *c != '\0'; c++)
        if (*c == '.')
            *c = '/';
    if (string == NULL || (type = (*env)->FindClass(env, name)) == NULL)
        return 0;
    method = (*env)->GetStaticMethodID(env, type, "main", "([Ljava/lang/String;)V");
    if (method == NULL || (array = (*env)->NewObjectArray(env, count, string, NULL)) == NULL)
        return 0;
    for (i = 0; i < count; i++) {
        jstring argument = (*env)->NewStringUTF(env, arguments[i]);
        if (argument == NULL)
            return 0;
        (*env)->SetObjectArrayElement(env, array, i, argument);
        (*env)->DeleteLocalRef(env, argument);
    }
    (*env)->CallStaticVoidMethod(env, type, method, array);
    return !(*env)->ExceptionCheck(env);
}

int main(int count, char **arguments)
{
    static const char class_path[] = "-Djava.class.path=";
    JavaVMOption option;
    JavaVMInitArgs init;
    JavaVM *vm;
    void *env;
    int done;

    if (count < 3) {
        fprintf(stderr, "usage: embed CLASS-PATH CLASS [ARGUMENT...]\n");
        return 2;
    }
    option.optionString = malloc(sizeof class_path + strlen(arguments[1]));
    if (option.optionString == NULL)
        return 1;
    strcat(strcpy(option.optionString, class_path), arguments[1]);
    option.extraInfo = NULL;
    init.version = JNI_VERSION_1_8;
    init.nOptions = 1;
    init.options = &option;
    init.ignoreUnrecognized = JNI_FALSE;
    if (JNI_CreateJavaVM(&vm, &env, &init) != JNI_OK)
        return 1;

    done = profile(vm) && run(env, arguments[2], count - 3, arguments + 3);
    if ((*(JNIEnv *)env)->ExceptionCheck(env))
        (*(JNIEnv *)env)->ExceptionDescribe(env);
    return (*vm)->DestroyJavaVM(vm) == JNI_OK && done ? 0 : 1;
}
