use proptest::prelude::*;

use super::*;
use crate::formats::write_bristol;

const AS_GIVEN: Import = Import {
    format: None,
    order: BitOrder::AsGiven,
    limits: Limits {
        gates: 1 << 28,
        port_bits: 1 << 24,
        ports: 1 << 16,
    },
};

fn read(text: &str) -> Result<Circuit, CircuitError> {
    read_bristol(text.as_bytes(), &AS_GIVEN)
}

fn gates(circuit: &Circuit) -> Vec<Gate> {
    circuit.gates().collect()
}

fn bits(text: &str) -> Vec<bool> {
    text.bytes().map(|c| c == b'1').collect()
}

#[test]
fn a_half_adder_in_both_formats() {
    let fashion = read("2 4\n2 1 1\n1 2\n\n2 1 0 1 2 XOR\n2 1 0 1 3 AND\n").unwrap();
    let old = read("2 4\n1 1   2\n\n2 1 0 1 2 XOR\n2 1 0 1 3 AND\n").unwrap();
    let old_without_blank = read("2 4\r\n1 1 2\r\n2 1 0 1 2 XOR\r\n2 1 0 1 3 AND").unwrap();
    assert_eq!(gates(&fashion), [Gate::Xor(0, 1), Gate::And(0, 1)]);
    assert_eq!(fashion.output_wires(), [2, 3]);
    assert_eq!(
        fashion.inputs(),
        [
            Port::new("in0", Type::bits(1)),
            Port::new("in1", Type::bits(1))
        ]
    );
    assert_eq!(fashion.outputs(), [Port::new("out0", Type::bits(2))]);
    assert_eq!(old, fashion);
    assert_eq!(old_without_blank, fashion);
}

#[test]
fn headers_that_both_formats_could_have_are_told_apart_by_the_next_line() {
    // "2 1 1" is two inputs in Bristol Fashion, or widths 2 and 1 and an output of 1.
    let old = read("1 4\n2 1 1\n\n2 1 0 2 3 AND\n").unwrap();
    assert_eq!((old.inputs().len(), old.input_bits()), (2, 3));
    let old = read("1 4\n2 1 1\n2 1 0 2 3 AND\n").unwrap();
    assert_eq!((old.inputs().len(), old.input_bits()), (2, 3));
    let fashion = read("1 3\n2 1 1\n1 1\n2 1 0 1 2 AND\n").unwrap();
    assert_eq!((fashion.inputs().len(), fashion.input_bits()), (2, 2));
    let forced = Import {
        format: Some(BristolFormat::Fashion),
        ..AS_GIVEN
    };
    assert!(read_bristol("1 4\n2 1 1\n\n2 1 0 2 3 AND\n".as_bytes(), &forced).is_err());
}

#[test]
fn an_old_file_may_have_one_input() {
    let circuit = read("1 3\n2 0 1\n\n2 1 0 1 2 XOR\n").unwrap();
    assert_eq!(circuit.inputs(), [Port::new("in0", Type::bits(2))]);
}

#[test]
fn wires_may_be_driven_in_any_order() {
    let circuit = read("3 5\n1 2\n1 1\n\n2 1 0 1 3 XOR\n1 1 3 2 INV\n2 1 2 3 4 AND\n").unwrap();
    assert_eq!(
        gates(&circuit),
        [Gate::Xor(0, 1), Gate::Inv(2), Gate::And(3, 2)]
    );
    assert_eq!(circuit.output_wires(), [4]);
}

#[test]
fn eq_and_eqw_and_mand_become_gates_and_aliases() {
    let text = "6 10\n1 4\n4 1 1 1 1\n\n\
        4 2 0 1 2 3 4 5 MAND\n1 1 1 7 EQ\n1 1 4 6 EQW\n1 1 0 8 EQ\n1 1 5 9 EQW\n";
    let circuit = read(&text.replacen('6', "5", 1)).unwrap();
    let constant = [Gate::Xor(0, 0), Gate::Inv(6)];
    assert_eq!(
        gates(&circuit),
        [&[Gate::And(0, 2), Gate::And(1, 3)], &constant[..]].concat()
    );
    assert_eq!(circuit.output_wires(), [4, 7, 6, 5]);
    assert_eq!(circuit.evaluate(&bits("1110")), bits("1100"));
}

