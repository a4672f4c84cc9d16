//! The kinds of tokens.

use core::fmt;

use crate::source::Span;

/// A token and its place. The token's text is that of the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

macro_rules! tokens {
    (words { $($word:ident $word_text:literal)* } signs { $($sign:ident $sign_text:literal)* }) => {
        /// The kind of a token.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum TokenKind {
            /// A name.
            Name,
            /// A whole number.
            Integer,
            /// A number with a point.
            Fraction,
            /// A text in quotes.
            Text,
            /// The end of the file.
            End,
            $($word,)*
            $($sign,)*
        }

        /// The words of the language.
        pub(crate) const WORDS: &[&str] = &[$($word_text),*];

        /// Returns the token of a word.
        pub(super) fn word(text: &str) -> TokenKind {
            match text {
                $($word_text => TokenKind::$word,)*
                _ => TokenKind::Name,
            }
        }

        /// Returns the longest sign at the start of `rest`, and its length. Longer signs are listed
        /// first.
        pub(super) fn sign(rest: &[u8]) -> Option<(TokenKind, usize)> {
            $(if rest.starts_with($sign_text.as_bytes()) {
                return Some((TokenKind::$sign, $sign_text.len()));
            })*
            None
        }

        impl TokenKind {
            /// Returns the text of a word or a sign.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$word => $word_text,)*
                    $(Self::$sign => $sign_text,)*
                    _ => "",
                }
            }
        }
    };
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "a name",
            Self::Integer => "a number",
            Self::Fraction => "a number with a point",
            Self::Text => "a text",
            Self::End => "the end of the file",
            _ => return write!(f, "`{}`", self.text()),
        })
    }
}

tokens! {
    words {
        As "as"
        Assert "assert"
        Break "break"
        Const "const"
        Continue "continue"
        Else "else"
        Enum "enum"
        False "false"
        Fn "fn"
        For "for"
        If "if"
        In "in"
        Let "let"
        Loop "loop"
        Match "match"
        Mut "mut"
        Return "return"
        Struct "struct"
        True "true"
        Type "type"
        Use "use"
        While "while"
        Underscore "_"
    }
    signs {
        ShiftLeftAssign "<<="
        ShiftRightAssign ">>="
        DotDotEqual "..="
        ShiftLeft "<<"
        ShiftRight ">>"
        LessEqual "<="
        GreaterEqual ">="
        EqualEqual "=="
        NotEqual "!="
        AndAnd "&&"
        OrOr "||"
        Arrow "->"
        FatArrow "=>"
        PlusAssign "+="
        MinusAssign "-="
        StarAssign "*="
        SlashAssign "/="
        PercentAssign "%="
        AndAssign "&="
        OrAssign "|="
        CaretAssign "^="
        DotDot ".."
        ColonColon "::"
        OpenParen "("
        CloseParen ")"
        OpenBracket "["
        CloseBracket "]"
        OpenBrace "{"
        CloseBrace "}"
        Comma ","
        Semicolon ";"
        Colon ":"
        Dot "."
        Equal "="
        Less "<"
        Greater ">"
        Plus "+"
        Minus "-"
        Star "*"
        Slash "/"
        Percent "%"
        And "&"
        Or "|"
        Caret "^"
        Not "!"
        Hash "#"
    }
}
