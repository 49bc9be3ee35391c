/*
 * onload_fails.c - an agent that does not want to run.
 */
#include "jvmpi.h"

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    return JNI_ERR;
}
