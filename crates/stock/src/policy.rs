//! Policies: who may use which kept value of a chain.

use sha2::{Digest as _, Sha256};

use crate::codec::{Fields, Malformed};
use crate::records::{MAX_CHAIN_NAME_BYTES, MAX_NAME_BYTES};
use crate::{PeerId, StockError};

/// The most rules of a policy.
pub const MAX_RULES: usize = 256;

/// The most parties to which [`Policy::open_to`] opens a chain. Each takes two rules.
pub const MAX_OPEN_TO: usize = MAX_RULES / 2;

/// A use of a kept value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Computing with the value.
    Load,
    /// Replacing the value.
    Save,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Save => "save",
        })
    }
}

/// One rule: a party may do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The party.
    pub who: PeerId,
    /// The value, or `None` for all values of the chain.
    pub value: Option<String>,
    /// The use that is allowed.
    pub access: Access,
}

/// The rules about which identities may use which kept values of a chain. A use that no rule allows
/// is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Policy {
    /// Creates the policy of these rules.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if there are more than [`MAX_RULES`], or a value's name is
    /// invalid.
    pub fn new(rules: Vec<Rule>) -> Result<Self, StockError> {
        if rules.len() > MAX_RULES {
            return Err(StockError::misuse(format!(
                "a policy of {} rules; it has at most {MAX_RULES}",
                rules.len()
            )));
        }
        let names = rules.iter().filter_map(|rule| rule.value.as_deref());
        names.into_iter().try_for_each(check_name)?;
        Ok(Self { rules })
    }

    /// Creates a policy under which these parties may load and save every value of the chain.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if there are more than [`MAX_OPEN_TO`].
    pub fn open_to(parties: &[PeerId]) -> Result<Self, StockError> {
        let rules = parties.iter().flat_map(|&who| {
            [Access::Load, Access::Save].map(|access| Rule {
                who,
                value: None,
                access,
            })
        });
        Self::new(rules.collect())
    }

    /// Returns the same policy, except that `who` may load and save every value, or may do nothing.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if there would be more than [`MAX_RULES`].
    pub fn with(&self, who: PeerId, is_allowed: bool) -> Result<Self, StockError> {
        let mut rules = self.rules.clone();
        rules.retain(|rule| rule.who != who);
        if is_allowed {
            rules.extend(Self::open_to(&[who])?.rules);
        }
        Self::new(rules)
    }

    /// Returns a digest, by which parties compare their policies.
    pub fn digest(&self) -> [u8; 32] {
        let hash = Sha256::new_with_prefix(b"tacit chain policy 1\0");
        hash.chain_update(self.to_bytes()).finalize().into()
    }

    /// Returns the rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether `who` may do this with `value`.
    #[must_use]
    pub fn allows(&self, who: &PeerId, value: &str, access: Access) -> bool {
        self.rules.iter().any(|rule| {
            rule.who == *who
                && rule.access == access
                && rule.value.as_deref().is_none_or(|only| only == value)
        })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = (self.rules.len() as u16).to_le_bytes().to_vec();
        for Rule { who, value, access } in &self.rules {
            let value = value.as_deref().unwrap_or_default();
            bytes.extend(who.0);
            bytes.push(match access {
                Access::Load => 0,
                Access::Save => 1,
            });
            bytes.push(value.len() as u8);
            bytes.extend(value.as_bytes());
        }
        bytes
    }

    pub(crate) fn parse(fields: &mut Fields<'_>) -> Result<Self, Malformed> {
        let count = usize::from(fields.u16()?);
        if count > MAX_RULES {
            return Err(Malformed::Value("number of rules"));
        }
        let mut rules = Vec::with_capacity(count);
        for _ in 0..count {
            let who = PeerId(fields.array()?);
            let access = match fields.u8()? {
                0 => Access::Load,
                1 => Access::Save,
                _ => return Err(Malformed::Value("access")),
            };
            let length = usize::from(fields.u8()?);
            let value = String::from_utf8(fields.bytes(length)?.to_vec());
            let value = value.map_err(|_| Malformed::Value("value's name"))?;
            rules.push(Rule {
                who,
                value: (!value.is_empty()).then_some(value),
                access,
            });
        }
        Ok(Self { rules })
    }
}

/// Checks the name of a value.
pub(crate) fn check_name(name: &str) -> Result<(), StockError> {
    check("value", name, MAX_NAME_BYTES)
}

/// Checks the name of a chain.
///
/// # Errors
///
/// [`StockError::ApiMisuse`], which says what a valid name is.
pub fn check_chain_name(name: &str) -> Result<(), StockError> {
    check("chain", name, MAX_CHAIN_NAME_BYTES)
}

fn check(what: &str, name: &str, most: usize) -> Result<(), StockError> {
    if name.is_empty() || name.len() > most || name.chars().any(char::is_control) {
        return Err(StockError::misuse(format!(
            "a {what} named {name:?}: its name has 1 to {most} bytes and no control characters"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: PeerId = PeerId([1; 32]);
    const BOB: PeerId = PeerId([2; 32]);

    fn rule(who: PeerId, value: Option<&str>, access: Access) -> Rule {
        let value = value.map(str::to_owned);
        Rule { who, value, access }
    }

    #[test]
    fn what_no_rule_allows_is_refused() {
        let policy = Policy::new(vec![
            rule(ALICE, None, Access::Load),
            rule(BOB, Some("map"), Access::Save),
        ]);
        let policy = policy.expect("a policy");
        assert!(policy.allows(&ALICE, "anything", Access::Load));
        assert!(!policy.allows(&ALICE, "anything", Access::Save));
        assert!(policy.allows(&BOB, "map", Access::Save));
        assert!(!policy.allows(&BOB, "map", Access::Load));
        assert!(!policy.allows(&BOB, "maps", Access::Save));
        assert!(!Policy::default().allows(&ALICE, "map", Access::Load));
        let open = Policy::open_to(&[ALICE]).expect("a policy");
        assert!(open.allows(&ALICE, "map", Access::Save));
        assert!(!open.allows(&BOB, "map", Access::Load));
    }

    #[test]
    fn a_policy_is_amended_for_one_party() {
        let policy = Policy::open_to(&[ALICE]).expect("a policy");
        let both = policy.with(BOB, true).expect("a policy");
        assert_eq!(both, Policy::open_to(&[ALICE, BOB]).expect("a policy"));
        assert_eq!(both.with(BOB, true).expect("a policy"), both);
        assert_eq!(both.with(BOB, false).expect("a policy"), policy);
        assert_ne!(both.digest(), policy.digest());
    }

    #[test]
    fn a_policy_is_read_as_it_was_written() {
        let policy = Policy::new(vec![
            rule(ALICE, Some("a"), Access::Load),
            rule(BOB, None, Access::Save),
        ]);
        let policy = policy.expect("a policy");
        let bytes = policy.to_bytes();
        let mut fields = Fields::of(&bytes);
        assert_eq!(Policy::parse(&mut fields), Ok(policy));
        assert_eq!(fields.end(), Ok(()));
        for cut in 0..bytes.len() {
            assert!(Policy::parse(&mut Fields::of(&bytes[..cut])).is_err());
        }
        assert!(Policy::new(vec![rule(ALICE, Some(""), Access::Load)]).is_err());
        assert!(Policy::new(vec![rule(ALICE, None, Access::Load); MAX_RULES + 1]).is_err());
    }
}
