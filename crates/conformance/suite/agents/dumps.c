/*
 * dumps.c - heap, object and monitor dumps, read by what the specification and CLASS_LOAD say, and looked
 * through for things that the agent knows of.
 */
#include <stdint.h>

#include "methods.h"

/* What CLASS_LOAD has told of a class, and its dump of its superclass. */
typedef struct Class {
    struct Class *next;
    jobjectID id, super;
    char *name, *statics, *fields; /* the first letters of the descriptors */
    jint interfaces;
} Class;

static Class *classes[BUCKETS];

static Class *class_of(jobjectID id)
{
    Class *c;

    pthread_mutex_lock(&methods_lock);
    for (c = classes[(size_t)id / 16 % BUCKETS]; c != NULL && c->id != id; c = c->next)
        ;
    pthread_mutex_unlock(&methods_lock);
    return c;
}

static char *letters(const JVMPI_Field *fields, jint n)
{
    char *text = malloc((size_t)n + 1);
    int i;

    for (i = 0; i < n; i++)
        text[i] = fields[i].field_signature[0];
    text[n] = '\0';
    return text;
}

static void learn_class(const JVMPI_Event *e)
{
    Class *c = calloc(1, sizeof *c), **bucket = &classes[(size_t)e->u.class_load.class_id / 16 % BUCKETS];

    c->id = e->u.class_load.class_id;
    c->name = copy_of(e->u.class_load.class_name);
    c->statics = letters(e->u.class_load.statics, e->u.class_load.num_static_fields);
    c->fields = letters(e->u.class_load.instances, e->u.class_load.num_instance_fields);
    c->interfaces = e->u.class_load.num_interfaces;
    learn_methods(e);
    pthread_mutex_lock(&methods_lock);
    c->next = *bucket;
    *bucket = c;
    pthread_mutex_unlock(&methods_lock);
}

/* ---- Reading -------------------------------------------------------------------------------------- */

static const unsigned char *at, *end;
static int level, broken;

static uint64_t number(int bytes)
{
    uint64_t value = 0;

    if (end - at < bytes) {
        broken = 1;
        at = end;
        return 0;
    }
    while (bytes-- > 0)
        value = value << 8 | *at++;
    return value;
}

static void *pointer(void)
{
    void *value = NULL;

    if (end - at < (long)sizeof value) {
        broken = 1;
        at = end;
        return NULL;
    }
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
}

static int width(int letter)
{
    switch (letter) {
    case 'Z': case 'B': return 1;
    case 'C': case 'S': return 2;
    case 'I': case 'F': return 4;
    case 'J': case 'D': return 8;
    default: return 0; /* a reference */
    }
}

static int width_of_type(int type)
{
    switch (type) {
    case JVMPI_BOOLEAN: case JVMPI_BYTE: return 1;
    case JVMPI_CHAR: case JVMPI_SHORT: return 2;
    case JVMPI_INT: case JVMPI_FLOAT: return 4;
    case JVMPI_LONG: case JVMPI_DOUBLE: return 8;
    default: broken = 1; return 1;
    }
}

/* A field's value, as far as the level has it: its bits, or the ID. */
static uint64_t value(int letter)
{
    int bytes = width(letter);

    if (bytes == 0)
        return (size_t)pointer();
    return level == JVMPI_DUMP_LEVEL_1 ? 0 : number(bytes);
}

/* ---- What is looked for ---------------------------------------------------------------------------- */

static jobjectID monitor, known_class, known_object, known_array, known_ints, local_object, sticky, thread_id, global_object;
static jobject global_ref;
static JNIEnv *main_env;
static int is_requesting, has_objects;
/* One bit for each ID that an event has defined. */
static unsigned char defined[1 << 20];
static uint64_t first_static, fields[8];
static uint64_t ints[4];
static int n_ints, n_fields;

static struct {
    int classes, objects, arrays, primitive_arrays, unknown_classes, wrong_lengths, constants, wrong_supers;
    int unknown_types, unknown_objects, requested;
    int interfaces, super_is_object, size, array_length, array_class, ints_type, object_class;
    int globals, locals, frames, frames_elsewhere, stickies, threads, threads_of_main, monitors;
    int simple, simple_known, simple_wrong;
    int tags[256];
} found;

static void define(jobjectID id)
{
    unsigned long n = (size_t)id / 16;

    pthread_mutex_lock(&methods_lock);
    if (n / 8 < sizeof defined)
        defined[n / 8] |= (unsigned char)(1 << n % 8);
    pthread_mutex_unlock(&methods_lock);
}

