//! The errors of circuits, values and circuit files.

use thiserror::Error;

/// A circuit, type, value or circuit file that is not valid.
///
/// No message shows the content of a value, since it may be secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CircuitError {
    /// A text that names no type.
    #[error(
        "{text:?} is not a type; write bit, bits[n], uN, iN, fixed[i,f], bytes[n], or an array of \
         these such as u32[10]"
    )]
    NotAType {
        /// The text, cut to 64 characters.
        text: String,
    },
    /// A type with a size of zero or one past the bounds.
    #[error(
        "the type {ty} has a size that is not allowed: sizes start at 1, numbers have at most \
         4096 bits, arrays at most 8 dimensions, and a port at most 2^30 bits"
    )]
    TypeSize {
        /// The type as text.
        ty: String,
    },
    /// A port's name that is empty, too long, or contains characters that are not allowed.
    #[error(
        "{port:?} cannot name a port; use a letter and then up to 63 letters, digits and \
         underscores, all ASCII"
    )]
    PortName {
        /// The name, cut to 64 characters.
        port: String,
    },
    /// Two input ports, or two output ports, with the same name.
    #[error("two {direction} ports are named {port:?}; give each its own name")]
    DuplicatePort {
        /// `input` or `output`.
        direction: &'static str,
        /// The name.
        port: String,
    },
    /// A circuit without input or without output.
    #[error("the circuit has no {direction} port; it needs at least one")]
    NoPorts {
        /// `input` or `output`.
        direction: &'static str,
    },
    /// Ports whose total width is not the number of wires.
    #[error("the {direction} ports are {expected} bits wide together; {found} wires were given")]
    PortWidth {
        /// `input` or `output`.
        direction: &'static str,
        /// The number of bits of the ports.
        expected: usize,
        /// The number of wires given.
        found: usize,
    },
    /// More wires than a circuit may have.
    #[error("{at} has wires past the limit of 2^30; split the circuit into several")]
    TooManyWires {
        /// The port, gate or field at which the limit is passed.
        at: String,
    },
    /// A gate that reads a wire of its own number or a greater one.
    #[error("gate {gate} reads wire {wire}, but only wires below {limit} are known before it")]
    GateReadsAhead {
        /// The gate's number, from 0.
        gate: usize,
        /// The wire.
        wire: u32,
        /// The number of the wire that the gate drives.
        limit: u32,
    },
    /// An output that names a wire that does not exist.
    #[error("output bit {bit} is wire {wire}, but the circuit has only {wires} wires")]
    OutputWire {
        /// The output bit's number over all ports, from 0.
        bit: usize,
        /// The wire.
        wire: u32,
        /// The number of wires of the circuit.
        wires: u32,
    },
    /// A value that does not fit its type. The error states the kind and length found, never the
    /// content.
    #[error("{at} is of type {ty}: expected {expected}, found {found}")]
    Value {
        /// The port, and the element's index in an array: `key`, `table[3]`, or `the value`.
        at: String,
        /// The type as text.
        ty: String,
        /// The values that the type allows.
        expected: String,
        /// A description of the value found, without secrets.
        found: String,
    },
    /// A number of values that is not the number of input ports.
    #[error("the circuit has {expected} input ports; {found} values were given")]
    ValueCount {
        /// The number of input ports.
        expected: usize,
        /// The number of values given.
        found: usize,
    },
    /// A circuit file that breaks its format.
    #[error("line {line}, {field}: expected {expected}, found {found}")]
    File {
        /// The number of the line, from 1.
        line: u64,
        /// The field: the meaning of the number or word.
        field: &'static str,
        /// The values that the format allows there.
        expected: String,
        /// The text found.
        found: String,
    },
    /// A circuit file that announces more than the limits allow.
    #[error(
        "line {line} announces {found} {what}; the limit is {limit}, raise it if the file is to \
         be trusted"
    )]
    FileLimit {
        /// The number of the line, from 1.
        line: u64,
        /// The things that are counted.
        what: &'static str,
        /// The limit in force.
        limit: u64,
        /// The number announced.
        found: u64,
    },
    /// A file that could not be read or written.
    #[error("{path}: {message}; check that it is there and permitted")]
    Io {
        /// The file, or `the circuit file` if only a stream is known.
        path: String,
        /// The operating system's message.
        message: String,
    },
    /// A circuit that a file format cannot represent.
    #[error("{format} takes {expected}; the circuit has {found}")]
    Unwritable {
        /// The format.
        format: &'static str,
        /// The circuits that the format can represent.
        expected: &'static str,
        /// The property of the circuit that does not fit.
        found: String,
    },
}

impl CircuitError {
    /// Returns the same error about the value at `place`. Other errors stay as they are.
    #[must_use]
    pub fn at(self, place: String) -> Self {
        match self {
            Self::Value {
                ty,
                expected,
                found,
                ..
            } => Self::Value {
                at: place,
                ty,
                expected,
                found,
            },
            other => other,
        }
    }

    /// Creates the error of a stream whose name is not known here.
    pub(crate) fn stream(error: &std::io::Error) -> Self {
        Self::Io {
            path: "the circuit file".to_owned(),
            message: error.to_string(),
        }
    }
}
