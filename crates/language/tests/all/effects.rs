//! Compares random programs of bytes with a model of the order of evaluation that is written from
//! the reference alone. The programs assign in conditions, indices, arguments, scrutinees and
//! dropped values.

use std::fmt::Write as _;

use tacit_language::program::Value;

use crate::both::{Chance, compare, lower, program_of};

/// The number of variables `x0` to `x3`. There is also the array `a` of four.
const VARIABLES: usize = 4;

/// An expression of type byte.
enum Byte {
    Variable(usize),
    /// A number that is not const.
    Literal(u8),
    /// An element of `a`, or the last one past the end.
    Element(Box<Byte>),
    /// An element of an array literal, or the last one past the end.
    OfArray(Vec<Byte>, Box<Byte>),
    Add(Box<Byte>, Box<Byte>),
    Call(Box<Byte>, Box<Byte>),
    Block(Vec<Statement>, Box<Byte>),
    If(Box<Truth>, Box<Byte>, Box<Byte>),
    /// The byte that is matched, the value for each pattern, and the value for all others.
    Match(Box<Byte>, Vec<(u8, Byte)>, Box<Byte>),
    /// A part of a tuple whose other part is a number without a type.
    Part(Box<Byte>),
}

enum Truth {
    Less(Byte, Byte),
    And(Box<Truth>, Box<Truth>),
    Block(Vec<Statement>, Box<Truth>),
}

enum Statement {
    Assign(usize, Byte),
    Add(usize, Byte),
    /// `a[index] = value`, which computes the value before the index.
    Element(Byte, Byte),
    /// `a[index] += value`, which computes the index once and before the value.
    AddElement(Byte, Byte),
    If(Truth, Vec<Statement>, Option<Vec<Statement>>),
    ElseIf(Truth, Vec<Statement>, Truth, Vec<Statement>),
    Match(Byte, Vec<(u8, Vec<Statement>)>, Vec<Statement>),
    /// `let _ = value;`
    Drop(Byte),
    /// `let _ = (value, 1);`
    DropPair(Byte),
    /// `for _ in [first, second] { … }`
    ForEach(Byte, Byte, Vec<Statement>),
    /// `for const v in [x, value, 1] { … x += v; }`
    Unrolled(usize, Byte, Vec<Statement>),
    /// `let t = (value, 1); …; x = t.0;`
    Pair(Byte, Vec<Statement>, usize),
}

struct Maker<'c> {
    chance: &'c mut Chance,
}

