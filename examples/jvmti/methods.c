/*
 * methods.c - prints every call and return of the methods of some classes. A JVMTI agent that inserts bytecode.
 *
 *     java -agentpath:./libmethods.so=tracker.jar,com/acme/ Main
 *
 * Each method calls Tracker.enter(number) first, and Tracker.leave(number) before it returns or throws.
 */
#include <jvmti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading and writing: class files are big-endian ---- */

typedef struct {
    const unsigned char *data;
    size_t size, at;
    int bad; /* something lay beyond the end, or makes no sense */
} Input;

typedef struct {
    unsigned char *data;
    size_t size, room;
} Output;

static const unsigned char *bytes(Input *in, size_t count)
{
    static const unsigned char none[8];
    const unsigned char *found = in->data + in->at;

    if (in->bad || count > in->size - in->at) {
        in->bad = 1;
        return none; /* enough for u1, u2 and u4; others look at bad first */
    }
    in->at += count;
    return found;
}

static unsigned u1(Input *in) { return bytes(in, 1)[0]; }

static unsigned get2(const unsigned char *p) { return (unsigned)p[0] << 8 | p[1]; }

static unsigned get4(const unsigned char *p) { return get2(p) << 16 | get2(p + 2); }

static unsigned u2(Input *in) { return get2(bytes(in, 2)); }

static unsigned u4(Input *in) { return get4(bytes(in, 4)); }

static void put(Output *out, const void *data, size_t count)
{
    if (out->size + count > out->room) {
        out->room = 2 * (out->size + count);
        if ((out->data = realloc(out->data, out->room)) == NULL)
            abort();
    }
    if (count != 0)
        memcpy(out->data + out->size, data, count);
    out->size += count;
}

static void put1(Output *out, unsigned value)
{
    unsigned char byte = (unsigned char)value;
    put(out, &byte, 1);
}

static void put2(Output *out, unsigned value) { put1(out, value >> 8), put1(out, value); }

static void put4(Output *out, unsigned value) { put2(out, value >> 16), put2(out, value); }

static void set4(Output *out, size_t at, unsigned value)
{
    int i;
    for (i = 0; i < 4; i++)
        out->data[at + (size_t)i] = (unsigned char)(value >> (24 - 8 * i));
}

/* ---- The constant pool: new constants go to its end, so that the old ones keep their numbers ---- */

typedef struct {
    const unsigned char **old; /* where each constant of the file begins */
    unsigned old_count, count;
    Output added;
    unsigned enter, leave, stack_map_table, throwable;
} Pool;

static unsigned add_utf8(Pool *pool, const char *text)
{
    put1(&pool->added, 1);
    put2(&pool->added, (unsigned)strlen(text));
    put(&pool->added, text, strlen(text));
    return pool->count++;
}

static unsigned add_class(Pool *pool, const char *name)
{
    unsigned utf8 = add_utf8(pool, name);

    put1(&pool->added, 7);
    put2(&pool->added, utf8);
    return pool->count++;
}

static unsigned add_pair(Pool *pool, unsigned kind, unsigned first, unsigned second)
{
    put1(&pool->added, kind); /* 12: NameAndType, 10: Methodref */
    put2(&pool->added, first);
    put2(&pool->added, second);
    return pool->count++;
}

static unsigned add_integer(Pool *pool, unsigned value)
{
    put1(&pool->added, 3);
    put4(&pool->added, value);
    return pool->count++;
}

static void read_pool(Pool *pool, Input *in)
{
    static const unsigned char sizes[] = { 0, 0, 0, 4, 4, 8, 8, 2, 2, 4, 4, 4, 4, 0, 0, 3, 2, 4, 4, 2, 2 };
    unsigned i;

    pool->old_count = pool->count = u2(in);
    if ((pool->old = calloc(pool->count + 1u, sizeof *pool->old)) == NULL)
        abort();
    for (i = 1; i < pool->old_count && !in->bad; i++) {
        unsigned tag;

        pool->old[i] = in->data + in->at;
        tag = u1(in);
        if (tag == 1)
            bytes(in, u2(in));
        else if (tag < sizeof sizes && sizes[tag] != 0)
            bytes(in, sizes[tag]);
        else
            in->bad = 1;
        i += tag == 5 || tag == 6; /* long and double count twice */
    }
}

