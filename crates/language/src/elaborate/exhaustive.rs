//! Checks that the arms of a `match` cover all values.
//!
//! A value is a row of numbers: those of a tuple's parts, one after another. The range of each
//! number is cut wherever the range of a pattern begins or ends. A pattern then covers all of a
//! piece or none of it, and each piece is checked against the patterns that cover it.

use std::collections::BTreeSet;

use num_bigint::BigInt;

use super::term::Term;
use super::{Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::program::{TypeId, TypeKind, Value};
use crate::source::Span;
use crate::syntax::{self, Arm, ExpressionKind as Syntax, Pattern, PatternKind};

/// The greatest number of values without an arm that an error lists.
const MAX_TOLD: usize = 8;

/// The values of one part that a pattern covers.
#[derive(Clone, Debug)]
enum Cell {
    All,
    Range(BigInt, BigInt),
    /// Some values, of a type whose values are not numbered.
    Some,
}

/// The first and the last value of one part, or `None` for all values if they are not numbered.
type Piece = Option<(BigInt, BigInt)>;

impl<'a> Elaborator<'a> {
    /// Reports values that no arm covers.
    pub(super) fn check_exhaustive(
        &mut self,
        value: &Term,
        arms: &'a [Arm],
        span: Span,
    ) -> Done<()> {
        let ty = match value {
            Term::Guard(_) => Some(self.program.types.bool()),
            value => value.ty(),
        };
        let types = self.leaves(ty);
        let mut rows = Vec::new();
        for pattern in arms.iter().flat_map(|arm| &arm.patterns) {
            let mut row = Vec::new();
            // A pattern that does not fit the value is reported when its condition is made.
            if !self.cells(pattern, ty, &mut row)? || row.len() != types.len() {
                return Ok(());
            }
            rows.push(row);
        }
        let ranges: Vec<Piece> = types.iter().map(|ty| self.codes(*ty)).collect();
        let rows: Vec<&[Cell]> = rows.iter().map(Vec::as_slice).collect();
        let mut missing = Vec::new();
        self.missing(&ranges, &rows, &mut Vec::new(), &mut missing, span)?;
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = missing
            .iter()
            .map(|row| self.row_text(&types, row))
            .collect();
        let has_codes = ranges.iter().any(Option::is_some);
        let error = if has_codes {
            let message = format!("this `match` has no arm for {}", names.join(", "));
            Diagnostic::new(span, message).help("add an arm, or `_ => …` for all others")
        } else {
            Diagnostic::new(span, "this `match` is not for all values")
                .help("add `_ => …` for the others")
        };
        self.fail(error)
    }

    /// Returns the types of a tuple's parts, recursively.
    fn leaves(&self, ty: Option<TypeId>) -> Vec<Option<TypeId>> {
        match ty.map(|ty| self.program.types.kind(ty)) {
            Some(TypeKind::Tuple(parts)) => {
                let parts = parts.iter();
                parts.flat_map(|part| self.leaves(Some(*part))).collect()
            }
            _ => vec![ty],
        }
    }

    /// Returns the range of the numbers of a type's values.
    fn codes(&self, ty: Option<TypeId>) -> Piece {
        match self.program.types.kind(ty?) {
            TypeKind::Bool => Some((0.into(), 1.into())),
            _ => self.program.types.range(ty?),
        }
    }

    /// Appends the values that a pattern covers, part by part. Returns false if the pattern does
    /// not fit the type.
    fn cells(
        &mut self,
        pattern: &'a Pattern,
        ty: Option<TypeId>,
        row: &mut Vec<Cell>,
    ) -> Done<bool> {
        let is_name = self.bound_name(pattern).is_some();
        match &pattern.kind {
            PatternKind::Tuple(parts) => {
                let types = match ty.map(|ty| self.program.types.kind(ty)) {
                    Some(TypeKind::Tuple(types)) if types.len() == parts.len() => types.clone(),
                    _ => return Ok(false),
                };
                for (part, ty) in parts.iter().zip(types) {
                    if !self.cells(part, Some(ty), row)? {
                        return Ok(false);
                    }
                }
            }
            PatternKind::Value(value) if !is_name => match self.range_of(value, ty)? {
                Some(cell) => row.push(cell),
                None => return Ok(false),
            },
            PatternKind::Any | PatternKind::Name(..) | PatternKind::Value(_) => {
                row.resize(row.len() + self.leaves(ty).len(), Cell::All);
            }
        }
        Ok(true)
    }

    fn range_of(
        &mut self,
        value: &'a syntax::Expression,
        ty: Option<TypeId>,
    ) -> Done<Option<Cell>> {
        let Some(ty) = ty.filter(|ty| self.codes(Some(*ty)).is_some()) else {
            return Ok(Some(Cell::Some));
        };
        let (from, to, is_inclusive) = match &value.kind {
            Syntax::Range(from, to, is_inclusive) => (&**from, &**to, *is_inclusive),
            _ => (value, value, true),
        };
        let mut code = |of: &'a syntax::Expression| -> Done<Option<BigInt>> {
            Ok(match self.value(of, ty)?.as_constant() {
                Some(Value::Integer(code)) => Some(code.clone()),
                Some(Value::Bool(bit)) => Some(u8::from(*bit).into()),
                _ => None,
            })
        };
        let ends = code(from)?.zip(code(to)?);
        Ok(ends.map(|(from, to)| Cell::Range(from, to - u8::from(!is_inclusive))))
    }

    /// Finds values that no row covers. `before` holds the pieces of the parts before these.
    fn missing(
        &mut self,
        parts: &[Piece],
        rows: &[&[Cell]],
        before: &mut Vec<Piece>,
        found: &mut Vec<Vec<Piece>>,
        span: Span,
    ) -> Done<()> {
        self.burn(span)?;
        let (Some((part, rest)), false) = (parts.split_first(), rows.is_empty()) else {
            if rows.is_empty() && found.len() < MAX_TOLD {
                found.push(before.iter().chain(parts).cloned().collect());
            }
            return Ok(());
        };
        for piece in pieces(part, rows) {
            let is_for = |cell: &Cell| match (cell, &piece) {
                (Cell::All, _) => true,
                (Cell::Range(from, to), Some((first, last))) => from <= first && last <= to,
                _ => false,
            };
            let rows = rows.iter().filter(|row| is_for(&row[0]));
            let rows: Vec<&[Cell]> = rows.map(|row| &row[1..]).collect();
            before.push(piece);
            self.missing(rest, &rows, before, found, span)?;
            before.pop();
            if found.len() == MAX_TOLD {
                break;
            }
        }
        Ok(())
    }

    fn row_text(&self, types: &[Option<TypeId>], row: &[Piece]) -> String {
        let parts = types.iter().zip(row);
        let mut texts: Vec<String> = parts
            .map(|(ty, piece)| self.piece_text(*ty, piece))
            .collect();
        match texts.len() {
            1 => texts.remove(0),
            _ => format!("({})", texts.join(", ")),
        }
    }

    fn piece_text(&self, ty: Option<TypeId>, piece: &Piece) -> String {
        let (Some(ty), Some((first, last))) = (ty, piece) else {
            return "_".to_owned();
        };
        let types = &self.program.types;
        let one = |code: &BigInt| match types.kind(ty) {
            TypeKind::Bool => (*code != BigInt::ZERO).to_string(),
            TypeKind::Enum(number) => {
                let place = usize::try_from(code).unwrap_or_default();
                types.enum_type(*number).variants[place].to_string()
            }
            _ => types.value_text(ty, &Value::Integer(code.clone())),
        };
        let is_all = self.codes(Some(ty)).as_ref() == piece.as_ref();
        match types.kind(ty) {
            _ if first == last => one(first),
            TypeKind::Bool | TypeKind::Enum(_) if !is_all => {
                let last = usize::try_from(last).unwrap_or_default();
                let codes = usize::try_from(first).unwrap_or_default()..=last;
                let names: Vec<String> = codes.map(|code| one(&code.into())).collect();
                names.join(", ")
            }
            _ if is_all => "_".to_owned(),
            _ => format!("{}..={}", one(first), one(last)),
        }
    }
}

/// Cuts a part's range wherever the range of a row begins or ends.
fn pieces(part: &Piece, rows: &[&[Cell]]) -> Vec<Piece> {
    let Some((least, greatest)) = part else {
        return vec![None];
    };
    let mut starts = BTreeSet::from([least.clone()]);
    for row in rows {
        if let Cell::Range(from, to) = &row[0]
            && from <= to
        {
            starts.extend([from.clone(), to + 1]);
        }
    }
    let starts: Vec<BigInt> = starts
        .into_iter()
        .filter(|start| start <= greatest)
        .collect();
    let lasts = starts[1..].iter().map(|next| next - 1);
    let lasts: Vec<BigInt> = lasts.chain([greatest.clone()]).collect();
    starts.into_iter().zip(lasts).map(Some).collect()
}
