/*
 * idle.c - gets the interface and enables nothing.
 */
#include "jvmpi.h"

static JVMPI_Interface *jvmpi;

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    return (*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1);
}
