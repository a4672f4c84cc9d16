//! Writes valid random programs: every expression has the type that its context needs, and every
//! number that is not secret is in range.

use std::fmt::Write as _;

use super::both::Chance;

#[derive(Clone, Debug, PartialEq)]
enum Type {
    Bool,
    Unsigned(usize),
    Signed(usize),
    Fixed(usize, usize),
    Size,
    Row,
    Array(Box<Type>, usize),
    Tuple(Vec<Type>),
}

use Type as T;

impl Type {
    fn text(&self) -> String {
        match self {
            T::Bool => "bool".to_owned(),
            T::Unsigned(width) => format!("u{width}"),
            T::Signed(width) => format!("i{width}"),
            T::Fixed(integer, fraction) => format!("fixed<{integer}, {fraction}>"),
            T::Size => "Size".to_owned(),
            T::Row => "Row".to_owned(),
            T::Array(of, n) => format!("[{}; {n}]", of.text()),
            T::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(Type::text).collect();
                format!("({})", parts.join(", "))
            }
        }
    }
}

#[derive(Clone)]
struct Variable {
    name: String,
    ty: Type,
    mutable: bool,
}

struct Function {
    name: String,
    parameters: Vec<Type>,
    result: Type,
}

/// The names in scope, and the text so far.
struct Writer<'c> {
    chance: &'c mut Chance,
    variables: Vec<Variable>,
    /// The counters, with their exclusive upper bounds.
    counters: Vec<(String, usize)>,
    functions: Vec<Function>,
    names: usize,
}

/// Writes a program.
pub(crate) fn program(chance: &mut Chance) -> String {
    let mut writer = Writer {
        chance,
        variables: Vec::new(),
        counters: Vec::new(),
        functions: Vec::new(),
        names: 0,
    };
    let mut text = "parties alice, bob;\n\nenum Size { Small, Medium, Large }\n\
                    struct Row { id: u5, flag: bool, at: [i4; 3] }\n\n"
        .to_owned();
    for _ in 0..writer.chance.below(3) {
        text += &writer.function();
    }
    // There is always a number from which another can be made, and a wide one.
    let mut inputs = vec![T::Unsigned(8), T::Signed(13), T::Bool];
    for _ in 0..writer.chance.below(4) {
        inputs.push(writer.ty(2));
    }
    let parameters = writer.parameters(&inputs);
    let owners = ["alice", "bob"];
    let parameters: Vec<String> = parameters
        .iter()
        .map(|text| format!("{text} of {}", owners[writer.chance.below(2)]))
        .collect();
    let result = T::Tuple(vec![writer.ty(1), writer.ty(2)]);
    let T::Tuple(results) = &result else {
        unreachable!("a tuple")
    };
    let _ = writeln!(
        text,
        "main({}) -> (first: {} to both, second: {} to bob) {{",
        parameters.join(", "),
        results[0].text(),
        results[1].text()
    );
    text += &writer.body(&result, 4);
    text + "}\n"
}