/* An object of a dump. Of Class objects, only those of classes that can be loaded are defined. */
static void look_at_object(jobjectID id, const Class *type)
{
    unsigned long n = (size_t)id / 16;

    if (!has_objects || n / 8 >= sizeof defined || (type != NULL && strcmp(type->name, "java.lang.Class") == 0))
        return;
    found.unknown_objects += !(defined[n / 8] >> n % 8 & 1);
}

static void read_class(void)
{
    jobjectID id = pointer(), super = pointer();
    Class *c = class_of(id);
    unsigned long size, n;
    int i, j;

    for (j = 0; j < 5; j++)
        pointer(); /* loader, signers, domain, name, reserved */
    size = number(4);
    found.classes++;
    look_at_object(id, NULL);
    if (c == NULL && is_requesting) {
        found.requested += jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, id) == JVMPI_SUCCESS;
        c = class_of(id);
    }
    if (c == NULL) {
        found.unknown_classes++;
        broken = 1;
        return;
    }
    c->super = super;
    for (j = 0; j < c->interfaces; j++)
        pointer();
    n = number(2);
    found.constants += (int)n;
    for (; n > 0 && !broken; n--) {
        number(2);
        number(1);
        pointer();
    }
    for (i = 0; c->statics[i] != '\0'; i++) {
        uint64_t v = value(c->statics[i]);

        if (id == known_class && i == 0)
            first_static = v;
    }
    if (id == known_class) {
        found.interfaces = c->interfaces;
        found.super_is_object = class_of(super) != NULL && strcmp(class_of(super)->name, "Dumps$Base") == 0;
        found.size = (int)size;
    }
}

static void read_instance(void)
{
    jobjectID id = pointer(), type = pointer();
    unsigned long length = number(4);
    const unsigned char *begin = at;
    Class *c;
    int i;

    found.objects++;
    found.unknown_types += class_of(type) == NULL;
    look_at_object(id, class_of(type));
    /* The superclasses are known from what was read before, or are not: then the length is believed. */
    for (c = class_of(type); c != NULL && at < begin + length && !broken; c = class_of(c->super))
        for (i = 0; c->fields[i] != '\0'; i++) {
            uint64_t v = value(c->fields[i]);

            if (id == known_object && n_fields < 8)
                fields[n_fields++] = v;
        }
    found.wrong_lengths += at != begin + length;
    if (id == known_object)
        found.object_class = type == known_class;
    if (!broken)
        at = begin + length;
}

static void read_array(void)
{
    jobjectID id = pointer(), element_class;
    unsigned long n = number(4), i;

    element_class = pointer();
    found.arrays++;
    look_at_object(id, NULL);
    if (id == known_array) {
        found.array_length = (int)n;
        found.array_class = element_class == known_class;
    }
    for (i = 0; i < n && !broken; i++) {
        jobjectID element = pointer();

        if (id == known_array && i == 1)
            found.array_class &= element == known_object;
    }
}

static void read_primitive_array(void)
{
    jobjectID id = pointer();
    unsigned long n = number(4), i;
    int type = (int)number(1), bytes = width_of_type(type);

    found.primitive_arrays++;
    look_at_object(id, NULL);
    if (id == known_ints)
        found.ints_type = type;
    if (level == JVMPI_DUMP_LEVEL_1)
        return;
    if (id != known_ints) {
        if ((unsigned long)(end - at) < n * (unsigned long)bytes)
            broken = 1;
        else
            at += n * (unsigned long)bytes;
        return;
    }
    for (i = 0; i < n; i++) {
        uint64_t v = number(bytes);

        if (n_ints < 4)
            ints[n_ints++] = v;
    }
}

