//! Merging sorted entries two by two, without unpredictable branches.

use super::form::Entry;

/// Merges all into the first: by twos, then the results by twos, and so on.
pub(super) fn merge_all<'f, P: Copy + Ord>(
    found: &'f mut [Vec<Entry<P>>],
    spare: &mut Vec<Entry<P>>,
) -> &'f [Entry<P>] {
    let mut apart = 1;
    while apart < found.len() {
        for group in found.chunks_mut(2 * apart) {
            if group.len() > apart {
                let (ours, theirs) = group.split_at_mut(apart);
                merge(&ours[0], &theirs[0], spare);
                std::mem::swap(&mut ours[0], spare);
            }
        }
        apart *= 2;
    }
    found.first().map_or(&[], Vec::as_slice)
}

/// Merges two sorted sequences, adding up what both hold.
#[allow(
    clippy::needless_bitwise_bool,
    reason = "`||` is a branch that nobody can predict"
)]
fn merge<P: Copy + Ord>(ours: &[Entry<P>], theirs: &[Entry<P>], out: &mut Vec<Entry<P>>) {
    out.clear();
    out.reserve(ours.len() + theirs.len());
    let (mut here, mut there) = (0, 0);
    let mut alike = true;
    while let (Some(our), Some(their)) = (ours.get(here), theirs.get(there)) {
        let (is_ours, is_theirs) = (our.hash <= their.hash, their.hash <= our.hash);
        let apart = our.hash != their.hash;
        alike &= apart | (our.pretoken == their.pretoken);
        out.push(Entry {
            hash: our.hash.min(their.hash),
            // By index: a choice that is made without a branch.
            pretoken: [their, our][usize::from(is_ours)].pretoken,
            count: our.count * u64::from(is_ours) + their.count * u64::from(is_theirs),
        });
        here += usize::from(is_ours);
        there += usize::from(is_theirs);
    }
    out.extend_from_slice(&ours[here..]);
    out.extend_from_slice(&theirs[there..]);
    if !alike {
        merge_unlike(ours, theirs, out);
    }
}

/// `merge` where two pre-tokens have one hash.
#[cold]
fn merge_unlike<P: Copy + Ord>(ours: &[Entry<P>], theirs: &[Entry<P>], out: &mut Vec<Entry<P>>) {
    out.clear();
    let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
    while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
        let (our_place, their_place) = (our.place(), their.place());
        let mut entry = **if our_place <= their_place { our } else { their };
        if our_place == their_place {
            entry.count += their.count;
        }
        out.push(entry);
        ours.next_if(|_| our_place <= their_place);
        theirs.next_if(|_| their_place <= our_place);
    }
    out.extend(ours.chain(theirs));
}
