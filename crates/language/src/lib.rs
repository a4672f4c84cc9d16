//! The Tacit language: from source text to a typed program, which is run in the clear or lowered to
//! functions. The crate does no cryptography. [`Sources`] provides the files, and only
//! [`ProgramFolder`] reads files from the disk.
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
//! | folder or file | contents | border |
//! |---|---|---|
//! | `source`, `diagnostic` | files, spans, errors | [`SourceMap`], [`Diagnostic`] |
//! | `lexer`, `parser` | tokens; recursive descent that recovers | `syntax::Item`s |
//! | `load` | the files of a program, and names | [`Loaded`] |
//! | `elaborate` | consts, generics, types, owners, ranges | [`program::Program`] |
//! | `interpret` | runs and tests in the clear | [`TestReport`], [`Outcome`] |
//! | `editor` | the meaning of a name, the type at a place, new names | [`Loaded::definition`] |
//! | `format` | the one format | [`format()`] |
//! | `lower` | functions of calls; the costs of each line | [`lower::Lowered`] |
//! | `folder` | files in a program's folder, and no others | [`ProgramFolder`] |
//! | `border` | ports and values as people write them, meanings | [`TypedFunction`] |
//! | `shipped` | the programs that come with Tacit | [`shipped::find`] |
//!
//! After an error, the parser continues with the next statement. The interpreter is independent of
//! the lowering, whose oracle it is. The two share only the circuits of the library and of files.
//!
//! Elaboration starts once the params have values, since types depend on them. `check` uses the
//! defaults, and each test its own values.
//!
//! # Design choices
//!
//! * Generics are inferred from the structure of an argument's type: `[T; N]`, `u<N>`, `T` alone,
//!   and structs of these. Inside a sum (`[T; M + N]`), nothing is inferred.
//! * `let x = e;` and `const x = e;` inside a function name a number of consts and counters if `e`
//!   is one. The number meets a type where it is used. A `let mut` has a type.
//! * A const condition selects its branch when the program is checked, and the other branch is only
//!   parsed. A condition on counters selects a branch in each turn, and both branches are
//!   type-checked.
//! * `[T; n]` with n at most m meets `[T; ..m]`. A `len` past m, which a dishonest peer can send,
//!   reads as m. The items after `len` are whatever the peer sent.
//! * A number of counters that meets a type must fit in each turn. This is checked with the
//!   program, and so are indices that are not secret.
//! * Only `main` and runs draw random bits themselves.
//!
//! # Limitations
//!
//! Loops are unrolled when a run is lowered. Repeated calls are then found and become loops again.
//! A run that still has more than 2^16 steps is refused.
#![forbid(unsafe_code)]

pub mod border;
mod diagnostic;
pub mod editor;
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
    BorderError, ChosenRows, ColumnCells, CsvError, CsvRecords, CsvTexts, JoinedRows, KeepCell,
    LeftOut, Malformed, PortValue, RowRules, Signature, TypedFunction, UnfitRows, WipedTexts,
    WrongSize, acts_on_a_terminal, unmarked,
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
