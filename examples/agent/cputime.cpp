// cputime.cpp - the processor time of each thread, told as it ends.
#include <jvmpi.h>
#include <cstdio>
#include <map>
#include <string>

namespace {

JVMPI_Interface *jvmpi;
JVMPI_RawMonitor monitor;
std::map<JNIEnv *, std::string> names; // belongs to who holds monitor

// Holds the monitor while it lives.
class Lock {
public:
    Lock() { jvmpi->RawMonitorEnter(monitor); }
    ~Lock() { jvmpi->RawMonitorExit(monitor); }

private:
    Lock(const Lock &);
    void operator=(const Lock &);
};

void notify(JVMPI_Event *event)
{
    const Lock lock;
    switch (event->event_type) {
    case JVMPI_EVENT_THREAD_START:
        names[event->u.thread_start.thread_env_id] = event->u.thread_start.thread_name;
        break;
    case JVMPI_EVENT_THREAD_END: // sent on the thread that ends
        std::fprintf(stderr, "%10.3f ms %s\n", double(jvmpi->GetCurrentThreadCpuTime()) / 1e6,
                     names[event->env_id].c_str());
        names.erase(event->env_id);
        break;
    }
}

} // namespace

// jvmpi.h declares it extern "C".
JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *, void *)
{
    void *interface = 0;
    if (vm->GetEnv(&interface, JVMPI_VERSION_1) != JNI_OK)
        return JNI_ERR;
    jvmpi = static_cast<JVMPI_Interface *>(interface);
    jvmpi->NotifyEvent = notify;
    char name[] = "_cputime";
    monitor = jvmpi->RawMonitorCreate(name);
    if (jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, 0) != JVMPI_SUCCESS)
        return JNI_ERR;
    return jvmpi->EnableEvent(JVMPI_EVENT_THREAD_END, 0) == JVMPI_SUCCESS ? JNI_OK : JNI_ERR;
}
