//! The keys by which tables are joined.

use tacit_function::join::{KeyKind, KeyNormalization};

use super::{Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::program::{JoinKeyField, TypeId, TypeKind};
use crate::syntax::{self, JoinedTable, KeyField};

impl<'a> Elaborator<'a> {
    /// Returns the parts of a table's key.
    pub(super) fn key(&mut self, table: &'a JoinedTable, row: TypeId) -> Done<Vec<JoinKeyField>> {
        table
            .key
            .iter()
            .map(|part| self.key_field(part, row))
            .collect()
    }

    fn key_field(&mut self, part: &KeyField, row: TypeId) -> Done<JoinKeyField> {
        let fields = self.fields_of(row);
        let name = &part.field.name;
        let Some(place) = fields.iter().position(|(field, _)| field == name) else {
            let message = format!("`{}` has no field `{name}`", self.type_name(row));
            let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
            let error = Diagnostic::new(part.field.span, message);
            return self.fail(error.help(format!("its fields are {}", names.join(", "))));
        };
        let ty = fields[place].1;
        let normalization = match &part.normalization {
            None => KeyNormalization::None,
            Some(word)
                if let Ok(how) = word.as_str().parse()
                    && how != KeyNormalization::None =>
            {
                how
            }
            Some(word) => {
                let message = format!("there is no way `{}` to make keys alike", word.name);
                let error = Diagnostic::new(word.span, message);
                return self.fail(error.help(
                    "`email(address)`, `phone(number)` and `date(born)` are in one form each; or \
                     write the field alone",
                ));
            }
        };
        let width = self.program.types.width(ty) as u32;
        let kind = match self.program.types.kind(ty) {
            TypeKind::OpenText | TypeKind::Text(_) => KeyKind::Text(normalization),
            TypeKind::OpenBytes => KeyKind::Bytes,
            TypeKind::Bytes(_)
            | TypeKind::Bool
            | TypeKind::Unsigned(_)
            | TypeKind::Signed(_)
            | TypeKind::Fixed(..)
            | TypeKind::Enum(_) => KeyKind::Fixed { bits: width },
            _ => {
                let message = format!("a `{}` is no part of a key", self.type_name(ty));
                let error = Diagnostic::new(part.field.span, message);
                return self.fail(error.help(
                    "keys are of bools, numbers, enums, `bytes` and `text`; several fields stand \
                     in parentheses",
                ));
            }
        };
        if normalization != KeyNormalization::None && !matches!(kind, KeyKind::Text(_)) {
            let message = format!("`{name}` is no text, and has no letters to make alike");
            let error = Diagnostic::new(part.field.span, message);
            return self.fail(error.help(format!("write `{name}` alone")));
        }
        let field = place as u32;
        Ok(JoinKeyField { field, kind })
    }

    /// Reports keys of different types, whose encodings would never be equal.
    pub(super) fn same_keys(
        &mut self,
        join: &syntax::Join,
        rows: [TypeId; 2],
        [left, right]: &[Vec<JoinKeyField>; 2],
    ) -> Done<()> {
        if left.len() != right.len() {
            let (left, right) = (left.len(), right.len());
            let message = format!("a key of {left} parts is joined with one of {right}");
            let error = Diagnostic::new(join.span, message);
            return self.fail(error.help("name as many fields on both sides"));
        }
        for (number, (a, b)) in left.iter().zip(right).enumerate() {
            let [a_type, b_type] = [(rows[0], a), (rows[1], b)]
                .map(|(row, part)| self.fields_of(row)[part.field as usize].1);
            let is_text = matches!(a.kind, KeyKind::Text(_));
            if a.kind == b.kind && (is_text || a_type == b_type) {
                continue;
            }
            let (at, other) = (&join.right.key[number], &join.left.key[number]);
            let texts = is_text && matches!(b.kind, KeyKind::Text(_));
            let error = Diagnostic::new(at.field.span, "the two parts of the key are not alike");
            let names = [a_type, b_type].map(|ty| self.type_name(ty));
            let error = error.related(other.field.span, format!("a `{}` here", names[0]));
            return self.fail(if texts {
                error.help("write the same, such as `email(…)`, on both sides or on none")
            } else {
                let help = format!(
                    "this is a `{}`: give both fields one type; nothing converts by itself",
                    names[1]
                );
                error.help(help)
            });
        }
        Ok(())
    }
}
