//! Tests of tokens, each of which but the first is one that must not be accepted.

use base64ct::{Base64UrlUnpadded, Encoding};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value as Json, json};
use tacit::Fingerprint;

use super::{Algorithm, IssuerKey, MAX_LIFE_S, SKEW_S, WrongToken, check};

const NOW: u64 = 1_800_000_000;
const AUDIENCE: &str = "https://tables.example";
const BEARER: Fingerprint = Fingerprint([7; 32]);

fn key(algorithm: Algorithm, bytes: &[u8]) -> IssuerKey {
    IssuerKey {
        algorithm,
        bytes: bytes.to_vec(),
    }
}

fn part(json: &Json) -> String {
    Base64UrlUnpadded::encode_string(json.to_string().as_bytes())
}

fn claims() -> Json {
    json!({
        "sub": "user-1",
        "aud": AUDIENCE,
        "exp": NOW + 600,
        "nbf": NOW - 1,
        "cnf": { "tacit": BEARER.to_string() },
    })
}

/// An issuer with a key of Ed25519.
struct Issuer(Ed25519KeyPair);

impl Issuer {
    fn new(seed: u8) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a seed"))
    }

    fn key(&self) -> IssuerKey {
        key(Algorithm::EdDsa, self.0.public_key().as_ref())
    }

    fn token(&self, header: &Json, claims: &Json) -> String {
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.0.sign(signed.as_bytes());
        let signature = Base64UrlUnpadded::encode_string(signature.as_ref());
        format!("{signed}.{signature}")
    }
}

/// Returns the subject, or why the first issuer's service refuses these claims at that time.
fn checked_at(claims: &Json, now_s: u64) -> Result<String, WrongToken> {
    let issuer = Issuer::new(1);
    let token = issuer.token(&json!({ "alg": "EdDSA", "typ": "JWT" }), claims);
    check(&token, (&issuer.key(), AUDIENCE), &BEARER, now_s).map(|bearer| bearer.subject)
}

fn checked(change: impl FnOnce(&mut Json)) -> Result<String, WrongToken> {
    let mut claims = claims();
    change(&mut claims);
    checked_at(&claims, NOW)
}

/// Returns why the token that `token` makes of a header and the right claims is refused.
fn refused(header: Json, token: impl FnOnce(&Issuer, &Json) -> String) -> WrongToken {
    let issuer = Issuer::new(1);
    let token = token(&issuer, &header);
    check(&token, (&issuer.key(), AUDIENCE), &BEARER, NOW).expect_err("a wrong token")
}

#[test]
fn tokens_of_the_issuer_are_accepted() {
    assert_eq!(checked(|_| ()), Ok("user-1".to_owned()));
    let several = |claims: &mut Json| claims["aud"] = json!(["elsewhere", AUDIENCE]);
    assert_eq!(checked(several), Ok("user-1".to_owned()));
    let without = |claims: &mut Json| drop(claims.as_object_mut().expect("claims").remove("nbf"));
    assert_eq!(checked(without), Ok("user-1".to_owned()));
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).expect("a key");
    let signed = format!("{}.{}", part(&json!({ "alg": "ES256" })), part(&claims()));
    let signature = pair.sign(&random, signed.as_bytes()).expect("a signature");
    let token = format!(
        "{signed}.{}",
        Base64UrlUnpadded::encode_string(signature.as_ref())
    );
    let key = key(Algorithm::Es256, pair.public_key().as_ref());
    assert!(check(&token, (&key, AUDIENCE), &BEARER, NOW).is_ok());
}