static void read_root(int tag, const JVMPI_CallTrace *traces, int n_traces)
{
    jobjectID id = pointer();
    JNIEnv *env = NULL;
    unsigned long frame;
    int i, depth = -1;

    switch (tag) {
    case JVMPI_GC_ROOT_JNI_GLOBAL: {
        jobject reference = pointer();

        found.globals += id == global_object && reference == global_ref;
        break;
    }
    case JVMPI_GC_ROOT_JNI_LOCAL:
    case JVMPI_GC_ROOT_JAVA_FRAME:
        env = pointer();
        frame = number(4);
        for (i = 0; i < n_traces; i++)
            if (traces[i].env_id == env)
                depth = (int)traces[i].num_frames;
        found.frames_elsewhere += frame != 0xffffffffUL && (long)frame >= depth;
        if (id == local_object && env == main_env)
            found.locals++;
        if (tag == JVMPI_GC_ROOT_JAVA_FRAME && id == local_object && frame != 0xffffffffUL)
            for (i = 0; i < n_traces; i++)
                if (traces[i].env_id == env)
                    found.frames += is_method(traces[i].frames[frame].method_id, "Dumps", "onStack");
        break;
    case JVMPI_GC_ROOT_NATIVE_STACK:
        pointer();
        break;
    case JVMPI_GC_ROOT_THREAD_BLOCK:
        env = pointer();
        found.threads++;
        found.threads_of_main += id == thread_id && env == main_env;
        break;
    case JVMPI_GC_ROOT_STICKY_CLASS:
        found.stickies += id == sticky;
        break;
    case JVMPI_GC_ROOT_MONITOR_USED:
        found.monitors += id == monitor;
        break;
    case JVMPI_GC_ROOT_UNKNOWN:
        break;
    default:
        broken = 1;
    }
}

static void read_records(const JVMPI_CallTrace *traces, int n_traces)
{
    while (at < end && !broken) {
        int tag = (int)number(1);

        found.tags[tag]++;
        switch (tag) {
        case JVMPI_GC_CLASS_DUMP: read_class(); break;
        case JVMPI_GC_INSTANCE_DUMP: read_instance(); break;
        case JVMPI_GC_OBJ_ARRAY_DUMP: read_array(); break;
        case JVMPI_GC_PRIM_ARRAY_DUMP: read_primitive_array(); break;
        default: read_root(tag, traces, n_traces);
        }
    }
}

static void read_simple(void)
{
    while (at < end && !broken) {
        int type = (int)number(1);
        jobjectID id = pointer();

        found.simple++;
        found.simple_wrong += !(type == JVMPI_NORMAL_OBJECT || type == JVMPI_CLASS || (type >= 4 && type <= 11));
        found.simple_known += (id == known_object && type == JVMPI_NORMAL_OBJECT)
            + (id == known_array && type == JVMPI_CLASS) + (id == known_ints && type == JVMPI_INT);
    }
}

/* ---- Monitors -------------------------------------------------------------------------------------- */

static JNIEnv *owner, *enterer, *waiter;
static JVMPI_RawMonitor raw;
static struct {
    int monitors, raws, owner, entries, enters, waits, raw_name, raw_owner, raw_entries;
    int traces, statuses, unknown_methods;
} in_dump;

static void read_threads(int *count, JNIEnv *wanted, int is_known)
{
    unsigned long n = number(4), i;

    for (i = 0; i < n && !broken; i++)
        *count += pointer() == (void *)wanted && is_known;
}

static void read_monitors(void)
{
    int unused = 0;

    while (at < end && !broken) {
        int tag = (int)number(1);

        if (tag == JVMPI_MONITOR_JAVA) {
            int is_known = pointer() == (void *)monitor;
            JNIEnv *by = pointer();
            int entries = (int)number(4);

            if (is_known) {
                in_dump.monitors++;
                in_dump.owner = by == owner;
                in_dump.entries = entries;
            }
            read_threads(is_known ? &in_dump.enters : &unused, enterer, is_known);
            read_threads(is_known ? &in_dump.waits : &unused, waiter, is_known);
        } else if (tag == JVMPI_MONITOR_RAW) {
            const char *name = pointer();
            int is_known = pointer() == (void *)raw;
            JNIEnv *by = pointer();
            int entries = (int)number(4);

            if (is_known) {
                in_dump.raws++;
                in_dump.raw_name = strcmp(name, "in the dump") == 0;
                in_dump.raw_owner = by == owner;
                in_dump.raw_entries = entries;
            }
            read_threads(&unused, NULL, 0);
            read_threads(&unused, NULL, 0);
        } else
            broken = 1;
    }
}

static void look_at_traces(const JVMPI_Event *e)
{
    const JVMPI_CallTrace *traces = e->u.monitor_dump.traces;
    int i, j;

    for (i = 0; i < e->u.monitor_dump.num_traces; i++) {
        jint status = e->u.monitor_dump.threads_status[i];

        for (j = 0; j < traces[i].num_frames; j++) {
            in_dump.unknown_methods += method_of(traces[i].frames[j].method_id) == NULL;
            in_dump.traces += traces[i].env_id == owner && is_method(traces[i].frames[j].method_id, "Dumps", "own");
        }
        in_dump.statuses += (traces[i].env_id == enterer && status == JVMPI_THREAD_MONITOR_WAIT)
            + (traces[i].env_id == waiter && status == JVMPI_THREAD_CONDVAR_WAIT)
            + (traces[i].env_id == owner && status == JVMPI_THREAD_RUNNABLE);
    }
}

