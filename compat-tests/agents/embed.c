/*
 * embed.c - a program that makes a JVM itself and profiles it.
 * Arguments: the JVM's library, the class path, the class to run.
 */
#include <dlfcn.h>

#include "agent.h"

typedef jint (JNICALL *CreateJavaVM)(JavaVM **vm, void **env, void *arguments);

static void notify(JVMPI_Event *e)
{
    report("event type=%d env=%#lx self=%#lx", (int)e->event_type, ID(e->env_id), ID(current_env()));
}

static int run_main(JNIEnv *env, const char *name)
{
    jclass type = (*env)->FindClass(env, name), string = (*env)->FindClass(env, "java/lang/String");
    jmethodID method;

    if (type == NULL || string == NULL)
        return 1;
    method = (*env)->GetStaticMethodID(env, type, "main", "([Ljava/lang/String;)V");
    if (method == NULL)
        return 1;
    (*env)->CallStaticVoidMethod(env, type, method, (*env)->NewObjectArray(env, 0, string, NULL));
    return (*env)->ExceptionCheck(env);
}

int main(int count, char **arguments)
{
    JavaVMOption options[2];
    JavaVMInitArgs init = { JNI_VERSION_1_8, 2, options, JNI_FALSE };
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
    CreateJavaVM create = NULL;
    JNIEnv *env;
    char path[4096];
    int failed;

    open_report(NULL);
    if (count != 4 || library == NULL)
        return 2;
    *(void **)&create = dlsym(library, "JNI_CreateJavaVM");
    snprintf(path, sizeof path, "-Djava.class.path=%s", arguments[2]);
    options[0].optionString = path;
    options[1].optionString = "-Xcheck:jni";
    if (create == NULL || create(&agent_vm, (void **)&env, &init) != JNI_OK)
        return 3;

    report("wrong_version result=%d null=%d",
           (int)jvmpi_get_interface(agent_vm, 0x10000009, &jvmpi), jvmpi == NULL);
    report("get_interface result=%d", (int)jvmpi_get_interface(agent_vm, JVMPI_VERSION_1, &jvmpi));
    if (jvmpi == NULL)
        return 4;
    jvmpi->NotifyEvent = notify;
    ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_SHUT_DOWN);
    failed = run_main(env, arguments[3]);
    report("destroy result=%d", (int)(*agent_vm)->DestroyJavaVM(agent_vm));
    return failed;
}
