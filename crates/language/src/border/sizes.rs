//! The sizes of joined tables that their owners announce before a run.

use core::fmt;
use std::collections::BTreeMap;

use num_traits::ToPrimitive;
use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_function::join::{Counted, JoinSide, OpenParam};

use super::{BorderError, PortValue, Signature};
use crate::load::Loaded;
use crate::lower::CircuitFiles;

/// A size that a party cannot announce for its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSize {
    /// The param of the size.
    pub param: OpenParam,
    /// The size: the one that was given, or the one of the table.
    pub size: u64,
    /// The number of rows or keys that the table has.
    pub found: u64,
}

impl WrongSize {
    /// Returns the name of the things that are counted.
    #[must_use]
    pub fn counted(&self) -> &'static str {
        match self.param.counted {
            Counted::Rows => "rows",
            Counted::Keys => "different keys",
        }
    }
}

impl fmt::Display for WrongSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, size, found) = (self.counted(), self.size, self.found);
        let OpenParam { name, input, .. } = &self.param;
        if size < found {
            return write!(
                f,
                "the param {name} is {size}, and {input} has {found} {what}"
            );
        }
        let (least, most) = (self.param.minimum, self.param.maximum);
        write!(
            f,
            "{input} has {size} {what}, and the program takes {least} to {most}"
        )
    }
}

impl core::error::Error for WrongSize {}

impl Signature {
    /// Returns the side of the join whose table `role` owns, and the name of its input. Returns
    /// `None` if the run joins no tables.
    #[must_use]
    pub fn own_table(&self, role: Role) -> Option<(JoinSide, &str)> {
        let join = self.entry().join.as_ref()?;
        let [left, right] = join.tables.map(|table| &self.inputs()[table]);
        let is_left = left.owner.is_some_and(|owner| self.role(owner) == role);
        Some(if is_left {
            (JoinSide::Left, left.name.as_str())
        } else {
            (JoinSide::Right, right.name.as_str())
        })
    }

    /// Returns the sizes that `role` knows before the parties announce theirs: those of its table,
    /// whose value is `rows`, and those that were given as params. A given size replaces that of
    /// the table. The size of a part of a table is that to which the part is filled up.
    ///
    /// # Errors
    ///
    /// A size is less than the table's, or out of the program's range.
    pub fn known_sizes(
        &self,
        role: Role,
        rows: &PortValue,
    ) -> Result<BTreeMap<String, u64>, WrongSize> {
        let mut known = BTreeMap::new();
        for param in self.open_params() {
            let given = self.given.get(&param.name).and_then(ToPrimitive::to_u64);
            let size = if param.owner == role {
                let found = self.counted(&param, rows);
                let found = self.part.map_or(found, |part| part.filled(found));
                Some(announced(&param, found, given)?)
            } else {
                given
            };
            known.extend(size.map(|size| (param.name, size)));
        }
        Ok(known)
    }

    /// Returns the sizes that nobody knows before the parties announce them: those that were not
    /// given as params.
    #[must_use]
    pub fn unknown_sizes(&self) -> Vec<OpenParam> {
        let open = self.open_params().into_iter();
        let unknown = open.filter(|param| !self.given.contains_key(&param.name));
        unknown.collect()
    }

    /// Returns the digest of the run's meaning with all announced sizes open. The run was made from
    /// `loaded`.
    ///
    /// # Errors
    ///
    /// A circuit file that the program uses does not exist.
    pub fn open_meaning(
        &self,
        loaded: &Loaded,
        files: &dyn CircuitFiles,
    ) -> Result<Digest, BorderError> {
        let open = self.open_params();
        let mut params = self.given.clone();
        params.retain(|name, _| open.iter().all(|param| param.name != *name));
        Self::new(loaded, &params, self.run.as_deref())?.meaning(files)
    }

    /// Returns the same run with the sizes that the parties have announced. It was made from
    /// `loaded`. Values that were read keep their types.
    ///
    /// # Errors
    ///
    /// The program is wrong or too large with these sizes, or an input other than the tables has a
    /// size that they set.
    pub fn with_sizes(
        &self,
        loaded: &Loaded,
        sizes: &BTreeMap<String, u64>,
    ) -> Result<Self, BorderError> {
        let mut params = self.given.clone();
        let sizes = sizes.iter();
        params.extend(sizes.map(|(name, size)| (name.clone(), (*size).into())));
        let sized = Self::new(loaded, &params, self.run.as_deref())?;
        let sized = sized.in_form(self.program.form);
        if sized.input_widths() != self.input_widths() {
            return Err(BorderError::Request(
                "an input, or a field of a table's rows, has a size that the tables' sizes set; \
                 give these sizes at both parties"
                    .to_owned(),
            ));
        }
        sized.check_size()?;
        Ok(sized)
    }

    /// Returns the widths of the inputs, in order: of a joined table those of a row's fields, of
    /// any other input its own.
    fn input_widths(&self) -> Vec<Vec<u64>> {
        let types = &self.program.types;
        let widths = self
            .inputs()
            .iter()
            .map(|input| match self.joined_table(input) {
                Some((row, _)) => {
                    let fields = types.fields(row).into_iter();
                    fields.map(|field| types.width(field)).collect()
                }
                None => vec![types.width(input.ty)],
            });
        widths.collect()
    }
}

/// Returns the size that a party announces for its table: the one that is `given`, or else the one
/// that it `found`.
fn announced(param: &OpenParam, found: u64, given: Option<u64>) -> Result<u64, WrongSize> {
    let size = given.unwrap_or(found.max(param.minimum));
    if size < found || !(param.minimum..=param.maximum).contains(&size) {
        let param = param.clone();
        return Err(WrongSize { param, size, found });
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoFiles;

    /// Values that were read before the sizes were announced would have other bits than the run's.
    #[test]
    fn rows_whose_type_follows_from_an_announced_size_are_refused() {
        let text = "parties a, b;
            param N: 0..=1_000_000 = len(x);
            param M: 0..=1_000_000 = len(y);
            struct X { id: u<bits(N)> }
            struct Y { id: u<bits(N)>, cents: u8 }
            main(x: [X; ..N] of a, y: [Y; ..M] of b, pairs: join x by id with y by id)
                -> (n: u32 to both) {
                let mut n: u32 = 0;
                for p in pairs { n += p.right.cents as u32; }
                n
            }";
        let loaded = Loaded::new("rows", text, &NoFiles);
        let signature = Signature::new(&loaded, &BTreeMap::new(), None).unwrap();
        let sizes = |n| BTreeMap::from([("N".to_owned(), n), ("M".to_owned(), 5)]);
        let refused = signature.with_sizes(&loaded, &sizes(100)).unwrap_err();
        assert!(
            refused.to_string().contains("a field of a table's rows"),
            "{refused}"
        );
        assert!(signature.with_sizes(&loaded, &sizes(999_999)).is_ok());
    }
}
