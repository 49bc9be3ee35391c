/*
 * classes.c - what CLASS_LOAD tells of a class that the agent knows beforehand, and when; the hook that
 * shows class files; and the end of classes.
 */
#include "conform.h"

/* What was told of each class. */
typedef struct {
    jobjectID id;
    char name[128];
    int loads, unloads, elsewhere;
} Class;

enum { MAX = 8192 };

static Class classes[MAX];
static volatile int n, null_strings, before_init, inits, in_collection, unloads_outside, hooks, hooks_magic;
static volatile int instances_freed_late, instance_frees;
static jobjectID instances[64];
static volatile int n_instances;

/* The class under test. */
static struct {
    char name[64], source[64], methods[16][64], statics[16][64], fields[16][64];
    jint interfaces, n_methods, n_statics, n_fields, first[16], last[16];
    jmethodID ids[16];
    jobjectID id;
    JNIEnv *env;
} target;
static volatile int target_seen, initialized_before, super_before, interface_before, hook_before;
static JNIEnv *hook_env;
static jint hook_length;

static Class *named(const char *name)
{
    int i;

    for (i = n - 1; i >= 0; i--)
        if (strcmp(classes[i].name, name) == 0)
            return &classes[i];
    return NULL;
}

static Class *of(jobjectID id)
{
    int i;

    for (i = n - 1; i >= 0; i--)
        if (classes[i].id == id)
            return &classes[i];
    return NULL;
}

static void pair(char *to, const char *name, const char *signature)
{
    if (name == NULL || signature == NULL)
        null_strings++;
    else
        sprintf(to, "%.20s %.42s", name, signature);
}

static void look(const JVMPI_Event *e)
{
    int i;

    target.n_methods = e->u.class_load.num_methods;
    target.n_statics = e->u.class_load.num_static_fields;
    target.n_fields = e->u.class_load.num_instance_fields;
    target.interfaces = e->u.class_load.num_interfaces;
    target.id = e->u.class_load.class_id;
    target.env = e->env_id;
    strncpy(target.source, e->u.class_load.source_name, 63);
    for (i = 0; i < target.n_methods && i < 16; i++) {
        const JVMPI_Method *m = &e->u.class_load.methods[i];

        pair(target.methods[i], m->method_name, m->method_signature);
        target.first[i] = m->start_lineno;
        target.last[i] = m->end_lineno;
        target.ids[i] = m->method_id;
    }
    for (i = 0; i < target.n_statics && i < 16; i++)
        pair(target.statics[i], e->u.class_load.statics[i].field_name, e->u.class_load.statics[i].field_signature);
    for (i = 0; i < target.n_fields && i < 16; i++)
        pair(target.fields[i], e->u.class_load.instances[i].field_name, e->u.class_load.instances[i].field_signature);
    super_before = named("Classes$Super") != NULL;
    interface_before = named("Classes$First") != NULL && named("Classes$Second") != NULL;
    hook_before = hook_env == e->env_id;
    target_seen++;
}

static void loaded(const JVMPI_Event *e)
{
    const char *name = e->u.class_load.class_name;
    Class *c;

    pthread_mutex_lock(&count_lock);
    null_strings += name == NULL || e->u.class_load.source_name == NULL;
    c = of(e->u.class_load.class_id);
    if (c == NULL || c->unloads > 0)
        c = &classes[n < MAX - 1 ? n++ : MAX - 1];
    c->id = e->u.class_load.class_id;
    c->loads++;
    c->elsewhere += e->env_id != current();
    strncpy(c->name, name, sizeof c->name - 1);
    if (strcmp(name, "Classes$Target") == 0)
        look(e);
    pthread_mutex_unlock(&count_lock);
}

static void unloaded(const JVMPI_Event *e)
{
    Class *c = of(e->u.class_unload.class_id);
    int i;

    if (c != NULL)
        c->unloads++;
    unloads_outside += !in_collection;
    for (i = 0; i < n_instances; i++)
        if (c != NULL && strcmp(c->name, "Classes$Gone") == 0 && instances[i] != NULL)
            instances_freed_late++;
}

