//! Field and method descriptors (JVMS §4.3).

use crate::Error;

/// The types that an instruction's prefix distinguishes: `i`, `l`, `f`, `d`, `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `boolean`, `byte`, `char`, `short` and `int`.
    Int,
    /// `long`.
    Long,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// Classes, interfaces and arrays.
    Reference,
}

impl Kind {
    /// Returns the number of slots of a value in locals and on the operand stack.
    #[must_use]
    pub const fn slots(self) -> u16 {
        match self {
            Self::Long | Self::Double => 2,
            Self::Int | Self::Float | Self::Reference => 1,
        }
    }

    /// Returns the distance of this type's instruction from the `int` one of the same group
    /// (`iload`, `lload`, `fload`, `dload`, `aload`; JVMS §6.5).
    pub(crate) const fn offset(self) -> u8 {
        match self {
            Self::Int => 0,
            Self::Long => 1,
            Self::Float => 2,
            Self::Double => 3,
            Self::Reference => 4,
        }
    }

    pub(crate) fn of_field(descriptor: &[u8]) -> Result<Self, Error> {
        let mut types = Types(descriptor);
        match types.next() {
            Some(field) if types.0.is_empty() => Ok(Self::of(field?)),
            _ => Err(Error::BadDescriptor),
        }
    }

    /// Returns the kind of a type that [`Types`] returned.
    pub(crate) fn of(field_type: &[u8]) -> Self {
        match field_type {
            b"J" => Self::Long,
            b"F" => Self::Float,
            b"D" => Self::Double,
            [b'L' | b'[', ..] => Self::Reference,
            _ => Self::Int,
        }
    }
}

/// Returns the kinds of a method's parameters, without `this`.
///
/// # Errors
/// Fails if `descriptor` is no method descriptor.
pub fn parameters(descriptor: &[u8]) -> Result<Vec<Kind>, Error> {
    Method::parse(descriptor)?.parameters.map(|parameter| parameter.map(Kind::of)).collect()
}

/// A parsed method descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method<'a> {
    /// The parameters' types, one after the other.
    pub parameters: Types<'a>,
    /// The number of slots of all parameters, without `this`.
    pub argument_slots: u16,
    /// The result's kind, `None` for `void`.
    pub result: Option<Kind>,
    /// The result's type as written in the descriptor.
    pub result_type: &'a [u8],
}

impl<'a> Method<'a> {
    pub fn parse(descriptor: &'a [u8]) -> Result<Self, Error> {
        let parameters = Types(descriptor.strip_prefix(b"(").ok_or(Error::BadDescriptor)?);
        let mut types = parameters;
        let mut argument_slots = 0_u16;
        for parameter in types.by_ref() {
            // §4.3.3 permits 255, so the sum cannot overflow in a valid file.
            argument_slots = argument_slots
                .checked_add(Kind::of(parameter?).slots())
                .ok_or(Error::BadDescriptor)?;
        }
        let result_type = types.0.strip_prefix(b")").ok_or(Error::BadDescriptor)?;
        let result = if result_type == b"V" { None } else { Some(Kind::of_field(result_type)?) };
        Ok(Self { parameters, argument_slots, result, result_type })
    }
}

/// The field types at the start of a string of descriptors, up to its end or a `)`.
///
/// A class name may contain a `)`, so only reading the parameters finds their end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types<'a>(&'a [u8]);

impl<'a> Iterator for Types<'a> {
    type Item = Result<&'a [u8], Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if matches!(self.0.first(), None | Some(b')')) {
            return None;
        }
        let dimensions = self.0.iter().take_while(|&&byte| byte == b'[').count();
        let length = match self.0.get(dimensions) {
            Some(b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z') => Some(dimensions + 1),
            Some(b'L') => {
                let name = self.0[dimensions..].iter().position(|&byte| byte == b';');
                name.map(|end| dimensions + end + 1)
            }
            _ => None,
        };
        let Some(length) = length else {
            self.0 = &[];
            return Some(Err(Error::BadDescriptor));
        };
        let (field_type, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(Ok(field_type))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_slots_of_arguments_and_result() {
        let method = Method::parse(b"(IJ[[DLjava/lang/String;D)J").unwrap();
        assert_eq!(method.argument_slots, 1 + 2 + 1 + 1 + 2);
        assert_eq!(method.result, Some(Kind::Long));
        let kinds = [Kind::Int, Kind::Long, Kind::Reference, Kind::Reference, Kind::Double];
        assert_eq!(parameters(b"(IJ[[DLjava/lang/String;D)J").unwrap(), kinds);
        let types: Vec<_> = method.parameters.map(Result::unwrap).collect();
        assert_eq!(types, [b"I".as_slice(), b"J", b"[[D", b"Ljava/lang/String;", b"D"]);
        assert_eq!(Method::parse(b"()V").unwrap().result, None);
        assert_eq!(Method::parse(b"(La)b;I)Lc)d;").unwrap().result_type, b"Lc)d;");
    }

    #[test]
    fn rejects_what_is_no_descriptor() {
        for bad in ["", "I", "(I", "(", ")V", "()", "(V)V", "(L)V", "(Lx)V", "([)V", "()II", "()[V"]
        {
            assert!(Method::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(Kind::of_field(b"II").is_err());
        assert!(Kind::of_field(b"").is_err());
    }
}
