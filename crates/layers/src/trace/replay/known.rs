//! The classes, threads and machine code that a recording has announced so far.

use crate::trace::read::Event;
use jvmpi_formats::dump::{Classes, Id, Shape, Type};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Arc;

/// The classes, threads and machine code that were announced. All keys are those of the recording.
#[derive(Default)]
pub struct Known {
    classes: HashMap<u64, Class>,
    /// Machine code, by its recorded address.
    pub codes: HashMap<u64, Arc<[u8]>>,
    pub class_of_method: HashMap<u64, u64>,
    /// Thread objects, by environment.
    pub thread_objects: HashMap<u64, u64>,
}

/// The CLASS_LOAD events of a class.
#[derive(Default)]
struct Class {
    /// Some agents keep the names, so the events live as long as their class.
    events: Vec<Arc<Event>>,
    /// The properties that a reader of heap dumps needs.
    interfaces: usize,
    statics: Vec<Type>,
}

impl Known {
    /// Returns the last event of a class that was announced.
    pub fn last_event(&self, class: u64) -> Option<Arc<Event>> {
        self.classes.get(&class)?.events.last().cloned()
    }

    /// Keeps a CLASS_LOAD.
    pub fn learn_class(&mut self, event: Box<Event>) {
        // SAFETY: the event was read as one of this type, with as many methods and fields as it says.
        let (class, methods, statics) = unsafe {
            let class = event.u.class_load;
            let count = |count| 0..usize::try_from(count).unwrap_or(0);
            let methods = count(class.num_methods).map(|i| (*class.methods.add(i)).method_id);
            let statics = count(class.num_static_fields)
                .filter_map(|i| NonNull::new((*class.statics.add(i)).field_signature))
                .filter_map(|signature| Type::of_descriptor(*signature.as_ptr().cast()));
            (class, methods.collect::<Vec<_>>(), statics.collect())
        };
        let id = class.class_id.expose_provenance() as u64;
        let methods = methods.into_iter().map(|method| (method.expose_provenance() as u64, id));
        self.class_of_method.extend(methods);
        let interfaces = usize::try_from(class.num_interfaces).unwrap_or(0);
        let kept = self.classes.entry(id).or_default();
        (kept.interfaces, kept.statics) = (interfaces, statics);
        kept.events.push(event.into());
    }

    pub fn forget_class(&mut self, class: u64) {
        self.classes.remove(&class);
    }

    /// Keeps the machine code that was recorded at this address.
    pub fn learn_code(&mut self, recorded: u64, code: &[u8]) -> Arc<[u8]> {
        let kept = self.codes.entry(recorded).or_default();
        if **kept != *code {
            *kept = code.into();
        }
        Arc::clone(kept)
    }
}

impl Classes for Known {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        let class = self.classes.get(&(class as u64))?;
        Some(Shape { interfaces: class.interfaces, statics: &class.statics })
    }
}