/* Returns a Utf8 constant as a string, to be freed, or NULL. */
static char *utf8(const Pool *pool, unsigned index)
{
    const unsigned char *c = index < pool->old_count ? pool->old[index] : NULL;
    char *text = NULL;

    if (c != NULL && c[0] == 1 && (text = calloc(1, get2(c + 1) + 1u)) != NULL)
        memcpy(text, c + 3, get2(c + 1));
    return text;
}

static int is_named(const Pool *pool, unsigned index, const char *name)
{
    char *text = utf8(pool, index);
    int same = text != NULL && strcmp(text, name) == 0;

    free(text);
    return same;
}

static void add_tracker(Pool *pool)
{
    unsigned tracker = add_class(pool, "Tracker"), type = add_utf8(pool, "(I)V");

    pool->enter = add_pair(pool, 10, tracker, add_pair(pool, 12, add_utf8(pool, "enter"), type));
    pool->leave = add_pair(pool, 10, tracker, add_pair(pool, 12, add_utf8(pool, "leave"), type));
    pool->stack_map_table = add_utf8(pool, "StackMapTable");
    pool->throwable = add_class(pool, "java/lang/Throwable");
}

/* ---- Code ---- */

enum { CALL = 8 }; /* bytes of an inserted call: a multiple of 4 leaves the padding of switches as it is */

static void put_call(Output *out, unsigned number, unsigned method)
{
    put1(out, 0x13), put2(out, number); /* ldc_w */
    put1(out, 0xb8), put2(out, method); /* invokestatic */
    put2(out, 0);                       /* nop, nop */
}

static int is_return(unsigned op) { return op >= 0xac && op <= 0xb1; }

static int is_branch(unsigned op) { return (op >= 0x99 && op <= 0xa8) || op == 0xc6 || op == 0xc7; }

/* Returns the size of the instruction at pc, or 0 if there is none. */
static unsigned size_of(const unsigned char *code, unsigned length, unsigned pc)
{
    unsigned op = code[pc], operands = pc + 4 - pc % 4; /* those of a switch */

    if (op == 0xaa || op == 0xab) { /* tableswitch, lookupswitch */
        unsigned n, head = op == 0xaa ? 12 : 8, entry = op == 0xaa ? 4 : 8;
        if (operands + head > length)
            return 0;
        n = op == 0xaa ? get4(code + operands + 8) - get4(code + operands + 4) + 1 : get4(code + operands + 4);
        return n > length ? 0 : operands - pc + head + n * entry;
    }
    if (op == 0xc4) /* wide */
        return pc + 1 < length && code[pc + 1] == 0x84 ? 6 : 4;
    if (op == 0xb9 || op == 0xba || op == 0xc8 || op == 0xc9)
        return 5;
    if (op == 0xc5)
        return 4;
    if (op == 0x11 || op == 0x13 || op == 0x14 || op == 0x84 || is_branch(op) || (op >= 0xb2 && op <= 0xbb)
        || op == 0xbd || op == 0xc0 || op == 0xc1)
        return 3;
    if (op == 0x10 || op == 0x12 || (op >= 0x15 && op <= 0x19) || (op >= 0x36 && op <= 0x3a) || op == 0xa9
        || op == 0xbc)
        return 2;
    return op <= 0xc9 ? 1 : 0;
}

/* Where each instruction of a method goes: 0 if none begins there. */
typedef struct {
    const unsigned char *code;
    unsigned length, *to;
    int bad;
} Map;

static unsigned moved(Map *map, unsigned pc)
{
    if (pc > map->length || map->to[pc] == 0) {
        map->bad = 1;
        return 0;
    }
    return map->to[pc];
}

static void lay_out(Map *map)
{
    unsigned pc = 0, to = CALL, size;

    for (; pc < map->length && !map->bad; pc += size, to += size) {
        map->to[pc] = to;
        if (is_return(map->code[pc]))
            to += CALL;
        size = size_of(map->code, map->length, pc);
        map->bad |= size == 0 || size > map->length - pc;
    }
    if (!map->bad)
        map->to[map->length] = to;
}

/* Writes the offset of a jump from pc: of 2 bytes, or of 4. */
static void put_jump(Output *out, Map *map, unsigned pc, unsigned offset, int wide)
{
    int distance = (int)(moved(map, pc + offset) - moved(map, pc));

    if (wide)
        put4(out, (unsigned)distance);
    else
        put2(out, (unsigned)distance);
    map->bad |= !wide && distance != (short)distance;
}

