//! Turns a syntax tree, with values for its params, into a typed program.
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | what is being elaborated, errors |
//! | `scopes` | the names of a function |
//! | `term` | values that have not met their type yet |
//! | `names` | paths |
//! | `types` | types |
//! | `constants` | params, consts, numbers where a const is needed |
//! | `expression`, `aggregates`, `operators`, `control`, `patterns`, `access` | expressions |
//! | `statements`, `loops` | statements |
//! | `calls`, `generics`, `builtins` | functions |
//! | `joins` | the pairs of a join, and what may be done with them |
//! | `exhaustive` | whether a `match` is for all values |
//! | `entries`, `opened`, `tests` | states, `main`, runs, their results, tests |
//! | `ranges` | indices and counters against lengths and types |
//! | `order` | arguments against parameters that are `sorted` |
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
mod scopes;
mod statements;
mod sums;
mod term;
mod tests;
mod types;

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

/// Values for params, by name.
pub type ParamValues = BTreeMap<String, BigInt>;

/// Most operations on consts, and expressions that unrolled loops and instances make.
const MAX_FUEL: u64 = 10_000_000;
/// Deepest nesting of expressions, through the functions that consts call.
const MAX_DEPTH: usize = 400;

/// Elaborates all of a program but its tests, with what `debug` shows or without it.
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

/// Elaborates a program with a test's params, and the test.
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
    /// Consts that were computed; nothing while one is.
    constants: HashMap<ItemKey, Option<Done<Term>>>,
    /// Types that are being resolved.
    open_types: Vec<ItemKey>,
    states: HashMap<ItemKey, StateId>,
    entries: HashMap<ItemKey, EntryId>,
    instances: HashMap<InstanceKey, Done<FunctionId>>,
    /// For each function what it is an instance of, and whether its body is made.
    made: Vec<Instance<'a>>,
    lambdas: Vec<Lambda<'a>>,
    /// What lambdas by which arrays are sorted compute of elements of a type, and its number.
    computed: HashMap<(FileId, TypeId, String), u32>,
    /// Results of folded calls that are in order by what a function computes.
    folded: Vec<order::Folded>,
    /// The names of the results of the run whose body is made.
    result_names: Vec<Symbol>,
    /// What a method is called on, and its term, until the call takes it up.
    receiver: Option<(&'a syntax::Expression, Term)>,
    /// Whether the program shows what `debug` is given.
    keeps_debug: bool,
    /// How many rows a test gives to joined tables, where that is asked for.
    table_lengths: Option<BTreeMap<Symbol, u64>>,
    /// Calls of `debug` that it does not have.
    left_out: Vec<Span>,
    context: Context,
}

/// A lambda and what its names mean: consts, types and other lambdas.
struct Lambda<'a> {
    parameters: &'a [syntax::Pattern],
    body: &'a syntax::Expression,
    names: Vec<(Symbol, Binding)>,
    module: FileId,
    span: Span,
}

/// In what an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surroundings {
    /// An item that is no function.
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
    /// Where an instance was asked for first, and with which generics.
    used_at: Option<(Span, String)>,
    /// States that are assigned.
    assigned: Vec<StateId>,
    /// Inputs that are public.
    public: Vec<LocalId>,
}

/// What a name means in a function.
#[derive(Clone, Debug)]
enum Binding {
    /// A variable, and whether it may be assigned.
    Local(LocalId, bool),
    /// A const, or a number of counters.
    Term(Term),
    /// A generic type.
    Type(TypeId),
    /// A lambda that is an argument.
    Lambda(u32),
    /// A table that is joined, of which only pairs are read.
    Table,
    /// The pairs of a join, and the type of one.
    Pairs(LocalId, TypeId),
    /// A variable whose statement is wrong.
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
        match self.errors.is_empty() {
            true => Ok(self.program),
            false => Err(self.errors),
        }
    }

    /// Checks what only shows in bodies that are all made.
    fn check_made(&mut self) {
        if !self.errors.is_empty() {
            return;
        }
        ranges::check(&self.program, &mut self.errors);
        order::check(&self.program, self.loaded, &self.folded, &mut self.errors);
        if self.errors.is_empty() {
            let mut warnings = sums::warnings(&self.program);
            warnings.extend(narrow::warnings(&self.program, self.loaded));
            warnings.extend(self.left_out.iter().map(|span| {
                let warning = Diagnostic::warning(*span, "`debug` shows nothing in a run");
                warning.help("`tacit eval` and `tacit test` show it; remove it when you are done")
            }));
            warnings.sort_by(|a, b| (a.span, &a.message).cmp(&(b.span, &b.message)));
            warnings.dedup_by_key(|warning| warning.span);
            self.program.warnings = warnings;
        }
    }

    /// Reports an error; inside an instance it says where that was asked for.
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

    /// Takes one operation from those that are left.
    fn burn(&mut self, span: Span) -> Done<()> {
        self.burn_all(1, span)
    }

    /// Takes this many operations from those that are left.
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

    /// Runs `work` in another context, and gives what became of that.
    fn within<T>(&mut self, context: Context, work: impl FnOnce(&mut Self) -> T) -> (T, Context) {
        let outer = std::mem::replace(&mut self.context, context);
        let result = work(self);
        (result, std::mem::replace(&mut self.context, outer))
    }

    /// Runs `work` in a scope of its own.
    fn scoped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.context.scopes.open();
        let result = work(self);
        self.context.scopes.close();
        result
    }

    fn bind(&mut self, name: Symbol, binding: Binding) {
        self.context.scopes.bind(name, binding);
    }

    /// What a name means in the function, if it means something there.
    fn binding(&self, name: &str) -> Option<&Binding> {
        self.context.scopes.find(name)
    }

    fn local(&mut self, name: Symbol, ty: TypeId) -> LocalId {
        self.context.locals.push(Local { name, ty });
        LocalId(self.context.locals.len() as u32 - 1)
    }

    /// A variable that no name means.
    fn unnamed(&mut self, ty: TypeId) -> LocalId {
        self.local(Symbol::new(""), ty)
    }

    fn counter(&mut self, name: Symbol) -> CounterId {
        self.context.counters.push(name);
        CounterId(self.context.counters.len() as u32 - 1)
    }

    /// The name of a type, for messages.
    fn type_name(&self, ty: TypeId) -> String {
        self.program.types.name(ty)
    }
}

/// The known name that `name` is most like, if one is like it.
#[must_use]
pub fn most_like<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
    let distances = known.map(|other| (distance(name, other), other));
    let nearest = distances.min()?;
    let is_like = nearest.0 <= 1.max(name.len() / 3) && nearest.0 < name.len();
    is_like.then(|| nearest.1.to_owned())
}

/// Edits from one name to another, an exchange of two letters in a row among them; letters in
/// upper and lower case are alike.
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
