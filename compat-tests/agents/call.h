/*
 * call.h - an agent that Java code calls: Agent.call(what, object) of workloads/Agent.java comes to
 * the agent's own function called().
 */
#ifndef CALL_H
#define CALL_H

#include "agent.h"

static jlong called(JNIEnv *env, const char *what, jobject object);

JNIEXPORT jlong JNICALL Java_Agent_call(JNIEnv *env, jclass type, jstring what, jobject object)
{
    char text[256] = "";
    const char *chars = (*env)->GetStringUTFChars(env, what, NULL);

    if (chars == NULL)
        return -1;
    strncpy(text, chars, sizeof text - 1);
    (*env)->ReleaseStringUTFChars(env, what, chars);
    return called(env, text, object);
}

#endif
