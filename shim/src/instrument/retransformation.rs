//! Retransforms loaded classes, so that they are rewritten.

use crate::classes;
use crate::records::class::{self, Class};
use jni_sys::{jclass, jint, jmethodID};
use jvm::types::{JVMTI_CLASS_STATUS_ERROR, JVMTI_ERROR_WRONG_PHASE};
use jvm::{Error, GlobalRef, Jni};
use jvmpi_classfile::access;
use std::time::Instant;

/// Maximum number of classes in a call of RetransformClasses. Meanwhile the VM keeps both versions of these classes in
/// memory, some ten kilobytes each.
const AT_ONCE: usize = 4096;

/// Approximate maximum number of calls. Each call stops the program once more. The VM then examines all loaded classes,
/// even for a small call, and discards code compiled since the last call. JDK 11 also examines that code for each
/// class.
const MOST_CALLS: usize = 16;

/// Minimum number of classes in a call, unless fewer are left.
const LEAST: usize = 128;

/// Retransforms the selected classes, one group after the other, and calls `between` when the first group is done.
pub fn of_all(
    jni: Jni,
    mut groups: [Vec<GlobalRef>; 2],
    between: impl FnOnce(&[Vec<GlobalRef>]),
) -> jvm::Result<()> {
    if groups.iter().all(Vec::is_empty) {
        between(&groups);
        return Ok(());
    }
    let pause = if jvm::get().feature_version() < 17 {
        ": on this JDK the program stops for one or two milliseconds a class, with pauses in between"
    } else {
        ""
    };
    log::info!("rewriting the loaded classes{pause}");
    let start = Instant::now();
    let first = of_group(jni, &mut groups[0])?;
    between(&groups);
    let second = of_group(jni, &mut groups[1])?;
    log::info!(
        "rewriting {} loaded classes took {} ms; the program was stopped {} times",
        groups[0].len() + groups[1].len(),
        start.elapsed().as_millis(),
        first + second
    );
    Ok(())
}

/// Retransforms the classes, and removes those without code. Returns the number of calls.
fn of_group(jni: Jni, classes: &mut Vec<GlobalRef>) -> jvm::Result<usize> {
    classes.retain(|class| {
        jni.frame(8, |jni| {
            // The VM would link the class itself, but only after it has read the code. It misreads the code if another
            // thread is linking the class (JDK-8277444, fixed in 25.0.2 and 26).
            if !class::is_ready(class.get()) {
                classes::link(jni, class.get());
            }
            has_code(class.get())
        })
    });
    let classes = in_order(classes);
    let mut calls = classes.chunks(in_a_call(classes.len()));
    let count = calls.len();
    calls.try_for_each(retransform)?;
    Ok(count)
}

/// Returns the number of classes in a call, given the number of all classes.
fn in_a_call(all: usize) -> usize {
    all.div_ceil(MOST_CALLS).clamp(LEAST, AT_ONCE)
}

/// Sorts the classes for retransformation. Unlinked classes come first: the VM refuses a call at the first class that
/// cannot be linked. Then come the oldest, on which most compiled code depends. Code that is discarded because of them
/// need not be examined for the others.
fn in_order(classes: &[GlobalRef]) -> Vec<jclass> {
    let oldest_first = classes.iter().rev().map(GlobalRef::get);
    let (linked, others): (Vec<_>, Vec<_>) =
        oldest_first.partition(|class| class::is_ready(*class));
    [others, linked].concat()
}

/// Returns the loaded classes that can be retransformed, in two groups: those for which `group` returns false, and those
/// for which it returns true. Local references to them would count as references of the frames in which the VM calls back
/// meanwhile.
pub fn select(
    jni: Jni,
    group: impl Fn(jclass, &Class) -> Option<bool>,
) -> jvm::Result<[Vec<GlobalRef>; 2]> {
    let mut groups = [Vec::new(), Vec::new()];
    for class in classes::all_loaded(jni)? {
        // The local references that the checks need must not add up.
        jni.frame(8, |jni| {
            let object = class.object(jni).filter(|_| !class.is_kept_as_it_is());
            let Some(object) = object else { return };
            let Some(group) = group(object, &class) else { return };
            if can_be_retransformed(object, &class) && has_code(object) {
                groups[usize::from(group)].extend(GlobalRef::new(jni, object));
            }
        });
    }
    Ok(groups)
}

