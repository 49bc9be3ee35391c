/*
 * unresolved.c - an agent that needs a function which no library has.
 */
#include "jvmpi.h"

extern int function_of_a_library_that_is_gone(void);

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    return function_of_a_library_that_is_gone();
}
