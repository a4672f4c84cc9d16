use super::*;

/// A reader that returns one byte at each read.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some((first, rest)) = self.0.split_first() else {
            return Ok(0);
        };
        buffer[0] = *first;
        self.0 = rest;
        Ok(1)
    }
}

#[test]
fn tokens_and_lines_come_out_however_the_bytes_come_in() {
    let text = b"12 4294967295\tAND \r\n\n \n7";
    let mut lexer = Lexer::new(Trickle(text));
    assert_eq!(lexer.number("a"), Ok(12));
    assert_eq!(lexer.number("b"), Ok(u32::MAX));
    assert_eq!(
        lexer.word("c", "AND", |word| (word == b"AND").then_some(1)),
        Ok(1)
    );
    assert_eq!(lexer.end_of_line(), Ok(()));
    assert_eq!(lexer.skip_empty_lines(), Ok(false));
    assert_eq!(lexer.line(), 4);
    assert_eq!(lexer.number("d"), Ok(7));
    assert_eq!(lexer.skip_empty_lines(), Ok(true));
    let error = lexer.number("e").unwrap_err().to_string();
    assert_eq!(
        error,
        "line 4, e: expected a number below 2^32, found the end of the file"
    );
}

#[test]
fn lines_longer_than_the_buffer_are_read() {
    let text = format!(
        "{}5{}6\n7",
        " ".repeat(3 * BUFFER),
        " ".repeat(2 * BUFFER - 1)
    );
    let mut lexer = Lexer::new(text.as_bytes());
    assert_eq!((lexer.number("a"), lexer.number("b")), (Ok(5), Ok(6)));
    assert_eq!(lexer.end_of_line(), Ok(()));
    assert_eq!((lexer.number("c"), lexer.line()), (Ok(7), 2));
}

#[test]
fn what_is_no_number_is_named() {
    let cases = [
        ("4294967296", "\"4294967296\""),
        ("99999999999", "\"99999999999\""),
        ("-1", "\"-1\""),
        ("0x1", "\"0x1\""),
        ("12a", "\"12a\""),
        ("\n", "the end of the line"),
        ("\u{7f}\u{e9}", "\"\\u{7f}é\""),
        (&"1".repeat(100), &format!("\"{}\"", "1".repeat(64))),
    ];
    for (text, found) in cases {
        let error = Lexer::new(text.as_bytes())
            .number("gates")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            format!("line 1, gates: expected a number below 2^32, found {found}")
        );
    }
}

#[test]
fn gate_lines_of_the_usual_form_are_read_whole() {
    let line = |text: &str| {
        let mut lexer = Lexer::new(
            format!("{text}{}", " ".repeat(MAX_TOKEN))
                .into_bytes()
                .leak() as &[u8],
        );
        lexer.skip_empty_lines().unwrap();
        lexer
            .gate_line()
            .map(|line| (line.inputs, line.output, line.kind, line.length))
    };
    let known = [
        ("2 1 0 9 10 XOR\n", [0, 9], 10, GateKind::Xor),
        (
            "2 1 1234567 98 7654321 AND\n",
            [1_234_567, 98],
            7_654_321,
            GateKind::And,
        ),
        (
            "2 1 12345678 123456789 999999999 XOR\n",
            [12_345_678, 123_456_789],
            999_999_999,
            GateKind::Xor,
        ),
        (
            "1 1 100 9999999 INV\n",
            [100, 100],
            9_999_999,
            GateKind::Inv,
        ),
    ];
    for (text, inputs, output, kind) in known {
        assert_eq!(
            line(text),
            Some((inputs, output, kind, text.len())),
            "{text}"
        );
    }
    let others = [
        "2 1 0 1 1234567890 XOR\n",
        "2 1 0 1 2 XOR \n",
        "2 1 0 1 2 XOR\r\n",
        "2 1 0  1 2 XOR\n",
        "2 1 0 1 2 INV\n",
        "1 1 0 2 XOR\n",
        "1 1 0 1 2 INV\n",
        "2 1 0 a 2 XOR\n",
        "2 1 : 1 2 XOR\n",
        "2 1 / 1 2 XOR\n",
        "4 2 0 1 2 3 4 5 MAND\n",
        "2 1 1\u{ff} 1 2 XOR\n",
        "2 1 ",
    ];
    for text in others {
        assert_eq!(line(text), None, "{text:?}");
    }
}

#[test]
fn short_numbers_of_every_length() {
    let digits = "9182736450";
    for length in 1..=10 {
        let mut window = [b' '; MAX_TOKEN];
        window[3..3 + length].copy_from_slice(&digits.as_bytes()[..length]);
        let value = digits[..length].parse().unwrap_or(0);
        let expected = (length <= 9).then_some((value, length + 4));
        assert_eq!(short_number(&window, 3, b' '), expected);
        assert_eq!(short_number(&window, 3, b'\n'), None);
    }
}

#[test]
fn a_failing_reader_is_an_error() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let error = Lexer::new(Failing).number("gates").unwrap_err();
    assert!(matches!(error, CircuitError::Io { .. }), "{error}");
    assert!(error.to_string().contains("the disk is gone"), "{error}");
}