static void freed(jobjectID id)
{
    int i;

    for (i = 0; i < n_instances; i++)
        if (instances[i] == id) {
            instances[i] = NULL;
            instance_frees++;
        }
}

/* ---- Class files ---------------------------------------------------------------------------------- */

static const char original[] = "ORIGINAL", replaced[] = "REPLACED BY MORE", changed[] = "MODIFIED";

/* Where a text of the class file's constants stands, or -1. */
static int find(const unsigned char *data, jint length, const char *text)
{
    int i, size = (int)strlen(text);

    for (i = 0; i + size <= length; i++)
        if (memcmp(data + i, text, (size_t)size) == 0)
            return i;
    return -1;
}

/* The same class file with a longer text. */
static void replace(JVMPI_Event *e, int at)
{
    const unsigned char *data = e->u.class_load_hook.class_data;
    jint length = e->u.class_load_hook.class_data_len, more = (jint)(sizeof replaced - sizeof original);
    unsigned char *fresh = e->u.class_load_hook.malloc_f((unsigned)(length + more));

    memcpy(fresh, data, (size_t)at);
    memcpy(fresh + at, replaced, sizeof replaced - 1);
    memcpy(fresh + at + sizeof replaced - 1, data + at + sizeof original - 1, (size_t)(length - at) - (sizeof original - 1));
    fresh[at - 2] = 0;
    fresh[at - 1] = sizeof replaced - 1;
    e->u.class_load_hook.new_class_data = fresh;
    e->u.class_load_hook.new_class_data_len = length + more;
}

static void hook(JVMPI_Event *e)
{
    unsigned char *data = e->u.class_load_hook.class_data;
    jint length = e->u.class_load_hook.class_data_len;
    int at = find(data, length, original);

    count(&hooks);
    if (memcmp(data, "\312\376\272\276", 4) == 0)
        count(&hooks_magic);
    expect("hook-003", e->env_id == current(), "it comes on another thread");
    if (find(data, length, "Classes$Target\001") > 0 || find(data, length, "the class under test") > 0) {
        hook_env = e->env_id;
        hook_length = length;
    }
    if (find(data, length, "Classes$Untouched") > 0)
        return;
    if (find(data, length, "Classes$Nulled") > 0) {
        e->u.class_load_hook.new_class_data = NULL;
        e->u.class_load_hook.new_class_data_len = 0;
        return;
    }
    if (find(data, length, "Classes$Replaced") > 0 && at > 0) {
        replace(e, at);
        return;
    }
    if (find(data, length, "Classes$Changed") > 0 && at > 0)
        memcpy(data + at, changed, sizeof changed - 1);
    e->u.class_load_hook.new_class_data = data;
    e->u.class_load_hook.new_class_data_len = length;
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        loaded(e);
        break;
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        strncpy(target.name, e->u.class_load.class_name, 63);
        target.n_methods = e->u.class_load.num_methods + e->u.class_load.num_static_fields
            + e->u.class_load.num_instance_fields;
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        unloaded(e);
        break;
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        hook(e);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        inits++;
        before_init = n;
        break;
    case JVMPI_EVENT_GC_START:
        in_collection = 1;
        break;
    case JVMPI_EVENT_GC_FINISH:
        in_collection = 0;
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        freed(e->u.obj_free.obj_id);
    }
}

/* ---- Judging ----------------------------------------------------------------------------------------- */

static int has(char (*list)[64], int count, const char *wanted)
{
    int i;

    for (i = 0; i < count; i++)
        if (strcmp(list[i], wanted) == 0)
            return i + 1;
    return 0;
}

