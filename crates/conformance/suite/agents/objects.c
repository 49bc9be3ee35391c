/*
 * objects.c - OBJECT_ALLOC, and IDs. The program allocates between "begin" and "end", and says what.
 */
#include "conform.h"

enum { MAX = 200000 };

typedef struct {
    jobjectID id, class_id;
    jint is_array, size, arena;
} Object;

static Object objects[MAX];
static volatile int n, counting, elsewhere, repeated, init_objects;
static JNIEnv *counted;
static volatile jobjectID ref_object;
static volatile int ref_known, refs;
static jobjectID first_id;
static JVMPI_Event asked;

static Object *of(jobjectID id)
{
    int i;

    for (i = n - 1; i >= 0; i--)
        if (objects[i].id == id)
            return &objects[i];
    return NULL;
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (!counting) {
            init_objects++;
            return;
        }
        pthread_mutex_lock(&count_lock);
        if (n < MAX) {
            objects[n].id = e->u.obj_alloc.obj_id;
            objects[n].class_id = e->u.obj_alloc.class_id;
            objects[n].is_array = e->u.obj_alloc.is_array;
            objects[n].size = e->u.obj_alloc.size;
            objects[n].arena = e->u.obj_alloc.arena_id;
            n++;
        }
        elsewhere += e->env_id != current();
        counted = e->env_id;
        pthread_mutex_unlock(&count_lock);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        asked = *e;
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
        if (!counting)
            return;
        pthread_mutex_lock(&count_lock);
        refs++;
        ref_known = of(e->u.jni_globalref_alloc.obj_id) != NULL;
        pthread_mutex_unlock(&count_lock);
    }
}

static int of_class(jobjectID class_id, jint is_array)
{
    int i, count = 0;

    for (i = 0; i < n; i++)
        count += objects[i].class_id == class_id && objects[i].is_array == is_array;
    return count;
}

/* A requested event is that which came. */
static void ask_again(const Object *o)
{
    memset(&asked, 0, sizeof asked);
    expect_int("objects-015", "result", jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, o->id), JVMPI_SUCCESS);
    expect("objects-015", asked.env_id == current() && asked.u.obj_alloc.obj_id == o->id, "it is of another object");
    expect_int("objects-015", "is_array", asked.u.obj_alloc.is_array, o->is_array);
    expect_int("objects-015", "size", asked.u.obj_alloc.size, o->size);
    expect_int("objects-015", "arena_id", asked.u.obj_alloc.arena_id, o->arena);
    expect("objects-015", asked.u.obj_alloc.class_id == o->class_id, "class_id is another one");
}

/* An array of a primitive type: its elements and what the VM puts before them. */
static void primitive(const char *id, jint type, jint bytes, jobjectID array)
{
    Object *o = of(array);

    expect(id, o != NULL, "it does not come");
    if (o != NULL) {
        ask_again(o);
        expect_int(id, "is_array", o->is_array, type);
        expect("objects-009", o->size >= bytes + 8 && o->size <= bytes + 64, "an array has not the size of its elements");
    } else
        fail("objects-009", "an array is missing");
    done(id);
}

static void distinct(void)
{
    int i, j, same = 0, nulls = 0, arenas = 0, small = 0;

    for (i = 0; i < n; i++) {
        nulls += objects[i].id == NULL;
        arenas += objects[i].arena != 1;
        small += objects[i].size < 8;
    }
    /* The last ones are compared with all. */
    for (i = n - 100 > 0 ? n - 100 : 0; i < n; i++)
        for (j = 0; j < i; j++)
            same += objects[i].id == objects[j].id;
    judge("objects-003", n >= 1000 && nulls == 0 && same == 0, "two objects have one ID, or one has none");
    judge("objects-004", n >= 1000 && arenas == 0, "it is not arena 1");
    judge("objects-005", n >= 1000 && small == 0, "an object is smaller than any can be");
    judge("objects-006", n >= 1000 && elsewhere == 0, "it comes on another thread");
}

static jobjectID id_of(jobject object)
{
    return jvmpi->jobject2jobjectID(object);
}

static void ids(JNIEnv *env, jobject object)
{
    jobject other = (*env)->NewStringUTF(env, "another object"), global = (*env)->NewGlobalRef(env, object), back;
    jobject weak = (*env)->NewWeakGlobalRef(env, object);
    jobjectID id;

    jvmpi->DisableGC();
    id = id_of(object);
    judge("ids-001", id != NULL && id == id_of(object) && id == id_of(global) && id == id_of(weak), "one object has two IDs");
    judge("ids-002", id != id_of(other) && id_of(other) != NULL, "two objects have one");
    back = jvmpi->jobjectID2jobject(id);
    judge("ids-003", back != NULL && (*env)->IsSameObject(env, back, object), "the ID leads to another object");
    expect("ids-004", id_of(NULL) == NULL && jvmpi->jobjectID2jobject(NULL) == NULL, "NULL is some object");
    judge("ids-004", id != NULL && back != NULL, "an object is NULL");
    expect("ids-005", jvmpi->jobjectID2jobject((jobjectID)0x7ffffff0) == NULL, "an ID that was not given is some object's");
    judge("ids-005", back != NULL, "one that was given is not");
    (*env)->DeleteLocalRef(env, back);
    back = jvmpi->jobjectID2jobject(id);
    judge("ids-006", back != NULL && (*env)->GetObjectRefType(env, back) == JNILocalRefType, "it is no local reference");
    expect("ids-008", jvmpi->GetMethodClass(NULL) == NULL, "NULL has one");
    judge("ids-008", jvmpi->GetMethodClass((*env)->GetMethodID(env, (*env)->GetObjectClass(env, object), "hashCode", "()I"))
          == id_of((*env)->FindClass(env, "java/lang/Object")), "an inherited method's class is not the one that declares it");
    jvmpi->EnableGC();
    first_id = id;
    (*env)->DeleteWeakGlobalRef(env, weak);
    (*env)->DeleteGlobalRef(env, global);
}