static void at_the_end(void);
static volatile int heap_dumps, monitor_dumps, object_dumps, unknown_frames;
static JNIEnv *dump_env;
static jint dump_level;
static int dump_traces;

static void notify(JVMPI_Event *e)
{
    int i, j;

    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        define(e->u.class_load.class_id);
        learn_class(e);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        define(e->u.obj_alloc.obj_id);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        at_the_end();
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        heap_dumps++;
        dump_env = e->env_id;
        dump_level = level = e->u.heap_dump.dump_level;
        dump_traces = e->u.heap_dump.num_traces;
        at = (unsigned char *)e->u.heap_dump.begin;
        end = (unsigned char *)e->u.heap_dump.end;
        for (i = 0; i < dump_traces; i++)
            for (j = 0; j < e->u.heap_dump.traces[i].num_frames; j++)
                unknown_frames += method_of(e->u.heap_dump.traces[i].frames[j].method_id) == NULL;
        if (level == JVMPI_DUMP_LEVEL_0)
            read_simple();
        else
            read_records(e->u.heap_dump.traces, dump_traces);
        break;
    case JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT:
        object_dumps++;
        level = JVMPI_DUMP_LEVEL_2;
        at = (unsigned char *)e->u.object_dump.data;
        end = at + e->u.object_dump.data_len;
        read_records(NULL, 0);
        break;
    case JVMPI_EVENT_MONITOR_DUMP | JVMPI_REQUESTED_EVENT:
        monitor_dumps++;
        dump_env = e->env_id;
        at = (unsigned char *)e->u.monitor_dump.begin;
        end = (unsigned char *)e->u.monitor_dump.end;
        read_monitors();
        look_at_traces(e);
    }
}

/* ---- Judging ------------------------------------------------------------------------------------------ */

static jint dump(jint wanted)
{
    JVMPI_HeapDumpArg argument;

    memset(&found, 0, sizeof found);
    memset(fields, 0, sizeof fields);
    memset(ints, 0, sizeof ints);
    n_fields = n_ints = broken = unknown_frames = 0;
    first_static = 0;
    dump_level = -1;
    dump_env = NULL;
    argument.heap_dump_level = wanted;
    return jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &argument);
}

static void full(JNIEnv *env)
{
    int before = heap_dumps;

    dump(JVMPI_DUMP_LEVEL_2);
    /* The superclasses are all known now, whatever the order of records. */
    dump(JVMPI_DUMP_LEVEL_2);
    expect_int("dumps-001", "dumps", heap_dumps - before, 2);
    judge("dumps-001", !broken && found.objects > 100, "it cannot be read to its end");
    judge("dumps-002", dump_env == env && dump_level == JVMPI_DUMP_LEVEL_2, "env_id or dump_level is not who asked, or what for");
    judge("dumps-003", found.objects > 0 && found.unknown_classes == 0 && found.unknown_types == 0 && found.classes > 100, "CLASS_LOAD has not told of a class");
    judge("dumps-004", found.objects > 0 && found.wrong_lengths == 0, "an instance has not the bytes of its fields");
    expect("dumps-005", n_fields == 5, "the object has not the fields of its class and its superclass");
    expect("dumps-005", fields[0] == 0x12345678UL && fields[1] == ((uint64_t)0x01020304 << 32 | 0x05060708), "an int or a long is another one");
    expect("dumps-005", fields[2] == 0x20acUL && (jobjectID)(size_t)fields[3] == known_ints, "a char or a reference is another one");
    judge("dumps-005", fields[4] == 0xfeUL, "a byte of the superclass is another one");
    judge("dumps-006", first_static == 0x7654UL, "the value of a static field is another one");
    judge("dumps-007", found.super_is_object && found.interfaces == 1 && found.size > 0, "its superclass, interfaces or size is wrong");
    judge("dumps-008", found.object_class, "the class of an object is wrong");
    judge("dumps-009", found.array_length == 3 && found.array_class, "an array of references has another length, class or element");
    expect("dumps-010", found.ints_type == JVMPI_INT && n_ints == 3, "an array of int has another type or length");
    judge("dumps-010", ints[0] == 1 && ints[1] == 0xffffffffUL && ints[2] == 0x01020304UL, "its elements are others");
    judge("dumps-011", found.globals == 1, "a JNI global reference is not there with its object");
    judge("dumps-012", found.locals > 0, "what the program holds on its stack is no root of its thread");
    judge("dumps-013", dump_traces > 0 && found.frames > 0 && found.frames_elsewhere == 0, "a frame's number is not that of its method in the trace");
    judge("dumps-014", found.stickies > 0, "a class of the VM's own is no root");
    judge("dumps-015", found.threads_of_main > 0, "the thread is no root");
    judge("dumps-016", dump_traces > 0 && unknown_frames == 0, "CLASS_LOAD has not told of a method in the traces");
    judge("dumps-019", found.tags[JVMPI_GC_ROOT_UNKNOWN] > 0, "there is none");
    judge("dumps-017", found.objects > 0 && found.tags[JVMPI_GC_ROOT_THREAD_OBJ] == 0, "a record of profile files is there");
}

