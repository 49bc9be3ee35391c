/*
 * allocator.c - no agent, but a native library that allocates objects by JNI and stores them in an
 * array: `count` of each kind, one after the other.
 */
#include <jni.h>

#include "jvmpi.h"

/* Stores what the expression makes, and leaves no reference behind. */
#define ALLOCATE(make) \
    do { \
        jsize room = (*env)->GetArrayLength(env, into); \
        jint i; \
        for (i = 0; i < count; i++) { \
            jobject object = make; \
            if (object == NULL) \
                return; \
            (*env)->SetObjectArrayElement(env, into, i % room, object); \
            (*env)->DeleteLocalRef(env, object); \
        } \
    } while (0)

JNIEXPORT void JNICALL Java_Allocator_newObject(JNIEnv *env, jclass self, jobjectArray into, jint count, jclass type)
{
    jmethodID constructor = (*env)->GetMethodID(env, type, "<init>", "()V");

    if (constructor != NULL)
        ALLOCATE((*env)->NewObject(env, type, constructor));
}

JNIEXPORT void JNICALL Java_Allocator_allocObject(JNIEnv *env, jclass self, jobjectArray into, jint count, jclass type)
{
    ALLOCATE((*env)->AllocObject(env, type));
}

JNIEXPORT void JNICALL Java_Allocator_newObjectArray(JNIEnv *env, jclass self, jobjectArray into, jint count, jclass type, jint length)
{
    ALLOCATE((*env)->NewObjectArray(env, length, type, NULL));
}

/* Strings of `length` letters. */
JNIEXPORT void JNICALL Java_Allocator_newStringUTF(JNIEnv *env, jclass self, jobjectArray into, jint count, jint length)
{
    char text[4096];
    jint n;

    for (n = 0; n < length && n < (jint)sizeof text - 1; n++)
        text[n] = (char)('a' + n % 26);
    text[n] = '\0';
    ALLOCATE((*env)->NewStringUTF(env, text));
}

JNIEXPORT void JNICALL Java_Allocator_newString(JNIEnv *env, jclass self, jobjectArray into, jint count, jint length)
{
    jchar text[4096];
    jint n;

    for (n = 0; n < length && n < (jint)(sizeof text / sizeof *text); n++)
        text[n] = (jchar)('a' + n % 26);
    ALLOCATE((*env)->NewString(env, text, n));
}

static jobject new_array(JNIEnv *env, jint type, jint length)
{
    switch (type) {
    case JVMPI_BYTE: return (*env)->NewByteArray(env, length);
    case JVMPI_INT: return (*env)->NewIntArray(env, length);
    default: return (*env)->NewLongArray(env, length);
    }
}

/* Arrays of the primitive type that the interface gives this number. */
JNIEXPORT void JNICALL Java_Allocator_newArray(JNIEnv *env, jclass self, jobjectArray into, jint count, jint type, jint length)
{
    ALLOCATE(new_array(env, type, length));
}
