/*
 * conform.h - what the agents of the conformance suite share: the interface, and how a case is judged.
 *
 * An agent is C89 with the functions of POSIX and compiles with any jvmpi.h. It writes a line for each
 * case that it has tried, "case ID pass" or "case ID fail REASON", into the file that the environment
 * variable CONFORM_OUT names. A case fails once it has failed once; one without a line fails too. So what
 * waits may wait for ever: whoever runs the suite ends a VM that hangs.
 *
 * The program talks to the agent by Conform.call(), which an agent answers in its function called().
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jvmpi.h"

static JVMPI_Interface *jvmpi;
static JavaVM *the_vm;

/* What the program asks for. */
static jint called(JNIEnv *env, const char *what, jint number, jobject object);

/* ---- Judging ----------------------------------------------------------------------------- */

static pthread_mutex_t conform_lock = PTHREAD_MUTEX_INITIALIZER;
static char conform_failed[64][32];
static int conform_failures;

static void conform_write(const char *id, const char *verdict, const char *reason)
{
    FILE *file = fopen(getenv("CONFORM_OUT"), "a");

    if (file == NULL) {
        fprintf(stderr, "CONFORM_OUT names no file that can be written\n");
        abort();
    }
    fprintf(file, "case %s %s%s\n", id, verdict, reason);
    fclose(file);
}

static int has_failed(const char *id)
{
    int i;

    for (i = 0; i < conform_failures; i++)
        if (strcmp(conform_failed[i], id) == 0)
            return 1;
    return 0;
}

/* The case does not hold. The first reason is the one that is told. */
static void fail(const char *id, const char *reason)
{
    char text[1024] = " ";

    pthread_mutex_lock(&conform_lock);
    if (!has_failed(id) && conform_failures < 64) {
        strcpy(conform_failed[conform_failures++], id);
        strncat(text, reason, sizeof text - 2);
        conform_write(id, "fail", text);
    }
    pthread_mutex_unlock(&conform_lock);
}

/* A part of a case. */
static void expect(const char *id, int holds, const char *otherwise)
{
    if (!holds)
        fail(id, otherwise);
}

static void expect_int(const char *id, const char *what, jlong found, jlong expected)
{
    char text[512];

    if (found != expected) {
        sprintf(text, "%.300s: %ld, not %ld", what, (long)found, (long)expected);
        fail(id, text);
    }
}

static void expect_text(const char *id, const char *what, const char *found, const char *expected)
{
    char text[1024];

    if (found == NULL || strcmp(found, expected) != 0) {
        sprintf(text, "%.200s: \"%.300s\", not \"%.300s\"", what, found != NULL ? found : "NULL", expected);
        fail(id, text);
    }
}

/* The case has come to its end: it holds, unless a part of it did not. */
static void done(const char *id)
{
    pthread_mutex_lock(&conform_lock);
    if (!has_failed(id))
        conform_write(id, "pass", "");
    pthread_mutex_unlock(&conform_lock);
}

/* A case that is one question. */
static void judge(const char *id, int holds, const char *otherwise)
{
    expect(id, holds, otherwise);
    done(id);
}

/* ---- Threads and time ---------------------------------------------------------------------- */

/* The calling thread's own JNIEnv, or NULL if the VM does not know the thread. */
static JNIEnv *current(void)
{
    void *env = NULL;

    return (*the_vm)->GetEnv(the_vm, &env, JNI_VERSION_1_2) == JNI_OK ? (JNIEnv *)env : NULL;
}

/* Lets others go on. */
static void pause_ms(long ms)
{
    struct timespec time;

    time.tv_sec = ms / 1000;
    time.tv_nsec = ms % 1000 * 1000000L;
    nanosleep(&time, NULL);
}

#define WAIT_UNTIL(condition) \
    do { \
        while (!(condition)) \
            pause_ms(1); \
    } while (0)

/* Counts that several threads change. */
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

static int count(volatile int *counter)
{
    int before;

    pthread_mutex_lock(&count_lock);
    before = (*counter)++;
    pthread_mutex_unlock(&count_lock);
    return before;
}

/* ---- Starting ------------------------------------------------------------------------------ */

/* Gets the interface and sets the handler. */
static void start(JavaVM *vm, void (*handler)(JVMPI_Event *))
{
    the_vm = vm;
    if ((*vm)->GetEnv(vm, (void **)(void *)&jvmpi, JVMPI_VERSION_1_2) != JNI_OK
        && (*vm)->GetEnv(vm, (void **)(void *)&jvmpi, JVMPI_VERSION_1) != JNI_OK) {
        fprintf(stderr, "this VM has no JVMPI\n");
        exit(2);
    }
    jvmpi->NotifyEvent = handler;
}

static void enable(jint type)
{
    jint result = jvmpi->EnableEvent(type, NULL);

    if (result != JVMPI_SUCCESS)
        fprintf(stderr, "EnableEvent(%d) returns %d\n", (int)type, (int)result);
}

JNIEXPORT jint JNICALL Java_Conform_call(JNIEnv *env, jclass unused, jstring what, jint number, jobject object);

JNIEXPORT jint JNICALL Java_Conform_call(JNIEnv *env, jclass unused, jstring what, jint number, jobject object)
{
    const char *text = (*env)->GetStringUTFChars(env, what, NULL);
    jint result = called(env, text, number, object);

    (*env)->ReleaseStringUTFChars(env, what, text);
    return result;
}

#endif