static void after_collections(JNIEnv *env, jobject object)
{
    int i;
    jobject back;

    for (i = 0; i < 3; i++)
        jvmpi->RunGC();
    back = jvmpi->jobjectID2jobject(first_id);
    judge("ids-007", first_id != NULL && id_of(object) == first_id && back != NULL && (*env)->IsSameObject(env, back, object),
          "the object has another ID after a collection");
}

static void jni(JNIEnv *env, jclass type)
{
    int before, refs_before;
    jobject object;
    Object *o;

    before = of_class(id_of(type), JVMPI_NORMAL_OBJECT);
    object = (*env)->AllocObject(env, type);
    judge("objects-013", of_class(id_of(type), JVMPI_NORMAL_OBJECT) == before + 1, "an object of JNI's is not told of");
    refs_before = refs;
    (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, object));
    judge("objects-014", refs > refs_before && ref_known, "an event names an object that was not told of");
    o = of(id_of(object));
    expect("objects-015", o != NULL, "an object is missing");
    if (o != NULL)
        ask_again(o);
    done("objects-015");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    static jclass type;

    if (strcmp(what, "begin") == 0) {
        type = (*env)->NewGlobalRef(env, object);
        judge("objects-016", init_objects > 1000, "what there was before is not told of");
        counting = 1;
    } else if (strcmp(what, "end") == 0) {
        expect_int("objects-001", "events", of_class(id_of(type), JVMPI_NORMAL_OBJECT), number);
        done("objects-001");
        distinct();
    } else if (strcmp(what, "one") == 0) {
        Object *o = of(id_of(object));

        judge("objects-002", o != NULL && o->class_id == id_of((*env)->GetObjectClass(env, object)), "class_id is not its class");
    } else if (strcmp(what, "references") == 0) {
        Object *o = of(id_of(object));

        expect("objects-007", o != NULL, "it does not come");
        if (o != NULL) {
            ask_again(o);
            expect_int("objects-007", "is_array", o->is_array, JVMPI_CLASS);
            expect("objects-007", o->class_id == id_of(type), "class_id is not the class of the elements");
        }
        done("objects-007");
    } else if (strcmp(what, "arrays of arrays") == 0) {
        Object *o = of(id_of(object));

        expect("objects-008", o != NULL, "it does not come");
        if (o != NULL) {
            ask_again(o);
            expect_int("objects-008", "is_array", o->is_array, JVMPI_CLASS);
        }
        done("objects-008");
    } else if (strcmp(what, "boolean") == 0)
        primitive("objects-010", JVMPI_BOOLEAN, number, id_of(object));
    else if (strcmp(what, "byte") == 0)
        primitive("objects-017", JVMPI_BYTE, number, id_of(object));
    else if (strcmp(what, "char") == 0)
        primitive("objects-018", JVMPI_CHAR, 2 * number, id_of(object));
    else if (strcmp(what, "short") == 0)
        primitive("objects-019", JVMPI_SHORT, 2 * number, id_of(object));
    else if (strcmp(what, "int") == 0)
        primitive("objects-020", JVMPI_INT, 4 * number, id_of(object));
    else if (strcmp(what, "long") == 0)
        primitive("objects-021", JVMPI_LONG, 8 * number, id_of(object));
    else if (strcmp(what, "float") == 0)
        primitive("objects-022", JVMPI_FLOAT, 4 * number, id_of(object));
    else if (strcmp(what, "double") == 0) {
        primitive("objects-023", JVMPI_DOUBLE, 8 * number, id_of(object));
        done("objects-009");
    } else if (strcmp(what, "clone") == 0)
        judge("objects-011", of(id_of(object)) != NULL, "it does not come");
    else if (strcmp(what, "reflection") == 0)
        judge("objects-012", of(id_of(object)) != NULL, "it does not come");
    else if (strcmp(what, "jni") == 0)
        jni(env, object);
    else if (strcmp(what, "ids") == 0)
        ids(env, object);
    else if (strcmp(what, "collections") == 0)
        after_collections(env, object);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    enable(JVMPI_EVENT_OBJECT_ALLOC);
    enable(JVMPI_EVENT_JNI_GLOBALREF_ALLOC);
    return JNI_OK;
}
