//! The keys of `lookupswitch` instructions, by the numbers that rewritten code passes.

use super::append_only::AppendOnly;
use crate::lock::Lock;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

type Keys = Box<[i32]>;

static KEYS: AppendOnly<OnceLock<Keys>> = AppendOnly::new();
/// The number of each list of keys. A class that is rewritten again gets the same numbers.
static NUMBERS: LazyLock<Lock<HashMap<Keys, usize>>> = LazyLock::new(Lock::default);

/// Returns the number of a list of keys, which are in ascending order as in the class file.
pub fn number(keys: Keys) -> usize {
    let mut numbers = NUMBERS.lock();
    *numbers.entry(keys).or_insert_with_key(|keys| {
        let number = KEYS.reserve(1);
        if let Some(place) = KEYS.get(number) {
            place.get_or_init(|| keys.clone());
        }
        number
    })
}

/// Returns the index of the pair that a key selects, and the number of pairs. The index of the
/// default is the number of pairs.
pub fn choose(number: usize, key: i32) -> Option<(usize, usize)> {
    let keys = KEYS.get(number)?.get()?;
    Some((keys.binary_search(&key).unwrap_or(keys.len()), keys.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_choose_their_pair_or_the_default() {
        let keys = [-5, 0, 7];
        let switch = number(keys.into());
        assert_eq!(number(keys.into()), switch);
        let chosen = [-5, 0, 7, 1, i32::MIN].map(|key| choose(switch, key).unwrap());
        assert_eq!(chosen, [(0, 3), (1, 3), (2, 3), (3, 3), (3, 3)]);
        assert_eq!(choose(number([].into()), 0), Some((0, 0)));
    }
}