static void put_instruction(Output *out, Map *map, unsigned pc, unsigned size)
{
    const unsigned char *at = map->code + pc;
    unsigned op = at[0];

    if (is_branch(op)) {
        put1(out, op);
        put_jump(out, map, pc, (unsigned)(short)get2(at + 1), 0);
    } else if (op == 0xc8 || op == 0xc9) { /* goto_w, jsr_w */
        put1(out, op);
        put_jump(out, map, pc, get4(at + 1), 1);
    } else if (op == 0xaa || op == 0xab) {
        unsigned i, first = 4 - pc % 4, head = op == 0xaa ? 12 : 8, step = op == 0xaa ? 4 : 8;
        put(out, at, first);
        put_jump(out, map, pc, get4(at + first), 1);
        put(out, at + first + 4, head - 4);
        for (i = first + head; i < size; i += step) {
            put(out, at + i, step - 4); /* the key of a lookupswitch */
            put_jump(out, map, pc, get4(at + i + step - 4), 1);
        }
    } else {
        put(out, at, size);
    }
}

static void put_lines(Output *out, Map *map, Input *in)
{
    unsigned count = u2(in);

    put2(out, count);
    for (; count > 0 && !in->bad; count--) {
        unsigned pc = u2(in);
        put2(out, pc == 0 ? 0 : moved(map, pc)); /* the inserted call is on the first line */
        put2(out, u2(in));
    }
}

static void put_types(Output *out, Map *map, Input *in, unsigned count)
{
    for (; count > 0 && !in->bad; count--) {
        unsigned type = u1(in);
        put1(out, type);
        if (type == 7) /* an object: its class */
            put2(out, u2(in));
        else if (type == 8) /* not initialized yet: the instruction new that made it */
            put2(out, moved(map, u2(in)));
    }
}

/* Writes the frames, each with an offset of 2 bytes, and one for the handler at this place unless it is 0. */
static void put_frames(Output *out, Map *map, Input *in, unsigned handler, const Pool *pool)
{
    unsigned count = in != NULL ? u2(in) : 0, pc = 0, last = 0, n, i;

    put2(out, count + (handler != 0));
    for (i = 0; i < count && !in->bad; i++) {
        unsigned type = u1(in), kind = type < 64 ? 251 : type < 128 ? 247 : type;

        in->bad |= kind < 247;
        pc += (type < 64 ? type : type < 128 ? type - 64 : u2(in)) + (i != 0);
        put1(out, kind);
        put2(out, moved(map, pc) - last - (i != 0));
        last = moved(map, pc);
        if (kind == 247) /* the same variables, one value on the stack */
            put_types(out, map, in, 1);
        else if (kind > 251 && kind < 255) /* more variables */
            put_types(out, map, in, kind - 251);
        else if (kind == 255)
            for (n = 0; n < 2; n++) { /* all variables, then the stack */
                unsigned types = u2(in);
                put2(out, types);
                put_types(out, map, in, types);
            }
    }
    if (handler != 0) {
        put1(out, 255);
        put2(out, handler - last - (count != 0));
        put2(out, 0); /* no variables are needed */
        put2(out, 1);
        put1(out, 7), put2(out, pool->throwable);
    }
}

static size_t begin_attribute(Output *out, unsigned name)
{
    put2(out, name);
    put4(out, 0);
    return out->size;
}

static void end_attribute(Output *out, size_t start) { set4(out, start - 4, (unsigned)(out->size - start)); }

