/*
 * instructions.c - reports every INSTRUCTION_START of the methods of some classes.
 *
 * Options: prefix=NAME    of the names of these classes
 */
#include "methods.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *prefix;
static long events, unknown;

static void step(const JVMPI_Event *e)
{
    const Method *m = method_of(e->u.instruction.method_id);

    events++;
    unknown += m == NULL;
    if (e->env_id != current_env())
        report("wrong_thread env=%#lx self=%#lx", ID(e->env_id), ID(current_env()));
    if (m == NULL || strncmp(m->name, prefix, strlen(prefix)) != 0)
        return;
    report("step method=%s offset=%d is_true=%d key=%d low=%d hi=%d pair=%d pairs=%d", q(m->name),
           (int)e->u.instruction.offset, (int)e->u.instruction.u.if_info.is_true,
           (int)e->u.instruction.u.tableswitch_info.key, (int)e->u.instruction.u.tableswitch_info.low,
           (int)e->u.instruction.u.tableswitch_info.hi,
           (int)e->u.instruction.u.lookupswitch_info.chosen_pair_index,
           (int)e->u.instruction.u.lookupswitch_info.pairs_total);
}

static void notify(JVMPI_Event *e)
{
    pthread_mutex_lock(&lock);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        learn_methods(e);
        break;
    case JVMPI_EVENT_INSTRUCTION_START:
        step(e);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report("total events=%ld unknown=%ld", events, unknown);
    }
    pthread_mutex_unlock(&lock);
}

ON_LOAD(notify)
{
    prefix = option("prefix", "");
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_INSTRUCTION_START);
}
