//! Relations among hidden labels that a scheme makes public, as data for the test that looks for
//! all others (`crates/testkit/src/garbling/relations.rs`). Each is named and argued on the
//! scheme's page, under *Public relations*.

use crate::{Hash, SchemeId, SchemeName};

/// A relation among hidden labels that the evaluator knows, and may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PublicRelation {
    /// Two wires of one offset: the sum of their hidden labels is that of their active labels. It
    /// is what makes XOR free.
    EqualOffsets,
    /// A XOR gate, and its input that is not translated (procedure G′) and that nothing else reads:
    /// the sum of their hidden labels is the other input's translated label.
    UntranslatedInput,
}

impl SchemeId {
    /// The relations among hidden labels that this scheme makes public.
    #[must_use]
    pub const fn public_relations(self) -> &'static [PublicRelation] {
        match (self.name, self.hash) {
            (SchemeName::Prf | SchemeName::PrfXor1And3, _) => &[PublicRelation::UntranslatedInput],
            (SchemeName::PrfXor3And3, _) => &[],
            (
                SchemeName::RelatedKey | SchemeName::CircularAnd3 | SchemeName::CircularHalfGates,
                _,
            )
            // A hash under public keys is what free XOR asks for.
            | (_, Hash::TwoCall | Hash::Rekeyed) => &[PublicRelation::EqualOffsets],
            (_, Hash::LabelKeyed) => &[],
        }
    }
}