/* Writes the contents of a Code attribute with the calls in it. Returns 0 if that cannot be done. */
static int put_code(Output *out, Input *in, const Pool *pool, unsigned number, int is_constructor, unsigned version)
{
    unsigned stack = u2(in), locals = u2(in), length = u4(in), pc, size, n, handler, kept = 0;
    Map map = { bytes(in, length), length, calloc(length + 1u, sizeof(unsigned)), 0 };
    size_t code, attributes;
    int has_frames = 0;

    map.bad = in->bad || map.to == NULL || length > 65535;
    if (!map.bad)
        lay_out(&map);
    if (map.bad) {
        free(map.to);
        return 0;
    }
    put2(out, stack < 1 ? 2 : stack + 1);
    put2(out, locals);
    put4(out, 0);
    code = out->size;
    put_call(out, number, pool->enter);
    for (pc = 0; pc < length; pc += size) {
        if (is_return(map.code[pc]))
            put_call(out, number, pool->leave);
        size = size_of(map.code, length, pc);
        put_instruction(out, &map, pc, size);
    }
    /* Before it has called another one, a constructor's object cannot be in the frame of a handler. */
    handler = is_constructor ? 0 : moved(&map, length);
    if (handler != 0) {
        put_call(out, number, pool->leave);
        put1(out, 0xbf); /* athrow */
    }
    set4(out, code - 4, (unsigned)(out->size - code));
    map.bad |= out->size - code > 65535;

    n = u2(in); /* the exception table; the new entry comes last, for what no other one catches */
    put2(out, n + (handler != 0));
    for (; n > 0 && !in->bad; n--) {
        put2(out, moved(&map, u2(in)));
        put2(out, moved(&map, u2(in)));
        put2(out, moved(&map, u2(in)));
        put2(out, u2(in));
    }
    if (handler != 0)
        put2(out, CALL), put2(out, handler), put2(out, handler), put2(out, 0);

    attributes = out->size;
    put2(out, 0);
    for (n = u2(in); n > 0 && !in->bad; n--) {
        unsigned name = u2(in), bytes_of_it = u4(in);
        Input contents = { bytes(in, bytes_of_it), bytes_of_it, 0, in->bad };
        int is_frames = is_named(pool, name, "StackMapTable");
        size_t start;

        if (!is_frames && !is_named(pool, name, "LineNumberTable"))
            continue; /* the names of local variables get lost */
        start = begin_attribute(out, name);
        if (is_frames)
            put_frames(out, &map, &contents, handler, pool);
        else
            put_lines(out, &map, &contents);
        end_attribute(out, start);
        kept++;
        has_frames |= is_frames;
        in->bad |= contents.bad;
    }
    if (handler != 0 && !has_frames && version >= 50) {
        size_t start = begin_attribute(out, pool->stack_map_table);
        put_frames(out, &map, NULL, handler, pool);
        end_attribute(out, start);
        kept++;
    }
    out->data[attributes] = (unsigned char)(kept >> 8);
    out->data[attributes + 1] = (unsigned char)kept;
    free(map.to);
    return !map.bad && !in->bad;
}

/* ---- The methods that have calls in them ---- */

static jvmtiEnv *jvmti;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **names; /* by number; guarded by lock */
static unsigned name_count;

static unsigned number_of(const char *class_name, const char *method)
{
    char *name = malloc(strlen(class_name) + strlen(method) + 2);
    unsigned number;

    pthread_mutex_lock(&lock);
    names = realloc(names, (name_count + 1u) * sizeof *names);
    if (name == NULL || names == NULL)
        abort();
    sprintf(name, "%s.%s", class_name, method);
    names[number = name_count++] = name;
    pthread_mutex_unlock(&lock);
    return number;
}

static void print(const char *what, jint number)
{
    jvmtiThreadInfo thread = { 0 };

    (*jvmti)->GetThreadInfo(jvmti, NULL, &thread);
    pthread_mutex_lock(&lock);
    fprintf(stderr, "%s %s %s\n", thread.name != NULL ? thread.name : "?", what, names[number]);
    pthread_mutex_unlock(&lock);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)thread.name);
}

static void JNICALL enter(JNIEnv *env, jclass tracker, jint number)
{
    (void)env, (void)tracker;
    print("calls", number);
}

static void JNICALL leave(JNIEnv *env, jclass tracker, jint number)
{
    (void)env, (void)tracker;
    print("leaves", number);
}

/* ---- The class file ---- */

static void put_method(Output *out, Input *in, Pool *pool, const char *class_name, unsigned version)
{
    unsigned flags = u2(in), name = u2(in), type = u2(in), n = u2(in);

    put2(out, flags), put2(out, name), put2(out, type), put2(out, n);
    for (; n > 0 && !in->bad; n--) {
        unsigned attribute = u2(in), size = u4(in);
        const unsigned char *data = bytes(in, size);
        Input contents = { data, size, 0, in->bad };
        size_t start = begin_attribute(out, attribute);

        if (!in->bad && is_named(pool, attribute, "Code") && pool->count < 65535) {
            char *method = utf8(pool, name);
            unsigned number = add_integer(pool, number_of(class_name, method != NULL ? method : "?"));
            int is_constructor = method != NULL && strcmp(method, "<init>") == 0;

            free(method);
            if (!put_code(out, &contents, pool, number, is_constructor, version)) {
                out->size = start; /* as it was */
                put(out, data, size);
            }
        } else if (!in->bad) {
            put(out, data, size);
        }
        end_attribute(out, start);
    }
}

static void put_member(Output *out, Input *in) /* a field, as it is */
{
    size_t start = in->at;
    unsigned n;

    bytes(in, 6);
    for (n = u2(in); n > 0 && !in->bad; n--) {
        bytes(in, 2);
        bytes(in, u4(in));
    }
    if (!in->bad)
        put(out, in->data + start, in->at - start);
}

