//! INSTRUCTION_START.

use super::announce::{self, ClassFor};
use crate::instrument::instructions::{EQ, GE, GT, LE, LT, NE};
use crate::notify::short_cut;
use crate::records::agents::{self, OnlyListener};
use crate::records::calls::Step;
use crate::records::numbered;
use crate::threads;
use jni_sys::{jint, jmethodID, jobject};
use jvm::Jni;
use jvmpi_sys::*;

/// Reports the start of an instruction that is not a branch.
#[inline]
pub fn plain(jni: Jni, offset: jint, method: jint) {
    // Agents that read the union member anyway see zeros.
    let nothing = JVMPI_Event_instruction_tableswitch_info { key: 0, low: 0, hi: 0 };
    post(jni, offset, method, JVMPI_Event_instruction_u { tableswitch_info: nothing });
}

/// Reports the start of a branch that compares numbers.
#[inline]
pub fn compared(jni: Jni, one: jint, other: jint, condition: jint, offset: jint, method: jint) {
    let is_true = match condition {
        EQ => one == other,
        NE => one != other,
        LT => one < other,
        GE => one >= other,
        GT => one > other,
        LE => one <= other,
        _ => return,
    };
    branch(jni, is_true, offset, method);
}

/// Reports the start of a branch that compares references.
pub fn same(jni: Jni, one: jobject, other: jobject, condition: jint, offset: jint, method: jint) {
    branch(jni, jni.same_object(one, other) == (condition == EQ), offset, method);
}

fn branch(jni: Jni, is_true: bool, offset: jint, method: jint) {
    let if_info = JVMPI_Event_instruction_if_info { is_true };
    post(jni, offset, method, JVMPI_Event_instruction_u { if_info });
}

/// Reports the start of a `tableswitch`.
pub fn tableswitch(jni: Jni, key: jint, low: jint, hi: jint, offset: jint, method: jint) {
    let tableswitch_info = JVMPI_Event_instruction_tableswitch_info { key, low, hi };
    post(jni, offset, method, JVMPI_Event_instruction_u { tableswitch_info });
}

/// Reports the start of a `lookupswitch`. `keys` is the number of its registered list of
/// keys.
pub fn lookupswitch(jni: Jni, key: jint, keys: jint, offset: jint, method: jint) {
    let Some((pair, pairs)) = numbered::choose_key(keys as usize, key) else { return };
    let lookupswitch_info = JVMPI_Event_instruction_lookupswitch_info {
        chosen_pair_index: pair as jint,
        pairs_total: pairs as jint,
    };
    post(jni, offset, method, JVMPI_Event_instruction_u { lookupswitch_info });
}

#[inline]
fn post(jni: Jni, offset: jint, method: jint, u: JVMPI_Event_instruction_u) {
    let event = |method_id| JVMPI_Event_instruction { method_id, offset, u };
    let sent = short_cut::with(OnlyListener::Instruction, Step::Stay, |way| {
        let method = way.method(method)?;
        way.send(way.handler()?, JVMPI_EVENT_INSTRUCTION_START, event(method));
        Some(())
    });
    if sent.is_none() {
        post_to_all(jni, method, event);
    }
}

#[cold]
#[inline(never)]
fn post_to_all(jni: Jni, method: jint, event: impl Fn(jmethodID) -> JVMPI_Event_instruction) {
    let thread = threads::current(jni);
    if !short_cut::is_reportable(&thread) {
        return;
    }
    short_cut::prepare(jni, &thread, method as usize, |method| {
        thread.in_flight.while_tracking(|| {
            for agent in agents::wanting(JVMPI_EVENT_INSTRUCTION_START) {
                announce::class(jni, agent, &thread, method.class, ClassFor::EVENT);
                announce::send(
                    jni,
                    agent,
                    &thread,
                    JVMPI_EVENT_INSTRUCTION_START,
                    event(method.id),
                );
            }
        });
    });
}