impl Writer<'_> {
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn number(&mut self) -> Type {
        let width = [1, 2, 3, 5, 8, 13, 32][self.chance.below(7)];
        match self.chance.below(5) {
            0 | 1 => T::Unsigned(width),
            2 | 3 => T::Signed(width),
            _ => T::Fixed(1 + self.chance.below(5), self.chance.below(6)),
        }
    }

    fn ty(&mut self, depth: usize) -> Type {
        match self.chance.below(9) {
            0 => T::Bool,
            1 => T::Size,
            2 if depth > 0 => T::Row,
            3 if depth > 0 => {
                let of = self.ty(depth - 1);
                T::Array(Box::new(of), 1 + self.chance.below(5))
            }
            4 if depth > 0 => T::Tuple(vec![self.ty(depth - 1), self.ty(depth - 1)]),
            _ => self.number(),
        }
    }

    fn parameters(&mut self, types: &[Type]) -> Vec<String> {
        let mut texts = Vec::new();
        self.variables.clear();
        for ty in types {
            let name = self.name("p");
            texts.push(format!("{name}: {}", ty.text()));
            self.variables.push(Variable {
                name,
                ty: ty.clone(),
                mutable: false,
            });
        }
        texts
    }

    fn function(&mut self) -> String {
        let mut parameters = vec![T::Unsigned(8)];
        for _ in 0..self.chance.below(3) {
            parameters.push(self.ty(1));
        }
        let result = self.ty(1);
        let texts = self.parameters(&parameters);
        let name = self.name("f");
        let component = if self.chance.bit() { "component " } else { "" };
        let body = self.body(&result, 2);
        let text = format!(
            "{component}fn {name}({}) -> {} {{\n{body}}}\n\n",
            texts.join(", "),
            result.text()
        );
        self.functions.push(Function {
            name,
            parameters,
            result,
        });
        text
    }

    fn body(&mut self, result: &Type, statements: usize) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.chance.below(statements) {
            let ty = self.ty(2);
            let value = self.expression(&ty, 2);
            let name = self.name("v");
            let _ = writeln!(text, "let mut {name}: {} = {value};", ty.text());
            self.variables.push(Variable {
                name,
                ty,
                mutable: true,
            });
            text += &self.statement(2);
        }
        text + &self.expression(result, 3) + "\n"
    }

    fn statements(&mut self, depth: usize) -> String {
        let count = 1 + self.chance.below(2);
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: usize) -> String {
        match self.chance.below(6) {
            0 if depth > 0 => {
                let condition = self.condition();
                let then = self.statements(depth - 1);
                if self.chance.bit() {
                    format!("if {condition} {{\n{then}}}\n")
                } else {
                    let other = self.statements(depth - 1);
                    format!("if {condition} {{\n{then}}} else {{\n{other}}}\n")
                }
            }
            1 | 2 if depth > 0 => {
                let (counter, turns) = (self.name("k"), 1 + self.chance.below(4));
                self.counters.push((counter.clone(), turns));
                let body = self.statements(depth - 1);
                self.counters.pop();
                format!("for {counter} in 0..{turns} {{\n{body}}}\n")
            }
            _ => self.assignment(),
        }
    }

    /// Writes a condition: a secret, or a comparison of a counter.
    fn condition(&mut self) -> String {
        match self.counters.last().cloned() {
            Some((counter, turns)) if self.chance.bit() => {
                format!("{counter} < {}", self.chance.below(turns + 1))
            }
            _ => self.expression(&T::Bool, 2),
        }
    }

    fn assignment(&mut self) -> String {
        let mutable: Vec<Variable> = self
            .variables
            .iter()
            .filter(|v| v.mutable)
            .cloned()
            .collect();
        if mutable.is_empty() {
            return String::new();
        }
        let variable = mutable[self.chance.below(mutable.len())].clone();
        let (mut place, mut ty) = (variable.name, variable.ty);
        while self.chance.below(4) > 0 {
            let Some((step, part)) = self.step(&ty) else {
                break;
            };
            place += &step;
            ty = part;
        }
        let operator = match &ty {
            T::Unsigned(_) | T::Signed(_) => ["=", "+=", "-=", "^="][self.chance.below(4)],
            _ => "=",
        };
        format!("{place} {operator} {};\n", self.expression(&ty, 2))
    }

    /// Writes a step to a part of a value. Returns it with the part's type.
    fn step(&mut self, ty: &Type) -> Option<(String, Type)> {
        match ty {
            T::Array(of, n) => Some((format!("[{}]", self.index(*n)), (**of).clone())),
            T::Tuple(parts) => {
                let at = self.chance.below(parts.len());
                Some((format!(".{at}"), parts[at].clone()))
            }
            T::Row => Some(match self.chance.below(3) {
                0 => (".id".to_owned(), T::Unsigned(5)),
                1 => (".flag".to_owned(), T::Bool),
                _ => (".at".to_owned(), T::Array(Box::new(T::Signed(4)), 3)),
            }),
            _ => None,
        }
    }

    /// Writes an index of an array of `n`: a number, a counter, or a secret that may be past the
    /// end.
    fn index(&mut self, n: usize) -> String {
        let fits: Vec<(String, usize)> = self
            .counters
            .iter()
            .filter(|(_, turns)| *turns <= n)
            .cloned()
            .collect();
        match self.chance.below(4) {
            0 | 1 if !fits.is_empty() => {
                let (counter, turns) = &fits[self.chance.below(fits.len())];
                let is_up = self.chance.bit();
                let down = || format!("{} - {counter}", turns - 1);
                if is_up { counter.clone() } else { down() }
            }
            0 | 1 => self.chance.below(n).to_string(),
            chosen => {
                let is_one = |v: &&Variable| v.mutable && matches!(v.ty, T::Unsigned(_));
                let changed = self.variables.iter().find(is_one);
                if let (2, Some(Variable { name, .. })) = (chosen, changed) {
                    return format!("{{ {name} += 1; {name} }}");
                }
                let width = 1 + self.chance.below(4);
                self.expression(&T::Unsigned(width), 1)
            }
        }
    }

    /// Writes a place of a variable with this type.
    fn place(&mut self, ty: &Type) -> Option<String> {
        let first = self.chance.below(self.variables.len().max(1));
        for turn in 0..self.variables.len() {
            let variable = self.variables[(first + turn) % self.variables.len()].clone();
            if variable.ty == *ty {
                return Some(variable.name);
            }
            if let Some((step, part)) = self.simple_step(&variable.ty)
                && part == *ty
            {
                return Some(variable.name + &step);
            }
        }
        None
    }

    fn simple_step(&mut self, ty: &Type) -> Option<(String, Type)> {
        match ty {
            T::Array(of, n) => Some((format!("[{}]", self.chance.below(*n)), (**of).clone())),
            _ => self.step(ty),
        }
    }

    fn leaf(&mut self, ty: &Type) -> String {
        if let Some(place) = self.place(ty) {
            return place;
        }
        let number = self.variables[0].name.clone();
        match ty {
            T::Bool => format!("({number} > {})", self.chance.below(200)),
            T::Row => format!(
                "Row {{ id: {number} as u5, flag: {number} == 3, at: [{number} as i4; 3] }}"
            ),
            T::Array(of, n) => format!("[{}; {n}]", self.leaf(of)),
            T::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.leaf(part)).collect();
                format!("({})", parts.join(", "))
            }
            _ => format!("({number} as {})", ty.text()),
        }
    }

    fn literal(&mut self, ty: &Type) -> Option<usize> {
        let most = match ty {
            T::Unsigned(width) => (1_usize << width) - 1,
            T::Signed(width) | T::Fixed(width, _) => (1 << (width - 1)) - 1,
            _ => return None,
        };
        Some(self.chance.below(most.min(1000) + 1))
    }

    fn expression(&mut self, ty: &Type, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.chance.below(10) {
            0 => {
                let condition = self.condition();
                let (a, b) = (
                    self.expression(ty, depth - 1),
                    self.expression(ty, depth - 1),
                );
                return format!("(if {condition} {{ {a} }} else {{ {b} }})");
            }
            1 | 2 => {
                if let Some(call) = self.call(ty, depth) {
                    return call;
                }
            }
            3 => {
                let index = self.chance.below(2);
                let (a, b) = (
                    self.expression(ty, depth - 1),
                    self.expression(ty, depth - 1),
                );
                let condition = self.expression(&T::Bool, depth - 1);
                return format!("swap_if({condition}, {a}, {b}).{index}");
            }
            _ => {}
        }
        match ty {
            T::Bool => self.truth(depth),
            T::Unsigned(_) | T::Signed(_) | T::Fixed(..) => self.arithmetic(ty, depth),
            T::Size if self.chance.bit() => {
                let number = self.expression(&T::Unsigned(3), depth - 1);
                format!("({number} as Size)")
            }
            T::Array(of, n) => {
                let parts: Vec<String> = (0..*n).map(|_| self.expression(of, depth - 1)).collect();
                format!("[{}]", parts.join(", "))
            }
            T::Tuple(parts) => {
                let parts: Vec<String> = parts
                    .iter()
                    .map(|part| self.expression(part, depth - 1))
                    .collect();
                format!("({})", parts.join(", "))
            }
            T::Row if self.chance.bit() => {
                let id = self.expression(&T::Unsigned(5), depth - 1);
                let flag = self.expression(&T::Bool, depth - 1);
                let at = self.expression(&T::Array(Box::new(T::Signed(4)), 3), depth - 1);
                format!("Row {{ id: {id}, flag: {flag}, at: {at} }}")
            }
            _ => self.leaf(ty),
        }
    }

    fn call(&mut self, ty: &Type, depth: usize) -> Option<String> {
        let fitting: Vec<usize> = (0..self.functions.len())
            .filter(|&number| self.functions[number].result == *ty)
            .collect();
        let number = *fitting.first()?;
        let name = self.functions[number].name.clone();
        let parameters = self.functions[number].parameters.clone();
        let arguments: Vec<String> = parameters
            .iter()
            .map(|ty| self.expression(ty, depth - 1))
            .collect();
        Some(format!("{name}({})", arguments.join(", ")))
    }

    fn truth(&mut self, depth: usize) -> String {
        match self.chance.below(5) {
            0 => format!("(!{})", self.expression(&T::Bool, depth - 1)),
            1 => {
                let operator = ["&&", "||", "^", "&", "|"][self.chance.below(5)];
                let (a, b) = (
                    self.expression(&T::Bool, depth - 1),
                    self.expression(&T::Bool, depth - 1),
                );
                format!("({a} {operator} {b})")
            }
            2 => {
                let ty = self.ty(1);
                let operator = ["==", "!="][self.chance.below(2)];
                let (a, b) = (
                    self.expression(&ty, depth - 1),
                    self.expression(&ty, depth - 1),
                );
                format!("({a} {operator} {b})")
            }
            _ => {
                let ty = self.number();
                let operator = ["<", "<=", ">", ">=", "==", "!="][self.chance.below(6)];
                let a = self.expression(&ty, depth - 1);
                format!("({a} {operator} {})", self.operand(&ty, depth))
            }
        }
    }

    /// Writes an operand on the right, which may be a literal.
    fn operand(&mut self, ty: &Type, depth: usize) -> String {
        match self.literal(ty) {
            Some(literal) if self.chance.below(3) == 0 => match ty {
                T::Fixed(..) => format!("{literal}.0"),
                _ => literal.to_string(),
            },
            _ => self.expression(ty, depth - 1),
        }
    }

    fn arithmetic(&mut self, ty: &Type, depth: usize) -> String {
        let a = self.expression(ty, depth - 1);
        let is_fixed = matches!(ty, T::Fixed(..));
        match self.chance.below(9) {
            0 | 1 => {
                let operator = ["+", "-", "*"][self.chance.below(3)];
                format!("({a} {operator} {})", self.operand(ty, depth))
            }
            2 => {
                let operator = ["/", "%"][self.chance.below(if is_fixed { 1 } else { 2 })];
                format!("({a} {operator} {})", self.expression(ty, depth - 1))
            }
            3 if !is_fixed => {
                let operator = ["&", "|", "^"][self.chance.below(3)];
                format!("({a} {operator} {})", self.operand(ty, depth))
            }
            4 => {
                let operator = ["<<", ">>"][self.chance.below(2)];
                let amount = if self.chance.bit() {
                    self.chance.below(9).to_string()
                } else {
                    self.expression(&T::Unsigned(3), depth - 1)
                };
                format!("({a} {operator} {amount})")
            }
            5 => {
                let function = ["min", "max", "add_sat"][self.chance.below(3)];
                format!("{function}({a}, {})", self.expression(ty, depth - 1))
            }
            6 => {
                let from = self.number();
                format!("({} as {})", self.expression(&from, depth - 1), ty.text())
            }
            7 if !matches!(ty, T::Unsigned(_)) => format!("(-{a})"),
            8 if !is_fixed => format!("(!{a})"),
            _ => a,
        }
    }
}