static void others(JNIEnv *env)
{
    int objects = found.objects, classes_found = found.classes;

    expect_int("dumps-020", "result", dump(JVMPI_DUMP_LEVEL_1), JVMPI_SUCCESS);
    expect("dumps-020", !broken && dump_level == JVMPI_DUMP_LEVEL_1, "it cannot be read to its end");
    expect("dumps-020", found.wrong_lengths == 0 && found.objects > objects / 2 && found.classes >= classes_found, "its records are others");
    judge("dumps-020", n_fields >= 4 && (jobjectID)(size_t)fields[3] == known_ints, "a reference is another one");
    judge("dumps-021", found.ints_type == JVMPI_INT && n_ints == 0, "the elements of an array of int are there");
    expect_int("dumps-022", "result", dump(JVMPI_DUMP_LEVEL_0), JVMPI_SUCCESS);
    judge("dumps-022", !broken && dump_level == JVMPI_DUMP_LEVEL_0 && found.simple > objects && found.simple_wrong == 0,
          "it is not a list of types and objects");
    judge("dumps-023", found.simple_known == 3, "an object is not there once with its type");
    judge("dumps-024", found.simple > 0 && dump_traces == 0, "it has traces");
}

static void one(const char *id, jobjectID object, int tag)
{
    memset(&found, 0, sizeof found);
    n_fields = n_ints = broken = 0;
    expect_int(id, "result", jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, object), JVMPI_SUCCESS);
    expect(id, !broken, "it cannot be read to its end");
    expect_int(id, "records of its kind", found.tags[tag], 1);
}

static void single(void)
{
    one("dumps-030", known_object, JVMPI_GC_INSTANCE_DUMP);
    judge("dumps-030", n_fields == 5 && fields[0] == 0x12345678UL && found.object_class, "the fields are others");
    first_static = 0;
    one("dumps-031", known_class, JVMPI_GC_CLASS_DUMP);
    judge("dumps-031", first_static == 0x7654UL, "the value of a static field is another one");
    one("dumps-032", known_array, JVMPI_GC_OBJ_ARRAY_DUMP);
    judge("dumps-032", found.array_length == 3 && found.array_class, "the elements are others");
    one("dumps-033", known_ints, JVMPI_GC_PRIM_ARRAY_DUMP);
    judge("dumps-033", n_ints == 3 && ints[2] == 0x01020304UL, "the elements are others");
}

/* No event is enabled. */
static void requesting(void)
{
    expect_int("dumps-025", "CLASS_LOAD", jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, sticky), JVMPI_SUCCESS);
    expect_int("dumps-025", "HEAP_DUMP", dump(JVMPI_DUMP_LEVEL_2), JVMPI_SUCCESS);
    expect("dumps-025", !broken && found.unknown_classes == 0, "it cannot be read to its end");
    judge("dumps-025", found.classes > 100 && found.requested == found.classes - 1, "not every class has its own record");
}

static void objects(void)
{
    expect_int("dumps-027", "HEAP_DUMP", dump(JVMPI_DUMP_LEVEL_2), JVMPI_SUCCESS);
    expect("dumps-027", !broken && found.objects > 100 && found.arrays > 100, "it cannot be read to its end");
    expect_int("dumps-027", "objects without OBJECT_ALLOC", found.unknown_objects, 0);
    done("dumps-027");
}