/// MOTION's circuits of floating-point numbers use these gates.
#[test]
fn or_and_not_are_read() {
    let circuit = read("2 4\n1 2\n1 2\n\n2 1 0 1 2 OR\n1 1 0 3 NOT\n").unwrap();
    for (inputs, outputs) in [("00", "01"), ("01", "11"), ("10", "10"), ("11", "10")] {
        assert_eq!(circuit.evaluate(&bits(inputs)), bits(outputs), "{inputs}");
    }
    assert_eq!(circuit.statistics().and, 1);
}

/// Comments stand at a header, at a gate line and at the end of a file, as in mpz's files. One
/// comment is longer than the buffer.
#[test]
fn comments_are_skipped_wherever_they_stand() {
    let plain = "2 4\n2 1 1\n1 2\n\n2 1 0 1 2 XOR\n2 1 0 1 3 AND\n";
    let long = format!("# {}", "2 1 0 1 2 XOR ".repeat(20_000));
    let texts = [
        format!("// half adder\n{plain}# end"),
        format!("{long}\n{plain}{long}"),
        plain.replace('\n', " // two 2\r\n"),
        plain.replace('\n', "\t# 3\n#\n//x\n"),
        plain.replace("\n\n", "\n#\n"),
    ];
    for text in &texts {
        let shown = &text[..text.len().min(60)];
        assert_eq!(read(text), read(plain), "{shown:?}");
    }
    assert!(read(&plain.replace("XOR", "XOR / 1")).is_err());
    assert!(read(&plain.replace("2 4", "2 // 4")).is_err());
}

/// A comment between header and gates is not the empty line or the gate that marks the old format.
#[test]
fn comments_tell_no_formats_apart() {
    let comment = "// AND\n  # XOR\n";
    let fashion = read("1 3\n2 1 1\n1 1\n2 1 0 1 2 AND\n").unwrap();
    let text = format!("1 3\n2 1 1\n{comment}1 1 # XOR\n2 1 0 1 2 AND\n");
    assert_eq!(read(&text), Ok(fashion));
    let old = read("1 4\n2 1 1\n\n2 1 0 2 3 AND\n").unwrap();
    for text in [
        format!("1 4\n2 1 1\n{comment}\n2 1 0 2 3 AND\n"),
        format!("1 4\n2 1 1\n{comment}2 1 0 2 3 AND\n"),
    ] {
        assert_eq!(read(&text).as_ref(), Ok(&old), "{text:?}");
    }
}