impl Maker<'_> {
    fn boxed(&mut self, depth: usize) -> Box<Byte> {
        Box::new(self.byte(depth))
    }

    fn byte(&mut self, depth: usize) -> Byte {
        if depth == 0 {
            return Byte::Variable(self.chance.below(VARIABLES));
        }
        let depth = depth - 1;
        match self.chance.below(11) {
            0 => Byte::Literal(self.chance.below(9) as u8),
            1 => Byte::Element(self.boxed(depth)),
            2 => Byte::OfArray(vec![self.byte(depth), self.byte(depth)], self.boxed(depth)),
            3 => Byte::Add(self.boxed(depth), self.boxed(depth)),
            4 => Byte::Call(self.boxed(depth), self.boxed(depth)),
            5 | 6 => Byte::Block(self.statements(depth), self.boxed(depth)),
            7 => Byte::If(
                Box::new(self.truth(depth)),
                self.boxed(depth),
                self.boxed(depth),
            ),
            8 => {
                let arms = vec![(0, self.byte(depth)), (3, self.byte(depth))];
                Byte::Match(self.boxed(depth), arms, self.boxed(depth))
            }
            9 => Byte::Part(self.boxed(depth)),
            _ => Byte::Variable(self.chance.below(VARIABLES)),
        }
    }

    fn truth(&mut self, depth: usize) -> Truth {
        let depth = depth.saturating_sub(1);
        match self.chance.below(4) {
            0 if depth > 0 => Truth::And(Box::new(self.truth(depth)), Box::new(self.truth(depth))),
            1 | 2 if depth > 0 => Truth::Block(self.statements(depth), Box::new(self.truth(depth))),
            _ => Truth::Less(self.byte(depth), self.byte(depth)),
        }
    }

    /// Returns no statements half the time, since these tests are about blocks that do nothing.
    fn statements(&mut self, depth: usize) -> Vec<Statement> {
        let count = if self.chance.bit() {
            0
        } else {
            1 + self.chance.below(2)
        };
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: usize) -> Statement {
        let variable = self.chance.below(VARIABLES);
        let depth = depth.saturating_sub(1);
        match self.chance.below(if depth == 0 { 2 } else { 14 }) {
            0 => Statement::Assign(variable, self.byte(depth)),
            2 => Statement::Element(self.byte(depth), self.byte(depth)),
            3 => Statement::AddElement(self.byte(depth), self.byte(depth)),
            4 | 5 => Statement::If(self.truth(depth), self.statements(depth), None),
            6 => {
                let (then, other) = (self.statements(depth), self.statements(depth));
                Statement::If(self.truth(depth), then, Some(other))
            }
            7 => {
                let (then, other) = (self.statements(depth), self.statements(depth));
                Statement::ElseIf(self.truth(depth), then, self.truth(depth), other)
            }
            8 => {
                let arms = vec![(0, self.statements(depth)), (1, self.statements(depth))];
                Statement::Match(self.byte(depth), arms, self.statements(depth))
            }
            9 => Statement::Drop(self.byte(depth)),
            10 => Statement::DropPair(self.byte(depth)),
            11 => {
                let (first, second) = (self.byte(depth), self.byte(depth));
                Statement::ForEach(first, second, self.statements(depth))
            }
            12 => Statement::Unrolled(variable, self.byte(depth), self.statements(depth)),
            13 => Statement::Pair(self.byte(depth), self.statements(depth), variable),
            _ => Statement::Add(variable, self.byte(depth)),
        }
    }
}

fn byte_text(of: &Byte) -> String {
    match of {
        Byte::Variable(number) => format!("x{number}"),
        Byte::Literal(value) => format!("(z + {value})"),
        Byte::Element(index) => format!("a[{}]", byte_text(index)),
        Byte::OfArray(parts, index) => {
            let parts: Vec<String> = parts.iter().map(byte_text).collect();
            format!("[{}][{}]", parts.join(", "), byte_text(index))
        }
        Byte::Add(a, b) => format!("({} + {})", byte_text(a), byte_text(b)),
        Byte::Call(a, b) => format!("twice_and({}, {})", byte_text(a), byte_text(b)),
        Byte::Block(statements, value) => {
            format!("{{ {} {} }}", texts(statements), byte_text(value))
        }
        Byte::If(condition, a, b) => {
            let condition = truth_text(condition);
            format!(
                "(if {condition} {{ {} }} else {{ {} }})",
                byte_text(a),
                byte_text(b)
            )
        }
        Byte::Match(of, arms, other) => {
            let mut text = format!("(match {} {{ ", byte_text(of));
            for (number, value) in arms {
                let _ = write!(text, "{number} => {}, ", byte_text(value));
            }
            text + &format!("_ => {} }})", byte_text(other))
        }
        Byte::Part(of) => format!("({{ let t = ({}, 1); t.0 }})", byte_text(of)),
    }
}

fn truth_text(of: &Truth) -> String {
    match of {
        Truth::Less(a, b) => format!("({} < {})", byte_text(a), byte_text(b)),
        Truth::And(a, b) => format!("({} && {})", truth_text(a), truth_text(b)),
        Truth::Block(statements, value) => {
            format!("{{ {} {} }}", texts(statements), truth_text(value))
        }
    }
}

fn texts(statements: &[Statement]) -> String {
    let texts: Vec<String> = statements.iter().map(text).collect();
    texts.join("\n")
}

