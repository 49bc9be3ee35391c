/*
 * methods.c - METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT, and the instructions of a method.
 */
#include "methods.h"

enum { DEPTH = 4096, STEPS = 4096 };

static volatile int listening;
static JNIEnv *listened;

/* What was entered and not yet left on the thread that is listened to. */
static jmethodID opened[DEPTH];
static int depth, before_listening, entries, exits, entries2, unknown, unmatched, elsewhere, wrong_top, wrong_top_at_exit, order;
static jmethodID last_entry;

static struct { const char *name; int entries, exits, entries2; jobjectID receiver; } counts[] = {
    { "calls", 0, 0, 0, NULL }, { "leaf", 0, 0, 0, NULL }, { "throwing", 0, 0, 0, NULL },
    { "recursive", 0, 0, 0, NULL }, { "instance", 0, 0, 0, NULL }, { "<init>", 0, 0, 0, NULL },
    { "<clinit>", 0, 0, 0, NULL }, { "inherited", 0, 0, 0, NULL }, { "call", 0, 0, 0, NULL },
};

enum { CALLS, LEAF, THROWING, RECURSIVE, INSTANCE, INIT, CLINIT, INHERITED, NATIVE, KINDS };

static struct { jint offset; JVMPI_Event event; } steps[STEPS];
static volatile int n_steps, steps_elsewhere, steps_of_others;
static volatile int stepping;

static int kind_of(jmethodID id)
{
    const Method *m = method_of(id);
    int i;

    if (m == NULL) {
        unknown++;
        return -1;
    }
    if (strncmp(m->type, "Methods", 7) != 0 && !(strcmp(m->type, "Conform") == 0 && strcmp(m->signature, "(Ljava/lang/String;ILjava/lang/Object;)I") == 0))
        return -1;
    for (i = 0; i < KINDS; i++)
        if (strcmp(m->name, counts[i].name) == 0)
            return i;
    return -1;
}

static int is_on_top(JNIEnv *env, jmethodID id)
{
    JVMPI_CallFrame frame;
    JVMPI_CallTrace trace;

    frame.method_id = NULL;
    trace.env_id = env;
    trace.num_frames = 0;
    trace.frames = &frame;
    jvmpi->GetCallTrace(&trace, 1);
    return trace.num_frames == 1 && frame.method_id == id;
}

static void entered(const JVMPI_Event *e)
{
    jmethodID id = e->u.method.method_id;
    int kind = kind_of(id);

    elsewhere += e->env_id != current();
    if (e->env_id != listened)
        return;
    entries++;
    last_entry = id;
    if (kind >= 0) {
        counts[kind].entries++;
        wrong_top += !is_on_top(e->env_id, id);
    }
    if (depth < DEPTH)
        opened[depth] = id;
    depth++;
}

static void entered2(const JVMPI_Event *e)
{
    int kind = kind_of(e->u.method_entry2.method_id);

    if (e->env_id != listened)
        return;
    entries2++;
    order += e->u.method_entry2.method_id != last_entry;
    if (kind >= 0) {
        counts[kind].entries2++;
        counts[kind].receiver = e->u.method_entry2.obj_id;
    }
}

static void left(const JVMPI_Event *e)
{
    jmethodID id = e->u.method.method_id;
    int kind = kind_of(id);

    elsewhere += e->env_id != current();
    if (e->env_id != listened)
        return;
    /* Of the calls that were going on when the agent began to listen. */
    if (depth == 0 && before_listening > 0) {
        before_listening--;
        return;
    }
    exits++;
    if (kind >= 0) {
        counts[kind].exits++;
        wrong_top_at_exit += !is_on_top(e->env_id, id);
    }
    depth--;
    unmatched += depth < 0 || (depth < DEPTH && opened[depth] != id);
    if (depth < 0)
        depth = 0;
}

static void step(const JVMPI_Event *e)
{
    steps_elsewhere += e->env_id != current();
    if (!stepping)
        return;
    if (!is_method(e->u.instruction.method_id, "Methods", "steps")) {
        steps_of_others++;
        return;
    }
    if (n_steps < STEPS) {
        steps[n_steps].offset = e->u.instruction.offset;
        steps[n_steps].event = *e;
        n_steps++;
    }
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD) {
        learn_methods(e);
        return;
    }
    if (e->event_type == JVMPI_EVENT_INSTRUCTION_START) {
        step(e);
        return;
    }
    if (!listening)
        return;
    switch (e->event_type) {
    case JVMPI_EVENT_METHOD_ENTRY:
        entered(e);
        break;
    case JVMPI_EVENT_METHOD_ENTRY2:
        entered2(e);
        break;
    case JVMPI_EVENT_METHOD_EXIT:
        left(e);
    }
}

static void expect_counts(const char *id, int kind, int wanted)
{
    char what[64];

    sprintf(what, "entries of %s", counts[kind].name);
    expect_int(id, what, counts[kind].entries, wanted);
    sprintf(what, "exits of %s", counts[kind].name);
    expect_int(id, what, counts[kind].exits, wanted);
    done(id);
}

