//! Turns a syntax tree, with values for its params, into a typed program.
//!
//! | file | contents |
//! |---|---|
//! | this file | the elaborator, errors |
//! | `scopes` | the names of a function |
//! | `term` | values that have not met their type yet |
//! | `names` | paths |
//! | `types` | types |
//! | `constants` | params, consts, numbers where a const is needed |
//! | `expression`, `aggregates`, `operators`, `control`, `patterns`, `access` | expressions |
//! | `statements`, `loops` | statements |
//! | `calls`, `generics`, `builtins` | functions |
//! | `joins` | the pairs of a join, and the operations allowed on them |
//! | `exhaustive` | checks that a `match` covers all values |
//! | `entries`, `opened`, `tests` | states, `main`, runs, their results, tests |
//! | `ranges` | indices and counters against lengths and types |
//! | `order` | arguments against parameters that are `sorted` |
//! | `rows`, `zeros` | warnings: items that are no rows; what a loop changes for these |
//! | `sums`, `narrow` | warnings: sums in loops and conversions to `fixed` that may wrap |

mod access;
mod aggregates;
mod builtins;
mod calls;
mod constants;
mod control;
mod entries;
mod exhaustive;
mod expression;
mod generics;
mod joins;
mod loops;
mod names;
mod narrow;
mod opened;
mod operators;
mod order;
mod patterns;
mod ranges;
mod rows;
mod scopes;
mod statements;
mod sums;
mod term;
mod tests;
mod types;
mod zeros;

use std::collections::{BTreeMap, HashMap};

use num_bigint::BigInt;

use crate::diagnostic::{Diagnostic, Diagnostics, Reported};
use crate::load::Loaded;
use crate::program::{
    CounterId, EntryId, EntryKind, FunctionId, ItemKey, Local, LocalId, Program, StateId, TypeId,
};
use crate::source::{FileId, Span, Symbol};
use crate::syntax;

use generics::{Instance, InstanceKey};
use scopes::Scopes;
use term::Term;

pub(crate) use tests::TestProgram;

type Done<T> = Result<T, Reported>;

/// The values for params, by name.
pub type ParamValues = BTreeMap<String, BigInt>;

/// The greatest number of operations on consts, and of expressions that unrolled loops and
/// instances make.
const MAX_FUEL: u64 = 10_000_000;
/// The greatest nesting depth of expressions, including through the functions that consts call.
const MAX_DEPTH: usize = 400;

/// Elaborates all of a program except its tests, with or without its `debug` calls.
pub(crate) fn elaborate(
    loaded: &Loaded,
    given: &ParamValues,
    keeps_debug: bool,
) -> Result<Program, Diagnostics> {
    let mut elaborator = Elaborator::new(loaded, given);
    elaborator.keeps_debug = keeps_debug;
    elaborator.program();
    elaborator.finish()
}

/// Elaborates a program with a test's params, and the test itself.
pub(crate) fn elaborate_test(
    loaded: &Loaded,
    given: &ParamValues,
    test: &syntax::TestItem,
) -> Result<TestProgram, Diagnostics> {
    tests::test_program(loaded, given, test)
}

pub(crate) struct Elaborator<'a> {
    loaded: &'a Loaded,
    given: &'a ParamValues,
    program: Program,
    errors: Diagnostics,
    fuel: u64,
    depth: usize,
    /// The consts that have been computed, or `None` while one is being computed.
    constants: HashMap<ItemKey, Option<Done<Term>>>,
    /// The types that are being resolved.
    open_types: Vec<ItemKey>,
    states: HashMap<ItemKey, StateId>,
    entries: HashMap<ItemKey, EntryId>,
    instances: HashMap<InstanceKey, Done<FunctionId>>,
    /// For each function, the instance that it is and whether its body has been made.
    made: Vec<Instance<'a>>,
    lambdas: Vec<Lambda<'a>>,
    /// The number of each value that a sorting lambda computes from elements of a type, by the
    /// lambda's file and text.
    computed: HashMap<(FileId, TypeId, String), u32>,
    /// The results of folded calls that are sorted by a function's values.
    folded: Vec<order::Folded>,
    /// The names of the results of the run whose body is being made.
    result_names: Vec<Symbol>,
    /// The receiver of a method and its term, until the call takes them.
    receiver: Option<(&'a syntax::Expression, Term)>,
    /// Whether the program keeps its `debug` calls.
    keeps_debug: bool,
    /// The numbers of rows that a test gives to joined tables, if requested.
    table_lengths: Option<BTreeMap<Symbol, u64>>,
    /// The calls of `debug` that the program leaves out.
    left_out: Vec<Span>,
    context: Context,
}

/// A lambda and the meanings of its names: consts, types and other lambdas.
struct Lambda<'a> {
    parameters: &'a [syntax::Pattern],
    body: &'a syntax::Expression,
    names: Vec<(Symbol, Binding)>,
    module: FileId,
    span: Span,
}

/// The surroundings of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surroundings {
    /// An item that is not a function.
    Constant,
    Function,
    Entry(EntryKind),
    Test,
}

/// The function that is being elaborated.
struct Context {
    module: FileId,
    surroundings: Surroundings,
    scopes: Scopes,
    locals: Vec<Local>,
    counters: Vec<Symbol>,
    /// The place that first asked for this instance, and the generics of the instance.
    used_at: Option<(Span, String)>,
    /// The states that are assigned.
    assigned: Vec<StateId>,
    /// The inputs that are public.
    public: Vec<LocalId>,
}