/// Returns true if the class has code that could report. An unlinked class counts as having some.
fn has_code(object: jclass) -> bool {
    let jvmti = jvm::get().jvmti;
    let lacks_code = |modifiers: jint| modifiers as u16 & (access::ABSTRACT | access::NATIVE) != 0;
    let is_code = |method: &jmethodID| !jvmti.method_modifiers(*method).is_ok_and(lacks_code);
    jvmti.class_methods(object).map_or(true, |methods| methods.iter().any(is_code))
}

fn can_be_retransformed(object: jclass, class: &Class) -> bool {
    let jvmti = jvm::get().jvmti;
    if !jvmti.is_modifiable(object) {
        return false;
    }
    let has_failed = |status: jint| status & JVMTI_CLASS_STATUS_ERROR as jint != 0;
    let is_usable = !jvmti.class_status(object).is_ok_and(has_failed);
    if !is_usable {
        let name = String::from_utf8_lossy(class.internal_name());
        log::debug!("{name} is not rewritten, as its initializer has failed");
    }
    is_usable
}

/// Retransforms these classes, except those that the VM refuses.
fn retransform(classes: &[jclass]) -> jvm::Result<()> {
    let at_once = |classes: &[jclass]| match jvm::get().jvmti.retransform(classes) {
        Err(error) if error == Error(JVMTI_ERROR_WRONG_PHASE) => Err(error),
        result => Ok(result),
    };
    each(classes, &at_once, &|class| class::is_ready(class), &log_refusal)
}

/// Calls `at_once` for all of these classes, and for parts of them if it fails. A failing call changes nothing and does
/// not name the bad class. `refused` gets each class for which a call alone fails.
pub(super) fn each<C: Copy, E>(
    classes: &[C],
    at_once: &impl Fn(&[C]) -> Result<Result<(), Error>, E>,
    is_linked: &impl Fn(C) -> bool,
    refused: &impl Fn(C, Error),
) -> Result<(), E> {
    let mut left = classes.to_vec();
    while let Err(error) = at_once(&left)? {
        if let [class] = *left {
            refused(class, error);
            return Ok(());
        }
        // The VM links the classes in order, so the first unlinked one is the suspect. If all are linked, the bad class
        // may be in either half.
        let Some(suspect) = left.iter().position(|class| !is_linked(*class)) else {
            let (half, other) = left.split_at(left.len() / 2);
            return [half, other]
                .into_iter()
                .try_for_each(|half| each(half, at_once, is_linked, refused));
        };
        each(&[left.remove(suspect)], at_once, is_linked, refused)?;
    }
    Ok(())
}

fn log_refusal(class: jclass, error: Error) {
    let signature = jvm::get().jvmti.class_signature(class).unwrap_or_default();
    let name = String::from_utf8_lossy(class::name_in_signature(signature.to_bytes()));
    if class::is_ready(class) {
        log::warn!("{name} is not rewritten and reports nothing new: {error}");
    } else {
        log::debug!("{name} is not rewritten, as it cannot be linked: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// Runs [`each`] for `all` classes, with those in `bad` refused. Returns the retransformed and the refused classes
    /// and the number of calls. If `at_linking`, the bad classes fail to link, and the others are linked in order.
    fn done(all: usize, bad: &[usize], at_linking: bool) -> (Vec<usize>, Vec<usize>, usize) {
        let linked = RefCell::new(vec![!at_linking; all]);
        let (done, refused) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let calls = Cell::new(0);
        let at_once = |classes: &[usize]| -> Result<Result<(), Error>, ()> {
            calls.set(calls.get() + 1);
            for class in classes {
                if bad.contains(class) {
                    return Ok(Err(Error(21)));
                }
                linked.borrow_mut()[*class] = true;
            }
            done.borrow_mut().extend_from_slice(classes);
            Ok(Ok(()))
        };
        let classes: Vec<_> = (0..all).collect();
        let is_linked = |class: usize| linked.borrow()[class];
        let refuse = |class, _| refused.borrow_mut().push(class);
        each(&classes, &at_once, &is_linked, &refuse).unwrap();
        (done.into_inner(), refused.into_inner(), calls.get())
    }

    #[test]
    fn one_bad_class_does_not_spoil_the_others() {
        for at_linking in [false, true] {
            for bad in [&[][..], &[0], &[99], &[42, 43], &[7, 50, 51, 98]] {
                let (done, refused, calls) = done(100, bad, at_linking);
                let good: Vec<_> = (0..100).filter(|class| !bad.contains(class)).collect();
                assert_eq!((done, refused), (good, bad.to_vec()));
                let each = if at_linking { 2 } else { 2 * 7 };
                assert!(calls <= 1 + each * bad.len(), "{calls} calls for {bad:?}");
            }
        }
    }
}
