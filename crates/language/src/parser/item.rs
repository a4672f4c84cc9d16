//! Items.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind as T;
use crate::source::Symbol;
use crate::syntax::{
    BitOrder, Entry, EntryKind, EnumItem, Function, FunctionBody, Ident, Input, Item, ItemKind,
    Output, ParamItem, Parameter, Party, SortedClause, StateItem, StructItem, TestItem, UseItem,
    method_name,
};

/// The words with which items start, including words that are names elsewhere.
const ITEM_WORDS: &[&str] = &[
    "parties",
    "param",
    "state",
    "component",
    "main",
    "run",
    "start",
    "test",
];

impl Parser<'_> {
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while !self.is(T::End) && !self.errors.is_full() {
            let (start, before) = (self.span(), self.at);
            self.nesting = 0;
            match self.item() {
                Ok(kind) => items.push(Item {
                    kind,
                    span: start.to(self.previous()),
                }),
                Err(_) => {
                    if self.at == before {
                        self.skip();
                    }
                    self.skip_to_item();
                    if let Some(name) = self.name_of_item(before) {
                        items.push(Item {
                            kind: ItemKind::Broken(name),
                            span: start.to(self.previous()),
                        });
                    }
                }
            }
        }
        items
    }

    /// Returns the name that the item whose first word is at `first` was meant to declare.
    fn name_of_item(&mut self, first: usize) -> Option<Symbol> {
        let component = self.text_of(self.tokens[first].span) == "component";
        let token = self.tokens.get(first + 1 + usize::from(component))?;
        (token.kind == T::Name).then(|| self.symbol(token.span))
    }

    fn begins_item(&self) -> bool {
        match self.kind() {
            T::Const | T::Enum | T::Fn | T::Struct | T::Type | T::Use => true,
            T::Name => ITEM_WORDS.contains(&self.text_of(self.span())),
            _ => false,
        }
    }

    /// Skips to the next item at the start of a line.
    fn skip_to_item(&mut self) {
        while !self.is(T::End) {
            let start = self.span().start as usize;
            let begins_line = self.text[..start].ends_with('\n') || start == 0;
            if begins_line && self.begins_item() {
                return;
            }
            self.skip();
        }
    }

    /// Takes the `;` of an item. A missing one is reported, but the item is kept, so that its uses
    /// cause no further errors.
    fn end_item(&mut self) {
        if self.expect(T::Semicolon).is_err() {
            self.skip_to_item();
        }
    }

    fn item(&mut self) -> Parsed<ItemKind> {
        match self.kind() {
            T::Const => self.const_item(),
            T::Enum => self.enum_item(),
            T::Fn => self.function(false),
            T::Struct => self.struct_item(),
            T::Type => self.type_item(),
            T::Use => self.use_item(),
            T::Name => {
                let span = self.span();
                match self.text_of(span) {
                    "parties" => self.parties(),
                    "param" => self.param(),
                    "state" => self.state(),
                    "component" => {
                        self.skip();
                        self.function(true)
                    }
                    "main" => self.entry(EntryKind::Main),
                    "run" => self.entry(EntryKind::Run),
                    "start" => self.entry(EntryKind::Start),
                    "test" => self.test(),
                    _ => self.no_item(),
                }
            }
            _ => self.no_item(),
        }
    }

    fn no_item<K>(&mut self) -> Parsed<K> {
        let error = Diagnostic::new(self.span(), "nothing in a file begins with this");
        let error = error.help(match self.text_of(self.span()) {
            "#" => "a comment begins with `//`",
            "def" | "func" | "function" => "a function is `fn NAME(x: u32) -> u32 { … }`",
            "import" | "from" | "include" => "`use std::order::sort;` brings a function in",
            "let" | "var" => "a number for the whole file is `const NAME = 7;`",
            _ => {
                "a file has `parties`, `use`, `param`, `const`, `struct`, `enum`, `type`, \
                 `state`, `fn`, `component fn`, `main`, `run`, `start` and `test`"
            }
        });
        self.report(error)
    }

    fn parties(&mut self) -> Parsed<ItemKind> {
        self.skip();
        let mut parties = Vec::new();
        loop {
            let name = self.ident("a party's name")?;
            let garbles = self.take_word("garbles").is_some();
            parties.push(Party { name, garbles });
            if self.take(T::Comma).is_none() {
                break;
            }
        }
        self.end_item();
        Ok(ItemKind::Parties(parties))
    }

    fn use_item(&mut self) -> Parsed<ItemKind> {
        self.skip();
        let mut module = vec![self.ident("a module's name")?];
        let names = loop {
            self.expect(T::ColonColon)?;
            if self.is(T::OpenBrace) {
                let name = |parser: &mut Self| parser.ident("a name");
                break self.list(T::OpenBrace, T::CloseBrace, name)?;
            }
            let name = self.ident("a name")?;
            if !self.is(T::ColonColon) {
                break vec![name];
            }
            module.push(name);
        };
        self.end_item();
        Ok(ItemKind::Use(UseItem { module, names }))
    }

    fn param(&mut self) -> Parsed<ItemKind> {
        self.skip();
        let name = self.ident("the param's name")?;
        if !self.is(T::Colon) {
            let message = format!("the param `{}` has no range", name.name);
            let error = Diagnostic::new(name.span, message);
            return self.report(error.help(format!("write `param {}: 1..=100 = 4;`", name.name)));
        }
        self.skip();
        let start = self.span();
        let from = self.range_end()?;
        if self.is(T::DotDot) {
            let error = Diagnostic::new(self.span(), "a param's range includes its greatest value");
            return self.report(error.help("write `..=`"));
        }
        if !self.is(T::DotDotEqual) {
            let message = format!("the param `{}` has a type and no range", name.name);
            let error = Diagnostic::new(start.to(self.previous()), message);
            return self.report(error.help(format!("write `param {}: 1..=100 = 4;`", name.name)));
        }
        self.expect(T::DotDotEqual)?;
        let to = self.range_end()?;
        let default = self.take(T::Equal).map(|_| self.expression()).transpose()?;
        self.end_item();
        Ok(ItemKind::Param(ParamItem {
            name,
            from,
            to,
            default,
        }))
    }

    fn const_item(&mut self) -> Parsed<ItemKind> {
        let (name, ty, value) = self.constant()?;
        self.end_item();
        Ok(ItemKind::Const(name, ty, value))
    }

    fn struct_item(&mut self) -> Parsed<ItemKind> {
        self.skip();
        let name = self.ident("the struct's name")?;
        let generics = self.generics()?;
        let fields = self.list(T::OpenBrace, T::CloseBrace, |parser| {
            let name = parser.ident("a field's name")?;
            parser.expect(T::Colon)?;
            Ok((name, parser.ty()?))
        })?;
        Ok(ItemKind::Struct(StructItem {
            name,
            generics,
            fields,
        }))
    }

    fn enum_item(&mut self) -> Parsed<ItemKind> {
        self.skip();
        let name = self.ident("the enum's name")?;
        let variants = self.list(T::OpenBrace, T::CloseBrace, |parser| {
            let variant = parser.ident("a variant's name")?;
            if parser.is(T::OpenParen) || parser.is(T::OpenBrace) {
                let error = Diagnostic::new(parser.span(), "a variant carries no values");
                return parser.report(error.help("put the values into a struct with the enum"));
            }
            Ok(variant)
        })?;
        Ok(ItemKind::Enum(EnumItem { name, variants }))
    }

    fn type_item(&mut self) -> Parsed<ItemKind> {
        self.skip();
        let name = self.ident("the type's name")?;
        let generics = self.generics()?;
        self.expect(T::Equal)?;
        let ty = self.ty()?;
        self.end_item();
        Ok(ItemKind::Type(name, generics, ty))
    }

    fn state(&mut self) -> Parsed<ItemKind> {
        self.skip();
        let name = self.ident("the state's name")?;
        self.expect(T::Colon)?;
        let ty = self.ty()?;
        let value = self.take(T::Equal).map(|_| self.expression()).transpose()?;
        self.end_item();
        Ok(ItemKind::State(StateItem { name, ty, value }))
    }

    fn function(&mut self, is_component: bool) -> Parsed<ItemKind> {
        self.expect(T::Fn)?;
        let name = self.function_name()?;
        let is_main = name.as_str() == "main";
        let generics = self.generics()?;
        let parameters = self.list(T::OpenParen, T::CloseParen, |parser| {
            let is_mutable = parser.take(T::Mut).is_some();
            let name = parser.ident("a parameter's name")?;
            if !parser.is(T::Colon) {
                let message = format!("the parameter `{}` has no type", name.name);
                let error = Diagnostic::new(name.span, message);
                return parser.report(error.help(format!("write `{}: u32`", name.name)));
            }
            parser.skip();
            let ty = parser.ty()?;
            if parser.is_word("of") || parser.is_word("public") {
                return parser.input_of_function(is_main);
            }
            let sorted = parser.sorted_value()?;
            Ok(Parameter {
                is_mutable,
                name,
                ty,
                sorted,
            })
        })?;
        let result = self.take(T::Arrow).map(|_| self.ty()).transpose()?;
        let result_sorted = match result {
            Some(_) => self.sorted_value()?,
            None => None,
        };
        let body = match self.take(T::Equal) {
            Some(_) => self.external()?,
            None => FunctionBody::Block(self.block()?),
        };
        Ok(ItemKind::Function(Function {
            name,
            is_component,
            generics,
            parameters,
            result,
            result_sorted,
            body,
        }))
    }

    /// Parses `norm`, or `Point::norm` for a method.
    fn function_name(&mut self) -> Parsed<Ident> {
        let first = self.ident("the function's name")?;
        if self.take(T::ColonColon).is_none() {
            return Ok(first);
        }
        let second = self.ident("the method's name")?;
        Ok(Ident {
            name: method_name(first.as_str(), second.as_str()),
            span: first.span.to(second.span),
        })
    }

    /// Reports an owner of a parameter.
    fn input_of_function<K>(&mut self, is_main: bool) -> Parsed<K> {
        let owner = self.span();
        let error = if is_main {
            Diagnostic::new(owner, "`main` is written without `fn`")
                .help("write `main(x: u32 of alice) -> (y: u32 to both) { … }`")
        } else {
            Diagnostic::new(owner, "a parameter of a `fn` has no owner")
                .help("only inputs of `main` and of runs do; leave it out here")
        };
        self.report(error)
    }

    /// Parses `library "NAME"(PARAMETER: NUMBER);` or `file "PATH" order lsb_first;`.
    fn external(&mut self) -> Parsed<FunctionBody> {
        let start = self.span();
        let body = if self.take_word("library").is_some() {
            let (name, _) = self.quoted("the component's name in quotes")?;
            let parameters = if self.is(T::OpenParen) {
                self.arguments()?
            } else {
                Vec::new()
            };
            FunctionBody::Library(name, parameters, start.to(self.previous()))
        } else if self.take_word("file").is_some() {
            let (path, _) = self.quoted("the file's name in quotes")?;
            if self.take_word("order").is_none() {
                return self.unexpected("`order`");
            }
            let mut orders = BitOrder::WORDS.into_iter();
            let Some((_, order)) = orders.find(|(word, _)| self.take_word(word).is_some()) else {
                return self.unexpected(
                    "`lsb_first` or `msb_first` for numbers, `reversed_bytes` or `reversed_bits` \
                     for bytes, `as_given` or `reversed`",
                );
            };
            FunctionBody::File(path, order, start.to(self.previous()))
        } else {
            return self.unexpected("`library` or `file`");
        };
        self.end_item();
        Ok(body)
    }

    fn entry(&mut self, kind: EntryKind) -> Parsed<ItemKind> {
        let word = self.span();
        let name = match kind {
            EntryKind::Main => self.ident("`main`")?,
            EntryKind::Run | EntryKind::Start => {
                self.skip();
                self.ident(&format!("the name of this {}", kind.word()))?
            }
        };
        if kind == EntryKind::Main && self.is(T::Name) {
            let error = Diagnostic::new(self.span(), "`main` has no other name");
            return self.report(error.related(word, "remove one of the two"));
        }
        let (inputs, join) = self.inputs(kind)?;
        let outputs = match self.take(T::Arrow) {
            Some(_) if self.is(T::Name) => {
                let error = Diagnostic::new(self.span(), "results stand in parentheses");
                return self.report(error.help("write `-> (price: u32 to both)`"));
            }
            Some(_) => self.list(T::OpenParen, T::CloseParen, Self::output)?,
            None => Vec::new(),
        };
        let body = self.block()?;
        Ok(ItemKind::Entry(Entry {
            kind,
            name,
            inputs,
            join,
            outputs,
            body,
        }))
    }

    pub(super) fn input(&mut self) -> Parsed<Input> {
        let name = self.ident("an input's name")?;
        self.expect(T::Colon)?;
        let ty = self.ty()?;
        let owner = if self.take_word("public").is_some() {
            None
        } else if self.take_word("of").is_some() {
            Some(self.ident("the party whose input this is")?)
        } else {
            let message = format!("the input `{}` has no owner", name.name);
            let error = Diagnostic::new(name.span.to(self.previous()), message)
                .help("write `of` and a party's name after the type, or `public`");
            return self.report(error);
        };
        let sorted = self.sorted()?;
        Ok(Input {
            name,
            ty,
            owner,
            sorted,
        })
    }

    /// Parses `sorted` or `sorted by id` after something that is not an input, if it is there.
    fn sorted_value(&mut self) -> Parsed<Option<SortedClause>> {
        let sorted = self.sorted()?;
        if let Some(sorted) = sorted.as_ref().filter(|sorted| sorted.is_strict) {
            let error = Diagnostic::new(sorted.span, "inputs alone are `strictly sorted`")
                .help("write `sorted`; `strictly_sorted` of `std::psi` checks the rest");
            return self.report(error);
        }
        Ok(sorted)
    }

    /// Parses `sorted`, `sorted by id`, `strictly sorted` or `strictly sorted by id`, if it is
    /// there.
    fn sorted(&mut self) -> Parsed<Option<SortedClause>> {
        let strictly = self.take_word("strictly");
        let start = match (strictly, self.take_word("sorted")) {
            (None, None) => return Ok(None),
            (Some(_), None) => return self.unexpected("`sorted`"),
            (strictly, Some(sorted)) => strictly.unwrap_or(sorted),
        };
        let by = self
            .take_word("by")
            .map(|_| self.ident("a field's name"))
            .transpose()?;
        let span = start.to(self.previous());
        Ok(Some(SortedClause {
            is_strict: strictly.is_some(),
            by,
            span,
        }))
    }

    fn output(&mut self) -> Parsed<Output> {
        let name = self.ident("a result's name")?;
        if !self.is(T::Colon) {
            let error = Diagnostic::new(name.span, "a result has a name, a type and a recipient")
                .help("write `-> (price: u32 to both)`");
            return self.report(error);
        }
        self.expect(T::Colon)?;
        let ty = self.ty()?;
        if self.take_word("to").is_none() {
            let message = format!("nobody gets the result `{}`", name.name);
            let error = Diagnostic::new(name.span.to(self.previous()), message)
                .help("write `to both`, or `to` and a party's name, after the type");
            return self.report(error);
        }
        let to = match self.take_word("both") {
            Some(_) => None,
            None => Some(self.ident("a party's name or `both`")?),
        };
        Ok(Output { name, ty, to })
    }

    fn test(&mut self) -> Parsed<ItemKind> {
        self.skip();
        let (name, name_span) = self.quoted("what the test says, in quotes")?;
        let mut with = Vec::new();
        if self.take_word("with").is_some() {
            loop {
                let name = self.ident("a param's name or `seed`")?;
                self.expect(T::Equal)?;
                let value = self.with_struct(false, Self::expression)?;
                with.push((name, value));
                if self.take(T::Comma).is_none() {
                    break;
                }
            }
        }
        let body = self.block()?;
        Ok(ItemKind::Test(TestItem {
            name,
            name_span,
            with,
            body,
        }))
    }
}
