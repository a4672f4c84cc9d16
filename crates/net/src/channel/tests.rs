use super::*;

#[test]
fn records_of_tls_are_known_from_messages() {
    assert!(is_tls([21, 3, 3, 0, 2]) && is_tls([22, 3, 1, 2, 0]));
    assert!(!is_tls([21, 4, 3, 0, 2]) && !is_tls([23, 3, 3, 0, 2]) && !is_tls([22, 3, 5, 0, 2]));
}

#[test]
fn a_header_announces_at_most_four_gigabytes() {
    assert_eq!(header(1, 0x0403_0201).unwrap(), [1, 1, 2, 3, 4]);
    let length = u32::MAX as usize;
    assert_eq!(header(1, length).unwrap(), [1, 255, 255, 255, 255]);
    let error = header(1, length + 1).unwrap_err();
    assert!(matches!(error, NetError::TooLongToSend { kind: 1, .. }));
}
