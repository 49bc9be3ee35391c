/*
 * complaints.c - not an agent: preloaded into JVMs, writes the library that caused it in front of each message of
 * -Xcheck:jni, as in `[/usr/lib/jvm/…/lib/libjdwp.so] WARNING: JNI local refs: …`. The JVM shows Java frames only.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FRAMES 32

static const char *const messages[] = {"WARNING in native method", "FATAL ERROR in native method", "WARNING: JNI local refs"};

/* Returns the library that called the JVM's JNI function which writes now, or "?". */
static const char *caller(void)
{
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES);
    Dl_info jvm, info;
    /* Frame 0 is here, and frame 1 in write. */
    if (count < 3 || !dladdr(frames[2], &jvm) || !strstr(jvm.dli_fname, "libjvm.so"))
        return "?";
    for (int i = 3; i < count; i++) {
        if (!dladdr(frames[i], &info))
            return "?";
        if (info.dli_fbase != jvm.dli_fbase)
            return info.dli_fname;
    }
    return "?";
}

ssize_t write(int file, const void *text, size_t size)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        size_t length = strlen(messages[i]);
        if (size < length || memcmp(text, messages[i], length))
            continue;
        const char *library = caller();
        struct iovec parts[] = {
            {"[", 1}, {(void *)library, strlen(library)}, {"] ", 2}, {(void *)text, size},
        };
        ssize_t written = writev(file, parts, 4);
        return written < 0 ? written : (ssize_t)size;
    }
    return syscall(SYS_write, file, text, size);
}