/// Outputs are the last announced wires, even if nothing drives some wires before them.
#[test]
fn a_wire_that_nothing_drives_and_nothing_reads_is_no_error() {
    let circuit = read("2 9\n2 1 1\n1 2\n\n2 1 0 1 7 XOR\n2 1 0 1 8 AND\n").unwrap();
    for (inputs, outputs) in [("00", "00"), ("01", "10"), ("10", "10"), ("11", "01")] {
        assert_eq!(circuit.evaluate(&bits(inputs)), bits(outputs), "{inputs}");
    }
    let mut file = Vec::new();
    write_bristol(
        &circuit,
        &mut file,
        BristolFormat::Fashion,
        BitOrder::AsGiven,
    )
    .unwrap();
    assert!(
        file.starts_with(b"2 4\n"),
        "what is written stays the standard form"
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let plain = "1 3\n2 1 1\n1 1\n2 1 0 1 2 AND\n";
    assert_eq!(read(&format!("\u{feff}{plain}")), read(plain));
    assert!(read(&format!("\u{feff}\u{feff}{plain}")).is_err());
}

#[test]
fn a_mand_of_one_is_an_and() {
    let circuit = read("1 3\n1 2\n1 1\n\n2 1 0 1 2 MAND\n").unwrap();
    assert_eq!(gates(&circuit), [Gate::And(0, 1)]);
}

#[test]
fn the_bit_order_applies_to_each_value() {
    let text = "2 34\n2 16 16\n1 2\n\n2 1 0 16 32 XOR\n2 1 15 31 33 AND\n";
    let read = |order| read_bristol(text.as_bytes(), &Import { order, ..AS_GIVEN }).unwrap();
    assert_eq!(
        gates(&read(BitOrder::AsGiven)),
        [Gate::Xor(0, 16), Gate::And(15, 31)]
    );
    assert_eq!(
        gates(&read(BitOrder::ReversedBytes)),
        [Gate::Xor(8, 24), Gate::And(7, 23)]
    );
    assert_eq!(
        gates(&read(BitOrder::ReversedBits)),
        [Gate::Xor(7, 23), Gate::And(8, 24)]
    );
    assert_eq!(
        gates(&read(BitOrder::Reversed)),
        [Gate::Xor(15, 31), Gate::And(0, 16)]
    );
    assert_eq!(read(BitOrder::ReversedBytes).output_wires(), [32, 33]);
    assert_eq!(read(BitOrder::Reversed).output_wires(), [33, 32]);
}

/// Files (`/` ends a line, `H` is a valid header), the start of the error, and the text found.
const WRONG_FILES: &str = r#"
(nothing) | line 1, number of gates | the end of the file
x | line 1, number of gates | "x"
2/ | line 1, number of wires | the end of the line
2 4 4/ | line 1, end of line | "4"
2 4/ | line 2, input values | the end of the file
2 4/2 1 1 1 1/1 1/ | line 2, widths of values | [2, 1, 1, 1, 1]
2 4/2 1 1/2 1/ | line 3, widths of values | [2, 1]
2 4/2 1 0/1 1/ | line 2, widths of values | [1, 0]
2 4/2 1 1/0/ | line 3, widths of values | []
3 4/2 1 1/1 1/ | line 1, number of wires: expected 5 at least | 4
0 2/2 1 1/1 3/ | line 1, number of wires: expected 3 at least | 2
H | line 5, gate: expected gate line 1 of 2 | the end of the file
H2 1 0 1 2 XOR/ | line 6, gate: expected gate line 2 of 2 | the end of the file
H2 1 0 1 2 XOR/2 1 0 1 3 | line 6, name of the gate | the end of the file
H2 1 0 1 2/ | line 5, name of the gate: expected XOR, AND or OR | the end of the line
H2 1 0 1 2 NOR/ | line 5, name of the gate: expected XOR, AND or OR | "NOR"
H2 1 0 1 2 OR#/ | line 5, name of the gate: expected XOR, AND or OR | "OR#"
H1 1 0 2 XOR/ | line 5, name of the gate: expected INV, EQ or EQW | "XOR"
H2 1 0 1 2 XOR 3/ | line 5, end of line | "3"
H3 1 0 1 0 2 AND/ | line 5, numbers of inputs and outputs | 3 and 1
H0 0 AND/ | line 5, numbers of inputs and outputs | 0 and 0
H2 1 0 3 2 XOR/ | line 5, second input wire: expected a wire that | wire 3
H2 1 2 0 2 XOR/ | line 5, first input wire: expected a wire that | wire 2
H1 1 4 2 INV/ | line 5, input wire: expected a wire below 4 | wire 4
H1 1 0 4 INV/ | line 5, output wire: expected a wire below 4 | wire 4
H1 1 0 1 INV/ | line 5, output wire: expected a wire from 2 on | wire 1
H1 1 0 2 INV/1 1 0 2 INV/ | line 6, output wire | wire 2, which an earlier line
H1 1 2 2 EQ/ | line 5, constant: expected 0 or 1 | 2
H4 2 0 1 1 0 2 3 AND/ | line 5, name of the gate: expected MAND | "AND"
H1 1 0 2 INV/1 1 0 3 INV/1 1 0 3 INV/ | line 7, end of file | "1"
2 5/2 1 1/1 1/1 1 0 2 INV/1 1 0 3 INV/ | line 6, output value: expected a wire that | wire 4
2 6/2 1 1/1 1/1 1 0 2 INV/2 1 2 3 5 AND/ | line 5, second input wire: expected a wire that | wire 3
"#;

#[test]
fn what_is_wrong_is_named_by_line_and_field() {
    for case in WRONG_FILES.trim().lines() {
        let [file, start, found] = case.splitn(3, " | ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let header = "2 4\n2 1 1\n1 1\n\n";
        let file = file
            .replace("(nothing)", "")
            .replace('/', "\n")
            .replacen('H', header, 1);
        let error = read(&file).expect_err(case);
        let message = error.to_string();
        assert!(
            matches!(error, CircuitError::File { .. }),
            "{case}: {message}"
        );
        assert!(message.starts_with(start), "{case}: {message}");
        let (_, after) = message.split_once(", found ").unwrap();
        assert!(after.starts_with(found), "{case}: {message}");
    }
}

#[test]
fn what_announces_too_much_is_refused_at_once() {
    let limits = Limits {
        gates: 10,
        port_bits: 20,
        ports: 3,
    };
    let import = Import { limits, ..AS_GIVEN };
    let cases = [
        ("11 40\n", "line 1 announces 11 gates; the limit is 10"),
        (
            "10 1073741825\n",
            "line 1 announces 1073741825 wires; the limit is 268435456",
        ),
        (
            "10 40\n2 10 11\n1 1\n",
            "line 2 announces 21 input bits; the limit is 20",
        ),
        (
            "10 40\n1 10\n2 20 4294967295\n",
            "line 3 announces 4294967315 output bits",
        ),
        (
            "10 40\n4 1 1 1 1\n1 1\n",
            "line 2 announces 4 values; the limit is 3",
        ),
    ];
    for (text, start) in cases {
        let error = read_bristol(text.as_bytes(), &import).unwrap_err();
        assert!(matches!(error, CircuitError::FileLimit { .. }), "{error}");
        assert!(error.to_string().starts_with(start), "{error}");
    }
    // Ten gigabytes of gates, by the default limits.
    let error = read("600000000 700000000\n2 64 64\n1 64\n\n").unwrap_err();
    assert!(
        matches!(error, CircuitError::FileLimit { what: "gates", .. }),
        "{error}"
    );
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    let text = "3 6\n2 1 2\n1 2\n\n2 1 0 1 3 XOR\n1 1 3 4 INV\n4 2 0 1 2 3 5 6 MAND\n";
    let text = text.replacen("3 6", "3 7", 1);
    read(&text).unwrap();
    // The file is still complete without the end of the last line.
    for end in 0..text.len() - 1 {
        assert!(read(&text[..end]).is_err(), "{:?}", &text[..end]);
    }
}

#[test]
fn the_old_format_refuses_ports_that_it_cannot_write() {
    let port = |name: &str| Port::new(name, Type::BIT);
    let three = vec![port("a"), port("b"), port("c")];
    let circuit = Circuit::new(three, vec![port("d")], [], vec![0]).unwrap();
    let mut file = Vec::new();
    let error =
        write_bristol(&circuit, &mut file, BristolFormat::Old, BitOrder::AsGiven).unwrap_err();
    assert!(matches!(error, CircuitError::Unwritable { .. }));
    assert_eq!(
        error.to_string(),
        "the old Bristol format takes one or two input ports and one output port; the circuit \
         has 3 and 1"
    );
    assert!(file.is_empty());
}

const ORDERS: [BitOrder; 4] = [
    BitOrder::AsGiven,
    BitOrder::ReversedBytes,
    BitOrder::ReversedBits,
    BitOrder::Reversed,
];

/// Generates circuits with the ports of a file. Outputs are arbitrary wires.
fn circuits() -> impl Strategy<Value = Circuit> {
    let widths = || prop::collection::vec(1_u32..20, 1..4);
    let gates = prop::collection::vec(
        (0_usize..3, any::<prop::sample::Index>(), any::<u32>()),
        0..200,
    );
    (widths(), widths(), gates, any::<u64>()).prop_map(|(inputs, outputs, gates, seed)| {
        let input_bits: u32 = inputs.iter().sum();
        let gates = gates.into_iter().enumerate().map(|(i, (kind, a, b))| {
            let limit = input_bits + i as u32;
            let (a, b) = (a.index(limit as usize) as u32, b % limit);
            [Gate::Xor(a, b), Gate::And(a, b), Gate::Inv(a)][kind]
        });
        let gates: Vec<Gate> = gates.collect();
        let wires = u64::from(input_bits) + gates.len() as u64;
        let bits = u64::from(outputs.iter().sum::<u32>());
        // The low half of the seeds takes the last wires, which need no copies if they are gates.
        let output = |i: u64| match seed % 2 {
            0 if wires >= bits => wires - bits + i,
            _ => seed.wrapping_add(i.wrapping_mul(seed | 1)) % wires,
        };
        let output_wires = (0..bits).map(|i| output(i) as u32).collect();
        Circuit::new(
            ports("in", &inputs),
            ports("out", &outputs),
            gates,
            output_wires,
        )
        .unwrap()
    })
}

/// Whether every output is a separate gate.
fn needs_no_copies(circuit: &Circuit) -> bool {
    let mut wires = circuit.output_wires().to_vec();
    wires.sort_unstable();
    wires.dedup();
    wires.len() == circuit.output_bits() && wires[0] as usize >= circuit.input_bits()
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        circuit in circuits(), order in prop::sample::select(&ORDERS)
    ) {
        let mut file = Vec::new();
        write_bristol(&circuit, &mut file, BristolFormat::Fashion, order).unwrap();
        let again = read_bristol(&*file, &Import { order, ..AS_GIVEN }).unwrap();
        if needs_no_copies(&circuit) {
            prop_assert_eq!(&again, &circuit);
        }
        prop_assert_eq!((again.inputs(), again.outputs()), (circuit.inputs(), circuit.outputs()));
        let inputs = 1..=circuit.input_bits() as u64;
        let inputs: Vec<u64> = inputs.map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        prop_assert_eq!(again.evaluate_lanes(&inputs), circuit.evaluate_lanes(&inputs));
        if circuit.inputs().len() <= 2 && circuit.outputs().len() == 1 {
            let mut old = Vec::new();
            write_bristol(&circuit, &mut old, BristolFormat::Old, order).unwrap();
            let import = Import { format: Some(BristolFormat::Old), order, ..AS_GIVEN };
            prop_assert_eq!(&read_bristol(&*old, &import).unwrap(), &again);
            prop_assert_eq!(&read_bristol(&*old, &Import { order, ..AS_GIVEN }).unwrap(), &again);
        }
    }

    #[test]
    fn any_text_gives_a_circuit_or_an_error(
        text in "[0-9]{1,2} [0-9]{1,2}\n([0-9 \n#/XORANDINVEQWMT]|[0-2] 1 [0-9] ){0,60}"
    ) {
        let _ = read(&text);
    }

    #[test]
    fn a_changed_byte_gives_a_circuit_or_an_error(
        circuit in circuits(), place in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut file = Vec::new();
        write_bristol(&circuit, &mut file, BristolFormat::Fashion, BitOrder::AsGiven).unwrap();
        let place = place.index(file.len());
        file[place] = byte;
        let _ = read_bristol(&*file, &AS_GIVEN);
    }
}