static void names(JNIEnv *env, jobject type)
{
    static const char *const declared[7] = {
        "<init> ()V", "<clinit> ()V", "one ()I", "several (I[Ljava/lang/String;J)Ljava/lang/Object;",
        "nothing ()V", "nativeOne ([[D)V", "run ()V",
    };
    static const char *const statics[3] = { "text Ljava/lang/String;", "number J", "LIMIT I" };
    static const char *const fields[4] = { "flag Z", "array [[I", "other LClasses$Super;", "last D" };
    int i, j, place, line_of_one;

    expect_int("classes-001", "events", target_seen, 1);
    done("classes-001");
    judge("classes-002", named("Classes$Target") != NULL && named("java.lang.String") != NULL, "no class of these names");
    expect_text("classes-003", "source_name", target.source, "Classes.java");
    done("classes-003");
    expect_int("classes-004", "num_interfaces", target.interfaces, 2);
    done("classes-004");
    expect_int("classes-005", "num_methods", target.n_methods, 7);
    for (i = 0; i < 7; i++)
        expect("classes-005", has(target.methods, target.n_methods, declared[i]), declared[i]);
    done("classes-005");
    place = has(target.methods, target.n_methods, "one ()I") - 1;
    line_of_one = place >= 0 ? target.first[place] : -7;
    expect("classes-006", line_of_one > 0 && target.last[place] == line_of_one, "a method on one line has not that line");
    place = has(target.methods, target.n_methods, "several (I[Ljava/lang/String;J)Ljava/lang/Object;") - 1;
    judge("classes-006", place >= 0 && target.first[place] == line_of_one + 3 && target.last[place] == line_of_one + 5,
          "a method of several lines has not those lines");
    place = has(target.methods, target.n_methods, "nothing ()V") - 1;
    expect("classes-007", place >= 0 && target.first[place] == -1 && target.last[place] == -1, "an abstract method has lines");
    place = has(target.methods, target.n_methods, "nativeOne ([[D)V") - 1;
    judge("classes-007", place >= 0 && target.first[place] == -1 && target.last[place] == -1, "a native method has lines");
    for (i = 0; i < target.n_methods && i < 16; i++)
        for (j = 0; j < i; j++)
            expect("classes-008", target.ids[i] != target.ids[j], "two methods have the same");
    place = has(target.methods, target.n_methods, "one ()I") - 1;
    judge("classes-008", place >= 0 && (*env)->GetMethodID(env, type, "one", "()I") == target.ids[place], "it is not JNI's");
    expect_int("classes-009", "num_static_fields", target.n_statics, 3);
    for (i = 0; i < 3; i++)
        expect("classes-009", has(target.statics, target.n_statics, statics[i]), statics[i]);
    done("classes-009");
    expect_int("classes-010", "num_instance_fields", target.n_fields, 4);
    for (i = 0; i < 4; i++)
        expect("classes-010", has(target.fields, target.n_fields, fields[i]), fields[i]);
    done("classes-010");
    judge("classes-011", target.id != NULL && jvmpi->jobject2jobjectID(type) == target.id, "it is not the Class object's ID");
}

/* How many classes were announced before their superclasses. */
static int before_superclasses(JNIEnv *env)
{
    int i, early = 0;

    jvmpi->DisableGC();
    for (i = 0; i < n; i++) {
        jclass type = jvmpi->jobjectID2jobject(classes[i].id);
        jclass super = type != NULL ? (*env)->GetSuperclass(env, type) : NULL;

        if (super != NULL) {
            const Class *c = of(jvmpi->jobject2jobjectID(super));

            early += c == NULL || c > &classes[i];
        }
        (*env)->DeleteLocalRef(env, super);
        (*env)->DeleteLocalRef(env, type);
    }
    jvmpi->EnableGC();
    return early;
}