/// The meaning of a name in a function.
#[derive(Clone, Debug)]
enum Binding {
    /// A variable, and whether it may be assigned.
    Local(LocalId, bool),
    /// A const, or a number made from counters.
    Term(Term),
    /// A generic type.
    Type(TypeId),
    /// A lambda passed as an argument.
    Lambda(u32),
    /// A table that is joined. Only its pairs can be read.
    Table,
    /// The pairs of a join, and the type of one pair.
    Pairs(LocalId, TypeId),
    /// A variable whose statement has an error.
    Broken(Reported),
}

impl Context {
    fn new(module: FileId, surroundings: Surroundings) -> Self {
        Self {
            module,
            surroundings,
            scopes: Scopes::default(),
            locals: Vec::new(),
            counters: Vec::new(),
            used_at: None,
            assigned: Vec::new(),
            public: Vec::new(),
        }
    }
}

impl<'a> Elaborator<'a> {
    fn new(loaded: &'a Loaded, given: &'a ParamValues) -> Self {
        Self {
            loaded,
            given,
            program: Program::default(),
            errors: loaded.errors().clone(),
            fuel: MAX_FUEL,
            depth: 0,
            constants: HashMap::new(),
            open_types: Vec::new(),
            states: HashMap::new(),
            entries: HashMap::new(),
            instances: HashMap::new(),
            made: Vec::new(),
            lambdas: Vec::new(),
            computed: HashMap::new(),
            folded: Vec::new(),
            result_names: Vec::new(),
            receiver: None,
            keeps_debug: false,
            table_lengths: None,
            left_out: Vec::new(),
            context: Context::new(loaded.root(), Surroundings::Constant),
        }
    }

    fn finish(self) -> Result<Program, Diagnostics> {
        if self.errors.is_empty() {
            Ok(self.program)
        } else {
            Err(self.errors)
        }
    }

    /// Makes the checks that need the bodies of all functions.
    fn check_made(&mut self) {
        if !self.errors.is_empty() {
            return;
        }
        joins::guard(&mut self.program);
        ranges::check(&self.program, &mut self.errors);
        order::check(&self.program, self.loaded, &self.folded, &mut self.errors);
        if self.errors.is_empty() {
            let mut warnings = sums::warnings(&self.program, self.loaded);
            warnings.extend(narrow::warnings(&self.program, self.loaded));
            warnings.extend(rows::warnings(&self.program, self.loaded));
            warnings.extend(self.left_out.iter().map(|span| {
                let warning = Diagnostic::warning(*span, "`debug` shows nothing in a run");
                warning.help("`tacit eval` and `tacit test` show it; remove it when you are done")
            }));
            warnings.sort_by(|a, b| (a.span, &a.message).cmp(&(b.span, &b.message)));
            warnings.dedup_by_key(|warning| warning.span);
            self.program.warnings = warnings;
        }
    }

    /// Reports an error. In an instance, the error also names the place that asked for it.
    fn report(&mut self, error: Diagnostic) -> Reported {
        let error = match &self.context.used_at {
            Some((span, generics)) => error.related(*span, format!("used here with {generics}")),
            None => error,
        };
        self.errors.report(error)
    }

    fn fail<T>(&mut self, error: Diagnostic) -> Done<T> {
        Err(self.report(error))
    }

    /// Takes one operation from the remaining ones.
    fn burn(&mut self, span: Span) -> Done<()> {
        self.burn_all(1, span)
    }

    /// Takes `steps` operations from the remaining ones.
    fn burn_all(&mut self, steps: u64, span: Span) -> Done<()> {
        match self.fuel.checked_sub(steps) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => {
                let message = format!("consts and unrolled loops take more than {MAX_FUEL} steps");
                let error = Diagnostic::new(span, message);
                self.fail(
                    error.help("write `for` in place of `for const` where no width depends on it"),
                )
            }
        }
    }

    /// Runs `work` one level deeper.
    fn deeper<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} levels of expressions in each other");
            let error = Diagnostic::new(span, message);
            return self.fail(error.help("give parts of it a name with `let`"));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// Runs `work` in another context, and also returns that context afterwards.
    fn within<T>(&mut self, context: Context, work: impl FnOnce(&mut Self) -> T) -> (T, Context) {
        let outer = std::mem::replace(&mut self.context, context);
        let result = work(self);
        (result, std::mem::replace(&mut self.context, outer))
    }

    /// Runs `work` in a new scope.
    fn scoped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.context.scopes.open();
        let result = work(self);
        self.context.scopes.close();
        result
    }

    fn bind(&mut self, name: Symbol, binding: Binding) {
        self.context.scopes.bind(name, binding);
    }

    /// Returns the meaning of a name in the function, if it has one there.
    fn binding(&self, name: &str) -> Option<&Binding> {
        self.context.scopes.find(name)
    }

    fn local(&mut self, name: Symbol, ty: TypeId) -> LocalId {
        self.context.locals.push(Local { name, ty });
        LocalId(self.context.locals.len() as u32 - 1)
    }

    /// Creates a variable without a name.
    fn unnamed(&mut self, ty: TypeId) -> LocalId {
        self.local(Symbol::new(""), ty)
    }

    fn counter(&mut self, name: Symbol) -> CounterId {
        self.context.counters.push(name);
        CounterId(self.context.counters.len() as u32 - 1)
    }

    /// Returns the name of a type, for messages.
    fn type_name(&self, ty: TypeId) -> String {
        self.program.types.name(ty)
    }
}

/// Returns the known name that is most similar to `name`, if any is similar enough.
pub fn most_like<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
    let distances = known.map(|other| (distance(name, other), other));
    let nearest = distances.min()?;
    let is_like = nearest.0 <= 1.max(name.len() / 3) && nearest.0 < name.len();
    is_like.then(|| nearest.1.to_owned())
}

/// Returns the edit distance between two names. Swapping two adjacent letters is one edit, and case
/// is ignored.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