static void at_the_end(void)
{
    jint type;

    for (type = 0; type <= JVMPI_MAX_EVENT_TYPE_VAL; type++)
        jvmpi->DisableEvent(type, NULL);
    expect_int("dumps-026", "HEAP_DUMP", dump(JVMPI_DUMP_LEVEL_2), JVMPI_SUCCESS);
    expect("dumps-026", !broken && found.objects > 100, "it cannot be read to its end");
    expect("dumps-026", found.unknown_classes == 0 && found.unknown_types == 0, "CLASS_LOAD has not told of a class");
    judge("dumps-026", unknown_frames == 0, "CLASS_LOAD has not told of a method in the traces");
    memset(&in_dump, 0, sizeof in_dump);
    expect_int("dumps-047", "MONITOR_DUMP", jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL), JVMPI_SUCCESS);
    judge("dumps-047", monitor_dumps == 1 && in_dump.unknown_methods == 0, "CLASS_LOAD has not told of a method in the traces");
}

static void monitors(JNIEnv *env)
{
    owner = env;
    jvmpi->RawMonitorEnter(raw);
    jvmpi->RawMonitorEnter(raw);
    memset(&in_dump, 0, sizeof in_dump);
    broken = 0;
    expect_int("dumps-040", "result", jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL), JVMPI_SUCCESS);
    jvmpi->RawMonitorExit(raw);
    jvmpi->RawMonitorExit(raw);
    judge("dumps-040", !broken && monitor_dumps == 1 && dump_env == env, "it cannot be read to its end, or names another thread");
    expect_int("dumps-041", "records of a monitor", in_dump.monitors, 1);
    judge("dumps-041", in_dump.owner && in_dump.entries == 2, "its owner or how often it was entered is wrong");
    judge("dumps-042", in_dump.enters == 1, "the thread that is about to enter is not there");
    judge("dumps-043", in_dump.waits == 1, "the thread that waits to be notified is not there");
    expect_int("dumps-044", "records of a raw monitor", in_dump.raws, 1);
    judge("dumps-044", in_dump.raw_name && in_dump.raw_owner && in_dump.raw_entries == 2, "its name, its owner or how often it was entered is wrong");
    judge("dumps-045", in_dump.traces == 1 && in_dump.unknown_methods == 0, "the trace of the owner has not the method that it is in");
    dump(JVMPI_DUMP_LEVEL_2);
    judge("dumps-018", found.monitors > 0, "a monitor that a thread is in and others wait for is no root");
    judge("dumps-046", in_dump.statuses == 3, "the status of a thread is not what it does");
}

static jint called(JNIEnv *env, const char *what, jint n, jobject object)
{
    jobjectID id = jvmpi->jobject2jobjectID(object);

    if (strcmp(what, "class") == 0)
        known_class = id;
    else if (strcmp(what, "object") == 0)
        known_object = id;
    else if (strcmp(what, "array") == 0)
        known_array = id;
    else if (strcmp(what, "ints") == 0)
        known_ints = id;
    else if (strcmp(what, "sticky") == 0)
        sticky = id;
    else if (strcmp(what, "thread") == 0) {
        thread_id = id;
        main_env = env;
    } else if (strcmp(what, "global") == 0) {
        global_object = id;
        global_ref = (*env)->NewGlobalRef(env, object);
    } else if (strcmp(what, "local") == 0)
        local_object = id;
    else if (is_requesting || has_objects) {
        if (strcmp(what, "dump") == 0)
            is_requesting ? requesting() : objects();
        return 1;
    } else if (strcmp(what, "dump") == 0) {
        full(env);
        others(env);
        single();
    } else if (strcmp(what, "monitor") == 0)
        monitor = id;
    else if (strcmp(what, "enters") == 0)
        enterer = env;
    else if (strcmp(what, "waits") == 0)
        waiter = env;
    else if (strcmp(what, "is entering") == 0)
        return enterer != NULL && jvmpi->GetThreadStatus(enterer) == JVMPI_THREAD_MONITOR_WAIT;
    else if (strcmp(what, "is waiting") == 0)
        return waiter != NULL && jvmpi->GetThreadStatus(waiter) == JVMPI_THREAD_CONDVAR_WAIT;
    else if (strcmp(what, "monitors") == 0)
        monitors(env);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    is_requesting = options != NULL && strcmp(options, "requesting") == 0;
    if (is_requesting)
        return JNI_OK;
    raw = jvmpi->RawMonitorCreate("in the dump");
    has_objects = options != NULL && strcmp(options, "objects") == 0;
    if (has_objects) {
        enable(JVMPI_EVENT_ARENA_NEW);
        enable(JVMPI_EVENT_OBJECT_ALLOC);
    } else if (options != NULL)
        enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_JNI_GLOBALREF_ALLOC);
    return JNI_OK;
}
