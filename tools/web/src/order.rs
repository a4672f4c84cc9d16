//! The order of a module's functions. Gzip finds what is alike within 32 KiB alone, and functions
//! of one name, made for several types, are alike. So functions stand in the order of their names.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, FunctionSection, Module};
use wasmparser::{
    CodeSectionReader, CustomSectionReader, FunctionSectionReader, KnownCustom, Name, Parser,
    Payload, TypeRef,
};

/// Returns the module with its functions in the order of their names, and without the names.
pub(crate) fn ordered(module: &[u8]) -> Result<Vec<u8>, String> {
    let mut reordering = Reordering::new(module).map_err(|error| error.to_string())?;
    let mut ordered = Module::new();
    let parsed = reordering.parse_core_module(&mut ordered, Parser::new(0), module);
    parsed.map_err(|error| error.to_string())?;
    Ok(ordered.finish())
}

/// A new order of the functions that a module defines.
struct Reordering {
    /// The functions in their new order, by their places among those that are defined.
    order: Vec<usize>,
    /// The new index of each function, imported ones among them, by the index that it had.
    indices: Vec<u32>,
}

impl Reordering {
    fn new(module: &[u8]) -> wasmparser::Result<Self> {
        let (mut imported, mut sizes, mut names) = (0, Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        imported += usize::from(matches!(import?.ty, TypeRef::Func(_)));
                    }
                }
                Payload::CodeSectionEntry(body) => sizes.push(body.range().len()),
                Payload::CustomSection(section) => {
                    if let KnownCustom::Name(sections) = section.as_known() {
                        for named in sections {
                            if let Name::Function(map) = named? {
                                names = map.into_iter().collect::<wasmparser::Result<_>>()?;
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        let mut keys: Vec<_> = sizes.iter().map(|size| ("", *size)).collect();
        for naming in &names {
            let place = (naming.index as usize).checked_sub(imported);
            if let Some(key) = place.and_then(|place| keys.get_mut(place)) {
                key.0 = without_hash(naming.name);
            }
        }
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|place| keys[*place]);
        let mut indices: Vec<u32> = (0..(imported + sizes.len()) as u32).collect();
        for (new, place) in order.iter().enumerate() {
            indices[imported + place] = (imported + new) as u32;
        }
        Ok(Self { order, indices })
    }
}

/// Returns a function's name without what tells functions of one name apart.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((before, hash)) if hash.len() == 16 => before,
        _ => name,
    }
}

impl Reencode for Reordering {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.indices[function as usize])
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let types = section
            .into_iter()
            .collect::<wasmparser::Result<Vec<_>>>()?;
        for place in &self.order {
            functions.function(types[*place]);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let bodies = section
            .into_iter()
            .collect::<wasmparser::Result<Vec<_>>>()?;
        for place in self.order.clone() {
            self.parse_function_body(code, bodies[place].clone())?;
        }
        Ok(())
    }

    fn parse_custom_section(
        &mut self,
        module: &mut Module,
        section: CustomSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        if section.name() != "name" {
            module.section(&self.custom_section(section)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{
        EntityType, ExportKind, ExportSection, Function, ImportSection, Instruction, NameMap,
        NameSection, TypeSection,
    };
    use wasmparser::Operator;

    use super::*;

    /// The index of the one function that each function calls, and of the one that is exported;
    /// and whether functions have names.
    fn read(module: &[u8]) -> (Vec<u32>, u32, bool) {
        let (mut called, mut exported, mut is_named) = (Vec::new(), 0, false);
        for payload in Parser::new(0).parse_all(module) {
            match payload.unwrap() {
                Payload::CodeSectionEntry(body) => {
                    let call = body.get_operators_reader().unwrap().read().unwrap();
                    let Operator::Call { function_index } = call else {
                        panic!("{call:?}");
                    };
                    called.push(function_index);
                }
                Payload::ExportSection(exports) => {
                    exported = exports.into_iter().next().unwrap().unwrap().index;
                }
                Payload::CustomSection(section) => is_named |= section.name() == "name",
                _ => {}
            }
        }
        (called, exported, is_named)
    }

    #[test]
    fn functions_are_ordered_by_name_and_calls_go_along() {
        let (mut types, mut imports) = (TypeSection::new(), ImportSection::new());
        types.ty().function([], []);
        imports.import("page", "tell", EntityType::Function(0));
        let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
        let mut map = NameMap::new();
        map.append(0, "zebra");
        // Each calls the next, the last what is imported.
        let named = ["b::h0123456789abcdef", "c", "a", "b::hfedcba9876543210"];
        for (place, name) in (1..).zip(named) {
            functions.function(0);
            map.append(place, name);
            let mut body = Function::new([]);
            body.instruction(&Instruction::Call((place + 1) % 5));
            // The first is longer than the last, of the same name.
            for _ in place..5 {
                body.instruction(&Instruction::Nop);
            }
            code.function(body.instruction(&Instruction::End));
        }
        let (mut exports, mut names) = (ExportSection::new(), NameSection::new());
        exports.export("c", ExportKind::Func, 2);
        names.functions(&map);
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions);
        module.section(&exports).section(&code).section(&names);
        let module = module.finish();
        assert_eq!(read(&module), (vec![2, 3, 4, 0], 2, true));
        // Now a, both b, and c.
        let ordered = ordered(&module).unwrap();
        assert_eq!(read(&ordered), (vec![2, 0, 4, 1], 4, false));
    }
}
