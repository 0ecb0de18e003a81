//! What must not compile, with the words that the compiler says: kept beside each case in `tests/refusals`.

#[test]
fn what_must_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refusals/*.rs");
}
