//! The Tacit language: from source text to a typed program, which is run in the clear or lowered
//! to functions. The crate does no cryptography. [`Sources`] gives it the files, and only
//! [`ProgramFolder`] reads any from the disk.
//!
//! ```text
//! text ─▶ lexer ─▶ parser ─▶ syntax tree ─▶ load: files and names
//!                                             │  values of params
//!                                             ▼
//!                                         elaborate ─▶ program: typed, all sizes known
//!                                                        ├─▶ interpret: tests, in the clear
//!                                                        └─▶ lower: function::Function
//! ```
//!
//! | folder or file | what it does | border |
//! |---|---|---|
//! | `source`, `diagnostic` | files, spans, errors | [`SourceMap`], [`Diagnostic`] |
//! | `lexer`, `parser` | tokens; recursive descent that recovers | `syntax::Item`s |
//! | `load` | the files of a program, and names | [`Loaded`] |
//! | `elaborate` | consts, generics, types, owners, ranges | [`program::Program`] |
//! | `interpret` | runs and tests in the clear | [`TestReport`], [`Outcome`] |
//! | `editor` | what a name means, and what type is where | [`Loaded::definition`] |
//! | `format` | the one format | [`format()`] |
//! | `lower` | functions of calls; what each line costs | [`lower::Lowered`] |
//! | `folder` | files in a program's folder, and no others | [`ProgramFolder`] |
//! | `border` | ports and values as people write them, meanings | [`TypedFunction`] |
//! | `shipped` | the programs that come with Tacit | [`shipped::find`] |
//!
//! The parser goes on after an error at the next statement. The interpreter is written apart from
//! the lowering, whose oracle it is; only circuits of the library and of files are in both.
//!
//! Elaboration happens once the params have values, since types depend on them: `check` takes the
//! defaults, and each test its own.
//!
//! # Where the design left a choice
//!
//! * Generics are learned from the structure of an argument's type: `[T; N]`, `u<N>`, `T` alone,
//!   and structs of these. Where they stand in a sum (`[T; M + N]`), nothing is learned.
//! * `let x = e;` and `const x = e;` inside a function name a number of consts and counters where
//!   `e` is one; it meets a type where it is used. A `let mut` has a type.
//! * A const condition picks its branch when the program is checked; the other branch is parsed
//!   alone. A condition of counters picks it turn by turn; both branches are type-checked.
//! * `[T; n]` with n at most m meets `[T; ..m]`. A `len` past m, which a dishonest peer can send,
//!   reads as m; what stands behind `len` is whatever the peer sent.
//! * A number of counters that meets a type must fit in each turn; that is checked when the
//!   program is, and so are indices that are no secrets.
//! * Only `main` and runs draw random bits themselves.
//!
//! # What is not there yet
//!
//! Loops are unrolled when a run is lowered; its calls are found to repeat and become loops again.
//! A run with more than 2^16 steps after that is refused.
#![forbid(unsafe_code)]

pub mod border;
mod diagnostic;
mod editor;
mod elaborate;
mod folder;
mod format;
mod interpret;
mod lexer;
mod load;
pub mod lower;
mod parser;
pub mod program;
pub mod shipped;
mod source;
mod syntax;
mod test;

pub use border::{
    BorderError, CsvTexts, JoinedRow, PortValue, Signature, TypedFunction, acts_on_a_terminal,
};
pub use diagnostic::{Diagnostic, render_all};
pub use elaborate::{ParamValues, most_like};
pub use folder::{ProgramFolder, read_source};
pub use format::format;
pub use interpret::Outcome;
pub use load::Loaded;
pub use source::{FileId, NoFiles, SourceFile, SourceMap, Sources, Span, Symbol};
pub use tacit_function::join::JoinPlan;
pub use test::TestReport;
