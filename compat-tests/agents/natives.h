/*
 * natives.h - the native methods of workloads/NativeCalls.java. Each says what it has got,
 * so that an argument that comes to a wrong place shows.
 */
#ifndef NATIVES_H
#define NATIVES_H

#include "agent.h"

static jint JNICALL registered(JNIEnv *env, jclass type, jint n, jlong m, jobject o)
{
    return n + (jint)m + (o == NULL);
}

static void JNICALL failing(JNIEnv *env, jobject self)
{
    (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/IllegalStateException"), "native");
}

/* Like registered(), for a method that is registered anew. */
static jint JNICALL registered_anew(JNIEnv *env, jclass type, jint n, jlong m, jobject o)
{
    return 2 * registered(env, type, n, m, o);
}

static void register_as(JNIEnv *env, jclass type, void *function)
{
    JNINativeMethod natives[] = {
        { (char *)"registered", (char *)"(IJLjava/lang/Object;)I", function },
        { (char *)"failing", (char *)"()V", (void *)failing },
    };
    if ((*env)->RegisterNatives(env, type, natives, 2) != JNI_OK)
        (*env)->FatalError(env, "the natives are not registered");
}

/* More integers and more floating-point numbers than any machine has registers for, in turn. */
JNIEXPORT jdouble JNICALL Java_NativeCalls_mixed(JNIEnv *env, jclass type, jint a, jfloat b, jlong c, jdouble d,
                                                 jbyte e, jfloat f, jshort g, jdouble h, jchar i, jfloat j,
                                                 jboolean k, jdouble l, jobject m, jfloat n, jint o, jdouble p,
                                                 jlong q, jfloat r, jint s, jdouble t, jlong u, jfloat v)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l
         + 13 * (m != NULL && (*env)->IsSameObject(env, m, type)) + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r
         + 19 * s + 20 * t + 21 * u + 22 * v;
}

/* An odd number of words on the stack. */
JNIEXPORT jlong JNICALL Java_NativeCalls_integers(JNIEnv *env, jobject self, jlong a, jlong b, jlong c, jlong d,
                                                  jlong e, jlong f, jlong g)
{
    return self == NULL ? 0 : a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g;
}

#define SAME(name, type)                                                                        \
    JNIEXPORT type JNICALL Java_NativeCalls_##name(JNIEnv *env, jobject self, type value)       \
    {                                                                                           \
        return value;                                                                           \
    }
SAME(sameBoolean, jboolean)
SAME(sameByte, jbyte)
SAME(sameChar, jchar)
SAME(sameShort, jshort)
SAME(sameInt, jint)
SAME(sameAgain, jint)
SAME(sameLong, jlong)
SAME(sameFloat, jfloat)
SAME(sameDouble, jdouble)
SAME(sameObject, jobject)

/* Throws, with a result that nobody gets. */
JNIEXPORT jobject JNICALL Java_NativeCalls_fails(JNIEnv *env, jobject self)
{
    failing(env, self);
    return self;
}

/* Calls down(depth), which calls this again, or throws. */
JNIEXPORT jint JNICALL Java_NativeCalls_through(JNIEnv *env, jobject self, jint depth)
{
    jclass type = (*env)->GetObjectClass(env, self);
    jmethodID down = (*env)->GetMethodID(env, type, "down", "(I)I");

    (*env)->DeleteLocalRef(env, type);
    return down == NULL ? -1 : 1 + (*env)->CallIntMethod(env, self, down, depth);
}

#endif