static void times(JNIEnv *env)
{
    static const char *const primitives[] = { "int", "boolean", "void", "double" };
    int i, twice = 0, elsewhere = 0;

    judge("classes-013", target_seen && target.env == env && named("Classes$Target")->elsewhere == 0, "it comes on another thread");
    expect_int("classes-014", "classes before their superclasses", before_superclasses(env), 0);
    judge("classes-014", target_seen && super_before && interface_before, "the superclass or an interface comes later");
    for (i = 0; i < n; i++) {
        twice += classes[i].loads > 1;
        elsewhere += classes[i].elsewhere;
    }
    judge("classes-015", n > 0 && twice == 0, "a class is announced twice");
    expect_int("classes-016", "JVM_INIT_DONE", inits, 1);
    judge("classes-016", before_init > 100, "the VM's own classes are not announced before it");
    for (i = 0; i < 4; i++)
        expect("classes-023", named(primitives[i]) == NULL, primitives[i]);
    judge("classes-023", named("[I") != NULL && named("[Ljava.lang.String;") != NULL, "there are no classes of arrays");
    judge("classes-017", n > 0 && null_strings == 0, "a string is NULL");
    judge("hook-001", hooks > 0 && hooks == hooks_magic, "a class file does not begin as one");
    expect("hook-003", hooks > 0, "it does not come");
    done("hook-003");
    judge("hook-004", target_seen && hook_before, "it does not come before CLASS_LOAD on the same thread");
}

static void array(jobject type)
{
    jobjectID id = jvmpi->jobject2jobjectID(type);

    target.n_methods = -1;
    expect_int("classes-018", "result", jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, id), JVMPI_SUCCESS);
    expect_text("classes-018", "name", target.name, "[[Ljava.lang.String;");
    expect_int("classes-018", "methods and fields", target.n_methods, 0);
    done("classes-018");
}

static void gone(int count)
{
    int i, j, unloads = 0, live = 0, twice = 0;

    for (j = 0; j < 1000 && unloads < count; j++) {
        jvmpi->RunGC();
        pause_ms(1);
        unloads = live = twice = 0;
        for (i = 0; i < n; i++) {
            int is_gone = strcmp(classes[i].name, "Classes$Gone") == 0;

            unloads += is_gone && classes[i].unloads > 0;
            live += strncmp(classes[i].name, "Classes", 7) == 0 && !is_gone && classes[i].unloads > 0;
            twice += classes[i].unloads > 1;
        }
    }
    expect_int("classes-019", "classes unloaded", unloads, count);
    expect_int("classes-019", "classes unloaded twice", twice, 0);
    done("classes-019");
    judge("classes-020", unloads == count && live == 0, "it comes for a class that lives");
    judge("classes-021", unloads == count && unloads_outside == 0, "it comes outside of a collection");
    judge("classes-022", unloads == count && instance_frees == count && instances_freed_late == 0,
          "it comes before the OBJECT_FREE of an instance");
}

static void text(const char *id, JNIEnv *env, jobject found, const char *expected)
{
    const char *chars = (*env)->GetStringUTFChars(env, found, NULL);

    expect_text(id, "the text in the class", chars, expected);
    expect(id, hooks > 0, "CLASS_LOAD_HOOK does not come");
    (*env)->ReleaseStringUTFChars(env, found, chars);
    done(id);
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "initializing") == 0)
        judge("classes-012", target_seen, "code of the class runs before");
    else if (strcmp(what, "target") == 0) {
        names(env, object);
        times(env);
    } else if (strcmp(what, "length") == 0) {
        expect_int("hook-002", "class_data_len", hook_length, number);
        done("hook-002");
    } else if (strcmp(what, "array") == 0)
        array(object);
    else if (strcmp(what, "instance") == 0)
        instances[n_instances++] = jvmpi->jobject2jobjectID(object);
    else if (strcmp(what, "gone") == 0)
        gone(number);
    else if (strcmp(what, "same") == 0)
        text("hook-005", env, object, original);
    else if (strcmp(what, "replaced") == 0)
        text("hook-006", env, object, replaced);
    else if (strcmp(what, "changed") == 0)
        text("hook-007", env, object, changed);
    else if (strcmp(what, "untouched") == 0)
        text("hook-008", env, object, original);
    else if (strcmp(what, "nulled") == 0)
        text("hook-009", env, object, original);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_CLASS_UNLOAD);
    enable(JVMPI_EVENT_CLASS_LOAD_HOOK);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_GC_START);
    enable(JVMPI_EVENT_GC_FINISH);
    enable(JVMPI_EVENT_OBJECT_ALLOC);
    enable(JVMPI_EVENT_OBJECT_FREE);
    return JNI_OK;
}