fn text(of: &Statement) -> String {
    match of {
        Statement::Assign(number, value) => format!("x{number} = {};", byte_text(value)),
        Statement::Add(number, value) => format!("x{number} += {};", byte_text(value)),
        Statement::Element(index, value) => {
            format!("a[{}] = {};", byte_text(index), byte_text(value))
        }
        Statement::AddElement(index, value) => {
            format!("a[{}] += {};", byte_text(index), byte_text(value))
        }
        Statement::If(condition, then, None) => {
            format!("if {} {{ {} }}", truth_text(condition), texts(then))
        }
        Statement::If(condition, then, Some(other)) => {
            let (condition, then) = (truth_text(condition), texts(then));
            format!("if {condition} {{ {then} }} else {{ {} }}", texts(other))
        }
        Statement::ElseIf(first, then, second, other) => {
            let (first, second) = (truth_text(first), truth_text(second));
            format!(
                "if {first} {{ {} }} else if {second} {{ {} }}",
                texts(then),
                texts(other)
            )
        }
        Statement::Match(of, arms, other) => {
            let mut text = format!("match {} {{ ", byte_text(of));
            for (number, statements) in arms {
                let _ = write!(text, "{number} => {{ {} }} ", texts(statements));
            }
            text + &format!("_ => {{ {} }} }}", texts(other))
        }
        Statement::Drop(value) => format!("let _ = {};", byte_text(value)),
        Statement::DropPair(value) => format!("let _ = ({}, 1);", byte_text(value)),
        Statement::ForEach(first, second, body) => {
            let (first, second) = (byte_text(first), byte_text(second));
            format!("for _ in [{first}, {second}] {{ {} }}", texts(body))
        }
        Statement::Unrolled(number, value, body) => {
            let (value, body) = (byte_text(value), texts(body));
            format!("for const v in [x{number}, {value}, 1] {{ {body} x{number} += v; }}")
        }
        Statement::Pair(value, between, number) => {
            let (value, between) = (byte_text(value), texts(between));
            format!("{{ let t = ({value}, 1); {between} x{number} = t.0; }}")
        }
    }
}

/// The variables and the array.
#[derive(Clone)]
struct Model {
    x: [u8; VARIABLES],
    a: [u8; 4],
}

impl Model {
    fn byte(&mut self, of: &Byte) -> u8 {
        match of {
            Byte::Variable(number) => self.x[*number],
            Byte::Literal(value) => *value,
            Byte::Element(index) => {
                let index = self.byte(index);
                self.a[usize::from(index).min(3)]
            }
            Byte::OfArray(parts, index) => {
                let parts: Vec<u8> = parts.iter().map(|part| self.byte(part)).collect();
                parts[usize::from(self.byte(index)).min(parts.len() - 1)]
            }
            Byte::Add(a, b) => {
                let a = self.byte(a);
                a.wrapping_add(self.byte(b))
            }
            Byte::Call(a, b) => {
                let a = self.byte(a);
                a.wrapping_mul(2).wrapping_add(self.byte(b))
            }
            Byte::Block(statements, value) => {
                self.run(statements);
                self.byte(value)
            }
            Byte::If(condition, a, b) => {
                let chosen = if self.truth(condition) { a } else { b };
                self.byte(chosen)
            }
            Byte::Match(of, arms, other) => {
                let value = self.byte(of);
                let arm = arms.iter().find(|(number, _)| *number == value);
                self.byte(arm.map_or(other, |(_, value)| value))
            }
            Byte::Part(of) => self.byte(of),
        }
    }

    fn truth(&mut self, of: &Truth) -> bool {
        match of {
            Truth::Less(a, b) => {
                let a = self.byte(a);
                a < self.byte(b)
            }
            Truth::And(a, b) => {
                let a = self.truth(a);
                let b = self.truth(b);
                a && b
            }
            Truth::Block(statements, value) => {
                self.run(statements);
                self.truth(value)
            }
        }
    }

