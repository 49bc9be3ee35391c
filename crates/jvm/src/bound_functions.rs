//! Finds the functions that native methods are bound to. JVMTI reports a function only when it is bound. HotSpot
//! stores it in a word that follows the method's structure; a method ID points to the address of that structure.

use crate::platform::own_memory;
use jni_sys::jmethodID;
use std::ffi::c_void;
use std::ptr;

/// The position of the word with a native method's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundFunctions {
    /// The number of words from the start of the structure.
    place: usize,
    /// The value for a method that is not bound to any function.
    unbound: usize,
}

/// The number of words to search; the structure has 10 to 14.
const WORDS: usize = 20;

impl BoundFunctions {
    /// Searches for the position at which all `known` methods have the function that they are bound to. Returns
    /// `None` unless there is exactly one. `unbound` is a method that is not bound to any function.
    pub fn find(known: &[(jmethodID, *mut c_void)], unbound: jmethodID) -> Option<Self> {
        let is_place = |place: &usize| {
            let has = |(method, function): &(jmethodID, *mut c_void)| {
                word(*method, *place) == Some(function.addr())
            };
            known.len() > 1 && known.iter().all(has)
        };
        let mut places = (0..WORDS).filter(is_place);
        let place = places.next().filter(|_| places.next().is_none())?;
        let unbound = word(unbound, place)?;
        let is_of_none = known.iter().all(|(_, function)| function.addr() != unbound);
        is_of_none.then_some(Self { place, unbound })
    }

    /// Returns the function of a native method, or `None` if it is not bound.
    pub fn of(self, method: jmethodID) -> Option<*mut c_void> {
        let function = word(method, self.place)?;
        let is_bound = function != self.unbound && function != 0;
        is_bound.then(|| ptr::with_exposed_provenance_mut(function))
    }
}

/// Reads a word of a method's structure, if the memory is mapped.
fn word(method: jmethodID, place: usize) -> Option<usize> {
    let structure = read(method.expose_provenance())?;
    read(structure.checked_add(place * size_of::<usize>())?)
}

fn read(address: usize) -> Option<usize> {
    let mut word = [0; size_of::<usize>()];
    own_memory::read(address, &mut word).then_some(usize::from_ne_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_is_found_where_all_functions_match() {
        let function = |number: usize| ptr::without_provenance_mut::<c_void>(number);
        let structures = [11, 12, 13, 99, 15].map(|bound| {
            let mut words = [7_usize; WORDS];
            words[13] = bound;
            words
        });
        let ids = structures.each_ref().map(|words| (&raw const *words).expose_provenance());
        let method = |number: usize| -> jmethodID { (&raw const ids[number]).cast_mut().cast() };
        let known = [0, 1, 2].map(|number| (method(number), function(11 + number)));
        let functions = BoundFunctions::find(&known, method(3)).unwrap();
        assert_eq!(functions, BoundFunctions { place: 13, unbound: 99 });
        assert_eq!((functions.of(method(4)), functions.of(method(3))), (Some(function(15)), None));
        assert_eq!(BoundFunctions::find(&known[..1], method(3)), None);
        assert_eq!(BoundFunctions::find(&[known[0], known[0]], method(0)), None);
        let other = [(method(0), function(11)), (method(1), function(13))];
        assert_eq!(BoundFunctions::find(&other, method(3)), None);
    }
}