static void judge_all(int calls)
{
    expect_counts("methods-001", CALLS, calls);
    expect_counts("methods-002", LEAF, 10 * calls);
    expect_counts("methods-003", THROWING, 5);
    expect_counts("methods-004", RECURSIVE, 100);
    expect_counts("methods-005", INIT, 3);
    expect_counts("methods-006", CLINIT, 1);
    expect_counts("methods-007", INHERITED, 2);
    expect("methods-008", entries > 0 && exits > 0, "none comes");
    judge("methods-008", unmatched == 0, "an exit is not that of the method entered last");
    judge("methods-009", entries > 0 && exits > 0 && elsewhere == 0, "it comes on another thread");
    judge("methods-010", entries > 0 && wrong_top == 0, "the method is not on top of the trace");
    judge("methods-011", exits > 0 && wrong_top_at_exit == 0, "the method is not on top of the trace");
    judge("methods-012", entries > 0 && exits > 0 && unknown == 0, "CLASS_LOAD has not told of a method");
    judge("methods-017", counts[NATIVE].entries > 0 && counts[NATIVE].exits > 0, "it does not come for a native method");
}

static void judge_receivers(jobject object)
{
    jobjectID id = jvmpi->jobject2jobjectID(object);

    expect_int("methods-013", "events of a method of an object", counts[INSTANCE].entries2, 3);
    judge("methods-013", counts[INSTANCE].receiver == id, "obj_id is not the receiver");
    expect_int("methods-014", "events of a static method", counts[LEAF].entries2, counts[LEAF].entries);
    judge("methods-014", counts[LEAF].entries2 > 0 && counts[LEAF].receiver == NULL, "obj_id is not NULL");
    judge("methods-015", entries2 > 0 && order == 0, "METHOD_ENTRY2 does not come right after METHOD_ENTRY");
}

/* ---- Instructions ------------------------------------------------------------------------------------- */

static int find(jint offset)
{
    int i;

    for (i = 0; i < n_steps; i++)
        if (steps[i].offset == offset)
            return i;
    return -1;
}

/* How often the branch at this offset was seen, taken or not. */
static int branches(jint offset, jboolean is_taken)
{
    int i, count = 0;

    for (i = 0; i < n_steps; i++)
        count += steps[i].offset == offset && steps[i].event.u.instruction.u.if_info.is_true == is_taken;
    return count;
}

/* The bytecode of Methods.steps, whose first is at 0, and its switches are where these offsets say. */
static void judge_steps(int at_if, int at_table, int at_lookup, int instructions)
{
    int i, distinct = 0;

    for (i = 0; i < n_steps; i++)
        distinct += find(steps[i].offset) == i;
    expect("instructions-001", n_steps > 0 && steps[0].offset == 0, "the first is not that at 0");
    expect_int("instructions-001", "instructions", n_steps, instructions);
    done("instructions-001");
    judge("instructions-002", n_steps > 0 && steps_elsewhere == 0, "it comes on another thread");
    expect_int("instructions-003", "times it was not taken", branches(at_if, JNI_FALSE), 3);
    expect_int("instructions-003", "times it was taken", branches(at_if, JNI_TRUE), 1);
    done("instructions-003");
    i = find(at_table);
    judge("instructions-004", i >= 0 && steps[i].event.u.instruction.u.tableswitch_info.key == 11
          && steps[i].event.u.instruction.u.tableswitch_info.low == 10
          && steps[i].event.u.instruction.u.tableswitch_info.hi == 12, "key, low or hi is not that of the switch");
    i = find(at_lookup);
    judge("instructions-005", i >= 0 && steps[i].event.u.instruction.u.lookupswitch_info.chosen_pair_index == 1,
          "chosen_pair_index is not that of the pair");
    judge("instructions-006", i >= 0 && steps[i].event.u.instruction.u.lookupswitch_info.pairs_total == 3,
          "pairs_total is not the number of pairs");
    judge("instructions-007", distinct > 0 && distinct < n_steps, "a loop is not seen to run again");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    static int before, after;

    if (strcmp(what, "listen") == 0) {
        depth = 0;
        before_listening = 3;
        listened = env;
        listening = 1;
    } else if (strcmp(what, "judge") == 0)
        judge_all(number);
    else if (strcmp(what, "receivers") == 0)
        judge_receivers(object);
    else if (strcmp(what, "disable") == 0) {
        jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
        jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY2, NULL);
        jvmpi->DisableEvent(JVMPI_EVENT_METHOD_EXIT, NULL);
        before = counts[LEAF].entries + counts[LEAF].exits;
    } else if (strcmp(what, "disabled") == 0) {
        after = counts[LEAF].entries + counts[LEAF].exits;
        expect_int("methods-016", "events that were disabled", after - before, 0);
        expect("methods-016", counts[LEAF].entries > 0 && counts[LEAF].exits > 0, "none came before");
        done("methods-016");
        listening = 0;
    } else if (strcmp(what, "step") == 0)
        stepping = number;
    else if (strcmp(what, "steps") == 0) {
        expect("instructions-008", steps_of_others > 0, "none comes of other methods");
        judge("instructions-008", n_steps > 0, "none comes");
        judge_steps(6, 23, 73, number);
    } else if (strcmp(what, "step off") == 0) {
        before = n_steps;
        jvmpi->DisableEvent(JVMPI_EVENT_INSTRUCTION_START, NULL);
    } else if (strcmp(what, "steps again") == 0)
        judge("instructions-009", before > 0 && n_steps == before, "it comes although it was disabled");
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    enable(JVMPI_EVENT_CLASS_LOAD);
    if (strcmp(options, "instructions") == 0)
        enable(JVMPI_EVENT_INSTRUCTION_START);
    else {
        enable(JVMPI_EVENT_METHOD_ENTRY);
        enable(JVMPI_EVENT_METHOD_ENTRY2);
        enable(JVMPI_EVENT_METHOD_EXIT);
    }
    return JNI_OK;
}
