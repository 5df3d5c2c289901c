//! The named split rules and their regular expressions.

/// A named split rule that has a native scanner.
///
/// ```
/// use bpefleet_core::scan::Pattern;
///
/// assert_eq!(Pattern::from_name("qwen2"), Some(Pattern::Qwen2));
/// assert_eq!(Pattern::Qwen2.name(), "qwen2");
/// assert!(Pattern::Qwen2.regex().contains(r"|\p{N}|"));
/// assert_eq!(Pattern::from_name("deepseek-v3"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// GPT-2, and r50k and p50k, which cut alike.
    Gpt2,
    /// `cl100k_base` as tiktoken publishes it.
    Cl100k,
    /// The older form of the GPT-4 rule, rustbpe's default.
    Gpt4,
    /// nanochat: GPT-4 with numbers of at most two digits.
    Nanochat,
    /// Llama 3.
    Llama3,
    /// Qwen 2 and later: Llama 3 with single digits.
    Qwen2,
    /// `o200k_base`, and Llama 4, which cut alike.
    O200k,
    /// Mistral's Tekken: `o200k_base` without contractions, with single digits.
    Tekken,
}

macro_rules! letters_of_any_case {
    ($suffix:literal) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            $suffix,
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            $suffix,
        )
    };
}

impl Pattern {
    /// Every named pattern.
    pub const ALL: [Self; 8] = [
        Self::Gpt2,
        Self::Cl100k,
        Self::Gpt4,
        Self::Nanochat,
        Self::Llama3,
        Self::Qwen2,
        Self::O200k,
        Self::Tekken,
    ];

    /// The pattern of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// The name by which users ask for the pattern.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "gpt2",
            Self::Cl100k => "cl100k",
            Self::Gpt4 => "gpt4",
            Self::Nanochat => "nanochat",
            Self::Llama3 => "llama3",
            Self::Qwen2 => "qwen2",
            Self::O200k => "o200k",
            Self::Tekken => "tekken",
        }
    }

    /// The regular expression whose matches are the pre-tokens, in the dialect of
    /// the Python `regex` package.
    #[must_use]
    pub fn regex(self) -> &'static str {
        match self {
            Self::Gpt2 => {
                r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
            }
            Self::Cl100k => {
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
            }
            Self::Gpt4 => {
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
            }
            Self::Nanochat => {
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
            }
            Self::Llama3 => {
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            }
            Self::Qwen2 => {
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            }
            Self::O200k => concat!(
                letters_of_any_case!(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"),
                r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
            Self::Tekken => concat!(
                letters_of_any_case!(""),
                r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
        }
    }
}
