//! Documents are counted as each alone. The first byte chooses the pattern; a byte below 8 ends a
//! document, and is part of none.

#![no_main]

use std::ops::ControlFlow;
use std::sync::LazyLock;

use bpefleet_core::count::{count, count_documents, CountError, Errors};
use bpefleet_core::scan::Pattern;
use bpefleet_core::specials::Specials;
use bpefleet_core::table::CountTable;
use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/common/mod.rs"]
mod common;

use common::map;

// Made once, as that takes longer than the rest.
static SPECIALS: LazyLock<Specials> =
    LazyLock::new(|| Specials::new(&["<|s|>", "<|", "é"]).expect("searchable"));

fuzz_target!(|input: &[u8]| {
    let Some((&choice, input)) = input.split_first() else {
        return;
    };
    let pattern = Pattern::ALL[usize::from(choice) % Pattern::ALL.len()];
    let mut go_on = |_| ControlFlow::Continue(());
    let mut count_one = |document: &[u8], errors, table: &mut CountTable| {
        count(document, pattern, &SPECIALS, errors, table, &mut go_on)
    };
    let (mut data, mut offsets) = (Vec::new(), vec![0]);
    let (mut expected, mut replaced, mut bad) = (CountTable::new(), 0, None);
    for document in input.split(|&byte| byte < 8) {
        replaced += count_one(document, Errors::Replace, &mut expected).expect("counted");
        if bad.is_none() {
            let error = count_one(document, Errors::Strict, &mut CountTable::new()).err();
            bad = error.map(|error| error.behind(data.len()));
        }
        data.extend_from_slice(document);
        offsets.push(data.len());
    }
    let counted = |errors| -> Result<_, CountError> {
        let mut table = CountTable::new();
        let mut go_on = |_| ControlFlow::Continue(());
        let specials = &SPECIALS;
        let replaced = count_documents(
            &data, &offsets, pattern, specials, errors, &mut table, &mut go_on,
        )?;
        Ok((map(&table), replaced))
    };
    assert_eq!(counted(Errors::Replace), Ok((map(&expected), replaced)));
    assert_eq!(counted(Errors::Strict).err(), bad);
});