    fn run(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.step(statement));
    }

    fn step(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign(number, value) => self.x[*number] = self.byte(value),
            Statement::Add(number, value) => {
                let before = self.x[*number];
                self.x[*number] = before.wrapping_add(self.byte(value));
            }
            Statement::Element(index, value) => {
                let value = self.byte(value);
                let index = usize::from(self.byte(index));
                if let Some(element) = self.a.get_mut(index) {
                    *element = value;
                }
            }
            Statement::AddElement(index, value) => {
                let index = usize::from(self.byte(index));
                let before = self.a[index.min(3)];
                let sum = before.wrapping_add(self.byte(value));
                if let Some(element) = self.a.get_mut(index) {
                    *element = sum;
                }
            }
            Statement::If(condition, then, other) => match (self.truth(condition), other) {
                (true, _) => self.run(then),
                (false, Some(other)) => self.run(other),
                (false, None) => {}
            },
            Statement::ElseIf(first, then, second, other) => {
                if self.truth(first) {
                    self.run(then);
                } else if self.truth(second) {
                    self.run(other);
                }
            }
            Statement::Match(of, arms, other) => {
                let value = self.byte(of);
                let arm = arms.iter().find(|(number, _)| *number == value);
                self.run(arm.map_or(other, |(_, statements)| statements));
            }
            Statement::Drop(value) | Statement::DropPair(value) => _ = self.byte(value),
            Statement::ForEach(first, second, body) => {
                self.byte(first);
                self.byte(second);
                self.run(body);
                self.run(body);
            }
            Statement::Unrolled(number, value, body) => {
                for turn in [self.x[*number], self.byte(value), 1] {
                    self.run(body);
                    self.x[*number] = self.x[*number].wrapping_add(turn);
                }
            }
            Statement::Pair(value, between, number) => {
                let value = self.byte(value);
                self.run(between);
                self.x[*number] = value;
            }
        }
    }
}

/// Returns a random program, and its statements.
fn program(chance: &mut Chance) -> (String, Vec<Statement>) {
    let mut maker = Maker { chance };
    let statements: Vec<Statement> = (0..4).map(|_| maker.statement(4)).collect();
    let text = format!(
        "parties alice, bob;\n\
         fn twice_and(a: u8, b: u8) -> u8 {{ a * 2 + b }}\n\
         main(given: [u8; 4] of alice, array: [u8; 4] of bob) -> (all: [u8; 8] to both) {{\n\
         let mut x0 = given[0]; let mut x1 = given[1];\n\
         let mut x2 = given[2]; let mut x3 = given[3];\n\
         let mut a = array; let z: u8 = 0;\n{}\n\
         [x0, x1, x2, x3, a[0], a[1], a[2], a[3]]\n}}\n",
        texts(&statements)
    );
    (text, statements)
}

fn agrees(seed: u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9));
    let (text, statements) = program(&mut chance);
    let checked = std::panic::catch_unwind(|| {
        let program = program_of(&text);
        let (id, lowered) = lower(&program, "main");
        let mut chance = Chance(seed);
        for _ in 0..3 {
            let bytes: Vec<u8> = (0..8).map(|_| chance.below(6) as u8).collect();
            let list = |part: &[u8]| {
                Value::List(
                    part.iter()
                        .map(|byte| Value::from(i64::from(*byte)))
                        .collect(),
                )
            };
            let inputs = vec![list(&bytes[..4]), list(&bytes[4..])];
            let outcome = program.evaluate(id, inputs, Vec::new(), Vec::new());
            let mut model = Model {
                x: bytes[..4].try_into().expect("four"),
                a: bytes[4..].try_into().expect("four"),
            };
            model.run(&statements);
            let expected = list(&[model.x, model.a].concat());
            assert_eq!(outcome.expect("a run").results, expected);
            compare(&program, id, &lowered, &mut chance);
        }
    });
    assert!(checked.is_ok(), "seed {seed}:\n{text}");
}

#[test]
fn whatever_assigns_does_so_once_and_in_order_wherever_it_stands() {
    (0..600).for_each(agrees);
}

#[test]
#[ignore = "minutes; TACIT_SEEDS=FROM..TO picks others"]
fn many_programs_that_assign_everywhere_agree_with_the_model() {
    let seeds = std::env::var("TACIT_SEEDS").unwrap_or_else(|_| "1000..21000".to_owned());
    let (from, to) = seeds.split_once("..").expect("FROM..TO");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    (number(from)..number(to)).for_each(agrees);
}