/// RFC 8037, A.4, and RFC 7515, A.3: what they sign has no claims of ours, and another signature is
/// told first.
#[test]
fn published_signatures_are_checked() {
    let decoded = |text: &str| Base64UrlUnpadded::decode_vec(text).expect("base64");
    let x = decoded("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU");
    let y = decoded("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");
    for (key, signed, signature) in [
        (
            key(
                Algorithm::EdDsa,
                &decoded("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
            ),
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0\
             KAg",
        ),
        (
            key(Algorithm::Es256, &[vec![4], x, y].concat()),
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGF\
             tcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6N\
             U1Q",
        ),
    ] {
        let found = |signature: &str| {
            let token = format!("{signed}.{signature}");
            check(&token, (&key, AUDIENCE), &BEARER, NOW).expect_err("no claims")
        };
        assert_eq!(found(signature), WrongToken::Malformed);
        let other = signature.replacen(&signature[9..10], "-", 1);
        assert_eq!(found(&other), WrongToken::Signature);
    }
}

#[test]
fn a_token_that_has_expired_is_refused() {
    let of = |now_s| checked_at(&claims(), now_s).map(drop);
    assert_eq!(of(NOW + 599 + SKEW_S), Ok(()));
    assert_eq!(of(NOW + 600 + SKEW_S), Err(WrongToken::Expired));
    assert_eq!(of(u64::MAX), Err(WrongToken::Expired));
}

#[test]
fn a_token_without_an_end_is_refused() {
    let far = |claims: &mut Json| claims["exp"] = json!(NOW + MAX_LIFE_S + SKEW_S + 1);
    assert_eq!(checked(far), Err(WrongToken::Expired));
    for exp in [json!(null), json!("1900000000"), json!(-1), json!(1.5)] {
        assert_eq!(
            checked(|claims| claims["exp"] = exp),
            Err(WrongToken::Malformed)
        );
    }
}

#[test]
fn a_token_whose_time_has_not_begun_is_refused() {
    let later = |claims: &mut Json| claims["nbf"] = json!(NOW + SKEW_S + 1);
    assert_eq!(checked(later), Err(WrongToken::Early));
    let text = |claims: &mut Json| claims["nbf"] = json!("soon");
    assert_eq!(checked(text), Err(WrongToken::Malformed));
}

#[test]
fn a_token_for_another_service_is_refused() {
    for aud in [json!("https://other.example"), json!([]), json!("")] {
        assert_eq!(
            checked(|claims| claims["aud"] = aud),
            Err(WrongToken::Audience)
        );
    }
}

#[test]
fn a_token_of_another_issuer_is_refused() {
    let by_other = |_: &Issuer, header: &Json| Issuer::new(2).token(header, &claims());
    assert_eq!(
        refused(json!({ "alg": "EdDSA" }), by_other),
        WrongToken::Signature
    );
}

#[test]
fn a_token_that_was_changed_is_refused() {
    let changed = |issuer: &Issuer, header: &Json| {
        let token = issuer.token(header, &claims());
        let mut other = claims();
        other["sub"] = json!("user-2");
        token.replace(&part(&claims()), &part(&other))
    };
    assert_eq!(
        refused(json!({ "alg": "EdDSA" }), changed),
        WrongToken::Signature
    );
}

#[test]
fn a_token_that_is_not_signed_or_by_another_algorithm_is_refused() {
    for alg in ["none", "None", "HS256", "RS256", "ES256", ""] {
        let header = json!({ "alg": alg });
        let signed = |issuer: &Issuer, header: &Json| issuer.token(header, &claims());
        assert_eq!(refused(header.clone(), signed), WrongToken::Algorithm);
        let bare = |_: &Issuer, header: &Json| format!("{}.{}.", part(header), part(&claims()));
        assert_eq!(refused(header, bare), WrongToken::Algorithm);
    }
    let header = json!({ "alg": "EdDSA", "crit": ["b64"], "b64": false });
    let signed = |issuer: &Issuer, header: &Json| issuer.token(header, &claims());
    assert_eq!(refused(header, signed), WrongToken::Malformed);
}

#[test]
fn a_token_that_another_brings_is_refused() {
    let thief = Fingerprint([8; 32]);
    let issuer = Issuer::new(1);
    let token = issuer.token(&json!({ "alg": "EdDSA" }), &claims());
    let of = |who| check(&token, (&issuer.key(), AUDIENCE), who, NOW).map(drop);
    assert_eq!(of(&thief), Err(WrongToken::Bearer));
    assert_eq!(of(&BEARER), Ok(()));
    let unbound = |claims: &mut Json| claims["cnf"] = json!({});
    assert_eq!(checked(unbound), Err(WrongToken::Malformed));
}

#[test]
fn subjects_are_short_and_of_letters_digits_and_few_signs() {
    for sub in ["", "a\nb", "../a", "$(a)", "a\u{202e}b", &"x".repeat(129)] {
        assert_eq!(
            checked(|claims| claims["sub"] = json!(sub)),
            Err(WrongToken::Subject)
        );
    }
}

#[test]
fn what_is_no_token_is_refused() {
    let key = Issuer::new(1).key();
    for text in [
        "",
        ".",
        "..",
        "a.b",
        "é.é.é",
        "e30.e30.e30",
        "e30.e30.e30.e30",
    ] {
        let found = check(text, (&key, AUDIENCE), &BEARER, NOW);
        assert_eq!(found, Err(WrongToken::Malformed), "{text}");
    }
}

#[test]
fn keys_are_read_from_pem() {
    let ed25519 = "-----BEGIN PUBLIC KEY-----\n\
                   MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
                   -----END PUBLIC KEY-----\n";
    let key: IssuerKey = ed25519.parse().expect("a key");
    assert_eq!(format!("{key:?}"), "IssuerKey(EdDSA)");
    let p256 = "-----BEGIN PUBLIC KEY-----\n\
                MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7\n\
                6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n\
                -----END PUBLIC KEY-----\n";
    let key: IssuerKey = p256.parse().expect("a key");
    assert_eq!(format!("{key:?}"), "IssuerKey(ES256)");
    for wrong in [
        "",
        &ed25519.replace("PUBLIC", "PRIVATE"),
        &ed25519.replace("MCow", "MCoA"),
    ] {
        assert!(wrong.parse::<IssuerKey>().is_err(), "{wrong}");
    }
}
