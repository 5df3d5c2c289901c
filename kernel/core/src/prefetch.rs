//! Asking for a cache line before it is needed.
//!
//! Counting knows its next slots some dozens of tokens ahead, and the table is larger than the
//! cache: the request hides the wait. Where no such instruction is offered, this does nothing.

/// Brings `items[at]` towards the cache; any `at` is allowed, even outside the slice.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let place = items.as_ptr().wrapping_add(at).cast();
        // SAFETY: a prefetch reads nothing and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}
