/*
 * allocator.c - no agent, but a native library that allocates objects by JNI.
 */
#include <string.h>

#include "jvmpi.h"

enum { MOST = 1023 };

/* Makes an object by the function of this name. */
JNIEXPORT jobject JNICALL Java_Objects_make(JNIEnv *env, jclass self, jstring function, jclass type, jint length)
{
    char name[32] = "", text[MOST + 1];
    jchar letters[MOST];
    jint i;

    (*env)->GetStringUTFRegion(env, function, 0, (*env)->GetStringLength(env, function), name);
    if (strcmp(name, "NewObject") == 0)
        return (*env)->NewObject(env, type, (*env)->GetMethodID(env, type, "<init>", "()V"));
    if (strcmp(name, "AllocObject") == 0)
        return (*env)->AllocObject(env, type);
    if (strcmp(name, "NewObjectArray") == 0)
        return (*env)->NewObjectArray(env, length, type, NULL);
    if (strcmp(name, "New array of byte") == 0)
        return (*env)->NewByteArray(env, length);
    if (strcmp(name, "New array of int") == 0)
        return (*env)->NewIntArray(env, length);
    if (strcmp(name, "New array of long") == 0)
        return (*env)->NewLongArray(env, length);
    for (i = 0; i < length; i++)
        text[i] = (char)(letters[i] = (jchar)('a' + i % 26));
    text[i] = '\0';
    if (strcmp(name, "NewStringUTF") == 0)
        return (*env)->NewStringUTF(env, text);
    return (*env)->NewString(env, letters, length);
}