/* Writes the class file with the calls in it. Returns 0 if it makes no sense: the JVM says why. */
static int rewrite(Output *out, const unsigned char *data, size_t size, const char *class_name)
{
    Input in = { data, size, 0, 0 };
    Output rest = { NULL, 0, 0 };
    Pool pool = { 0 };
    unsigned version, n;
    size_t old_pool, interfaces;

    bytes(&in, 6); /* magic, minor version */
    version = u2(&in);
    read_pool(&pool, &in);
    old_pool = in.at;
    add_tracker(&pool);
    bytes(&in, 6); /* flags, this class, its superclass */
    interfaces = u2(&in);
    bytes(&in, 2 * interfaces);
    if (!in.bad)
        put(&rest, data + old_pool, in.at - old_pool);
    n = u2(&in);
    put2(&rest, n);
    for (; n > 0 && !in.bad; n--)
        put_member(&rest, &in);
    n = u2(&in);
    put2(&rest, n);
    for (; n > 0 && !in.bad; n--)
        put_method(&rest, &in, &pool, class_name, version);
    if (!in.bad && pool.count <= 65535) {
        put(out, data, 8);
        put2(out, pool.count);
        put(out, data + 10, old_pool - 10);
        put(out, pool.added.data, pool.added.size);
        put(out, rest.data, rest.size);
        put(out, data + in.at, size - in.at); /* the attributes of the class */
    }
    free(pool.added.data);
    free(pool.old);
    free(rest.data);
    return out->size != 0;
}

/* ---- The agent ---- */

static char *prefix;

/* Writes the new class file for javap, to the folder that METHODS_SAVE names. */
static void save(const Output *out, const char *name)
{
    const char *folder = getenv("METHODS_SAVE"), *simple = strrchr(name, '/');
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s.class", folder != NULL ? folder : "", simple != NULL ? simple + 1 : name);
    if (folder == NULL || (file = fopen(path, "wb")) == NULL)
        return;
    fwrite(out->data, 1, out->size, file);
    fclose(file);
}

static void JNICALL class_file_load_hook(jvmtiEnv *jvmti, JNIEnv *env, jclass redefined, jobject loader,
                                         const char *name, jobject domain, jint length,
                                         const unsigned char *data, jint *new_length, unsigned char **new_data)
{
    Output out = { NULL, 0, 0 };

    (void)env, (void)redefined, (void)loader, (void)domain;
    if (name == NULL || strncmp(name, prefix, strlen(prefix)) != 0 || strcmp(name, "Tracker") == 0)
        return;
    if (rewrite(&out, data, (size_t)length, name)
        && (*jvmti)->Allocate(jvmti, (jlong)out.size, new_data) == JVMTI_ERROR_NONE) {
        memcpy(*new_data, out.data, out.size);
        *new_length = (jint)out.size;
        save(&out, name);
    }
    free(out.data);
}

/* The first moment at which Java can run, and the natives be registered. The program's classes come later. */
static void JNICALL vm_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    static JNINativeMethod natives[] = {
        { (char *)"enter", (char *)"(I)V", (void *)enter },
        { (char *)"leave", (char *)"(I)V", (void *)leave },
    };
    jclass tracker = (*env)->FindClass(env, "Tracker");

    (void)thread;
    if (tracker == NULL || (*env)->RegisterNatives(env, tracker, natives, 2) != JNI_OK) {
        (*env)->ExceptionDescribe(env);
        exit(1);
    }
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    static jvmtiEventCallbacks callbacks;
    jvmtiCapabilities wanted = { 0 };
    char *jar = options != NULL ? strdup(options) : NULL;

    (void)reserved;
    if (jar == NULL || (prefix = strchr(jar, ',')) == NULL) {
        fprintf(stderr, "methods: options are TRACKER_JAR,CLASS_NAME_PREFIX\n");
        return JNI_ERR;
    }
    *prefix++ = '\0';
    wanted.can_generate_all_class_hook_events = 1;
    callbacks.VMInit = vm_init;
    callbacks.ClassFileLoadHook = class_file_load_hook;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK
        || (*jvmti)->AddCapabilities(jvmti, &wanted) != JVMTI_ERROR_NONE
        || (*jvmti)->AddToBootstrapClassLoaderSearch(jvmti, jar) != JVMTI_ERROR_NONE
        || (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE
        || (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL) != JVMTI_ERROR_NONE)
        return JNI_ERR;
    return JNI_OK;
}
