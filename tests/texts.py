"""Texts to train and encode: all made here or taken from the running Python, none downloaded.

A `Text` is a list of documents that are known beforehand, and the special tokens that join them:
a trainer that is given the whole text has to find those documents again.
"""

from __future__ import annotations

import random
import sysconfig
import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import chain, product
from pathlib import Path
from pydoc_data.topics import topics
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDOFTEXT = "<|endoftext|>"
NESTED = "<|endoftext|><|next|>"
INNER = "endoftext"


@dataclass(frozen=True)
class Text:
    """Documents, and the special tokens between them: the first, the second … and again."""

    name: str
    documents: tuple[str, ...]
    specials: tuple[str, ...] = (ENDOFTEXT,)

    @property
    def joined(self) -> str:
        """The whole text: documents and special tokens in turn."""
        return "".join(chain.from_iterable(zip(self.documents, self._joints(), strict=True)))

    def _joints(self) -> Iterator[str]:
        last = len(self.documents) - 1
        for index in range(last):
            yield self.specials[index % len(self.specials)]
        yield ""

    def __repr__(self) -> str:
        """The name only: test reports show it as a parameter."""
        return f"Text({self.name!r})"


@cache
def english(size: int = 300_000) -> Text:
    """The Python language reference, topic by topic."""
    return Text("english", _until(size, (topics[topic] for topic in sorted(topics))))


@cache
def code(size: int = 300_000) -> Text:
    """Sources of the standard library: each file a document."""
    library = Path(sysconfig.get_path("stdlib"))
    sources = sorted(chain(library.glob("asyncio/*.py"), library.glob("email/*.py")))
    return Text("code", _until(size, (path.read_bytes().decode() for path in sources)))


def _until(size: int, documents: Iterator[str]) -> tuple[str, ...]:
    """The first documents that make up so many characters."""
    taken: list[str] = []
    while sum(map(len, taken)) < size:
        taken.append(next(documents))
    return tuple(taken)


@cache
def multilingual() -> Text:
    """Article 1 in many languages and scripts, then the same sentences in mixed documents."""
    drawn = random.Random(1948)
    sentences = [part for passage in ARTICLE_1.values() for part in passage.split("\n")]
    mixed = [
        drawn.choice([" ", "\n", "\n\n", "\r\n", "", " — "]).join(drawn.choices(sentences, k=6))
        for _ in range(120)
    ]
    return Text("multilingual", (*ARTICLE_1.values(), *mixed))


@cache
def adversarial() -> Text:
    """Whatever a pre-tokeniser may trip over, by hand."""
    return Text("adversarial", ("", "", *TROUBLE, *(a + b for a, b in _neighbours()), "", ""))


@cache
def exhaustive() -> Text:
    """Every string of one to four of the atoms that the patterns tell apart: each a document."""
    atoms = (" ", "\n", "\r", "a", "S", "1", "'", "/")
    strings = chain.from_iterable(product(atoms, repeat=length) for length in range(1, 5))
    return Text("exhaustive", tuple(map("".join, strings)))


@cache
def overlapping() -> Text:
    """Special tokens that contain one another: where several match, the longest counts.

    No document contains one, and none begins or ends so that a neighbour would grow.
    """
    specials = (INNER, ENDOFTEXT, NESTED)
    partial = ("end", "of text", "<|endof", "text|>", "|><|", "<|ENDOFTEXT|>", "< |end|>")
    trouble = (document for document in TROUBLE if INNER not in document)
    return Text("overlapping", ("", *partial, *trouble, *partial, ""), specials)


def _neighbours() -> Iterator[tuple[str, str]]:
    """Each two of the trouble spots side by side."""
    spots = [spot for spot in SPOTS if spot.strip(" ")]
    return product(spots, spots)


ARTICLE_1 = {
    "en": "All human beings are born free and equal in dignity and rights.\n"
    "They are endowed with reason and conscience and should act towards one another in a spirit "
    "of brotherhood.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits.\n"
    "Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un "
    "esprit de fraternité.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren.\n"
    "Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geiste der Brüderlichkeit "
    "begegnen.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como "
    "están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos.\n"
    "Dotados de razão e de consciência, devem agir uns para com os outros em espírito de "
    "fraternidade.",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti.\n"
    "Essi sono dotati di ragione e di coscienza e devono agire gli uni verso gli altri in spirito "
    "di fratellanza.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.\n"
    "Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.\n"
    "Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.",
    "hu": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van.\n"
    "Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell "
    "hogy viseltessenek.",
    "fi": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan.\n"
    "Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden "
    "hengessä.",
    "is": "Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum.\n"
    "Menn eru gæddir vitsmunum og samvizku, og ber þeim að breyta bróðurlega hverjum við annan.",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.\n"
    "Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket "
    "etmelidirler.",
    "vi": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền.\n"
    "Mọi con người đều được tạo hoá ban cho lý trí và lương tâm và cần phải đối xử với nhau trong "
    "tình anh em.",
    "sw": "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa.\n"
    "Wote wamejaliwa akili na dhamiri, hivyo yapasa watendeane kindugu.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"
    "Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах.\n"
    "Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі "
    "братерства.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.\n"
    "Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με "
    "πνεύμα αδελφοσύνης.",
    "hy": "Բոլոր մարդիկ ծնվում են ազատ ու հավասար՝ իրենց արժանապատվությամբ և իրավունքներով։\n"
    "Նրանք ունեն բանականություն և խիղճ, և պարտավոր են միմյանց նկատմամբ վարվել եղբայրության ոգով։",
    "ka": "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.\n"
    "მათ მინიჭებული აქვთ გონება და სინდისი და ერთმანეთის მიმართ უნდა იქცეოდნენ ძმობის "
    "სულისკვეთებით.",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.\n"
    "כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה.",
    "ar": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق.\n"
    "وقد وهبوا عقلًا وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.",
    "fa": "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند.\n"
    "همه دارای عقل و وجدان هستند و باید نسبت به یکدیگر با روح برادری رفتار کنند.",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।\n"
    "उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
    "bn": "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।\n"
    "তাঁদের বিবেক এবং বুদ্ধি আছে; সুতরাং সকলেরই একে অপরের প্রতি ভ্রাতৃত্বসুলভ মনোভাব নিয়ে আচরণ করা উচিত।",
    "ta": "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும் உரிமைகளிலும் "
    "சமமானவர்கள்.\n"
    "அவர்கள் நியாயத்தையும் மனச்சாட்சியையும் இயற்பண்பாகப் பெற்றவர்கள்.",
    "th": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ\n"
    "ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ",
    "my": "လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့်လည်းကောင်း၊ "
    "တူညီလွတ်လပ်သော အခွင့်အရေးများဖြင့်လည်းကောင်း "
    "မွေးဖွားလာသူများ ဖြစ်သည်။",
    "am": "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።\n"
    "የተፈጥሮ ማስተዋልና ሕሊና ስላለው አንዱ ሌላውን በወንድማማችነት መንፈስ መመልከት ይገባዋል።",
    "zh": "人人生而自由,在尊严和权利上一律平等。\n他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "zh-Hant": "人人生而自由，在尊嚴和權利上一律平等。\n"
    "他們賦有理性和良心，並應以兄弟關係的精神相對待。",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"
    "人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n"
    "인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.",
}
"""Article 1 of the Universal Declaration of Human Rights (public domain), a sentence a line."""

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The 25 characters with the Unicode property White_Space."""

NOT_WHITE_SPACE = "\x00\x1c\x1d\x1e\x1f\x7f\u180e\u200b\u200d\u2060\ufeff"
"""What Python's str.isspace, or a reader, may take for white space; the property is not theirs."""

SPOTS = (
    *(" ", "  ", "   ", "\n", "\n\n", "\r\n", "\r", "\t", " \t ", "\n ", " \n", "\x0b", "\x85"),
    *("\xa0", "\u2028", "\u3000", "\x1c", "\x1f", "\u200b", "\u200d", "\ufeff", "\x00"),
    *("a", "Z", "s", "ſ", "K", "é", "e\u0301", "\u0301", "ß", "ǅ", "ʰ", "ª", "ı", "İ", "中", "あ"),
    *("ア", "한", "ا", "ש", "न", "ि", "ๆ", "𝒳", "𐐀"),
    *("0", "12", "123", "1234", "٣", "Ⅻ", "½", "²", "१", "𝟙", "〇", "四"),
    *("・", "゠", "゛", "\u3099", "ー"),
    *("'", "’", "'s", "'S", "'ſ", "'re", "'RE", "'Ve", "'ll", "'lL", "'m", "'d", "'t", "'x", "''"),
    *("!", "/", "//", "\\", "_", "-", ".", "…", "¿", "€", "^", "`", "$", "«", "★", "|>", "<|"),
    *("😀", "👍🏽", "👩‍👩‍👧‍👦", "🇩🇪", "❤️", "1️⃣", "\U000e0061"),
)
"""Where patterns differ, or engines do: the atoms of the adversarial texts."""

TROUBLE = (
    WHITE_SPACE,
    WHITE_SPACE[::-1] + "x",
    "".join(space * 3 + "x" for space in WHITE_SPACE),
    "".join("x" + space for space in WHITE_SPACE),
    NOT_WHITE_SPACE,
    "".join(f"x{other}{other} y" for other in NOT_WHITE_SPACE),
    "a\n  ",
    "a\n  b",
    "a \n \n  \n",
    "  a   b    c\t\td\t e \t f  ",
    "one\r\ntwo\r\n\r\nthree\rfour\n\r five\r\n   ",
    "\n\n\n\nint main() {\n\tif (x)\t{\n\t\treturn  0;\n\t}\n}\n\n\n",
    "I'm you're he's they'll we've she'd can't I'M YOU'RE HE'S THEY'LL WE'VE SHE'D CAN'T",
    "I’m you’re he’s they’ll we’ve 'quoted' ’quoted’ ''twice'' rock'n'roll 'tis o'clock",
    "it'ſ IT'ſ 'ſ'ſ ſ'ſ 'slow 'SLOW 'Ll 'rE 'd'm't",
    "0 1 12 123 1234 12345 123456 1,234,567.89 1e10 0x1F ٣٤٥٦ १२३४५ ①②③④ ⅠⅡⅢⅣ ½⅓¼ x² 𝟙𝟚𝟛𝟜 1٣१",
    "camelCase PascalCase ALLCAPS mIxEd HTTPServer iPhone ǅungla ǄUNGLA ʰello aʰB ªº İstanbul ıI",
    "café cafe\u0301 \u0301start a\u0301\u0301\u0301b n\u0303 \u0303 1\u0301 !\u0301 क्षि ก็ שָׁלוֹם",
    "😀😃😄 👍🏽👍🏿 👩‍👩‍👧‍👦👨‍💻 🇩🇪🇫🇷 ❤️❤ 1️⃣2️⃣ a😀b 😀 \u200d \ufe0f",
    "!!! ... --- === ### /// ?!?! !\n!\r\n!/ !\n/\n a/b/c //\n/// \n //",
    "https://example.org/a_b?c=d&e=%20#f C:\\dir\\new user@example.org $1,000 50% #tag @name",
    "中文字符，没有空格。日本語カタカナひらがな漢字、한국어 단어 中a文1字 あA1アa",
    "ジョン・スミス・ジュニア゠ドー ー・ヿ゛゜ か\u3099は\u309a 〜、。「中・文」・\n・1・a",
    "\ufeffBOM first, \ufeff and again\ufeff",
    "a" * 300,
    " " * 300 + "x",
    "\n" * 100,
    "ab" * 150 + "ba" * 75,
    "9" * 100,
    "é" * 100 + "e\u0301" * 100,
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 4,
    "-" * 80 + "\n" + "=" * 80 + "\r\n" + "*/" * 40,
    "<|endoftext",
    "endoftext|>",
    "<|>",
    "<||>",
    "|><|",
    "< |endoftext| >",
    "<|ENDOFTEXT|>",
    "\u10ff\uffff\ufffd\U0010ffff \ue000\U000f0000 \ud7ff",
)
"""Documents that have caught trainers and encoders before."""


def trouble(*, max_size: int = 30) -> st.SearchStrategy[str]:
    """Texts of trouble spots, white space and characters from anywhere in Unicode."""
    atoms = st.one_of(
        st.sampled_from(SPOTS),
        st.sampled_from(WHITE_SPACE + NOT_WHITE_SPACE),
        st.sampled_from("aAsStTdDmMlLvVeErR '\n\r\t 0123456789.,!/-"),
        _settled_characters(),
    )
    return st.lists(atoms, max_size=max_size).map("".join)


def trouble_with(specials: tuple[str, ...], *, max_size: int = 8) -> st.SearchStrategy[str]:
    """Texts in which special tokens, whole and in parts, stand anywhere."""
    parts = [special[:cut] for special in specials for cut in (1, 2, -1) if special[:cut]]
    atoms = st.one_of(trouble(max_size=6), st.sampled_from(specials), st.sampled_from(parts))
    return st.lists(atoms, max_size=max_size).map("".join)


def settled(character: str) -> bool:
    """Whether a character's category has long been the same in every engine's edition of Unicode.

    So it is for those of Unicode 3.2; U+0295 alone changed its category in a recent one.
    """
    return unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Cs") and character != "\u0295"


def _settled_characters() -> st.SearchStrategy[str]:
    return st.characters(exclude_categories=["Cs", "Cn"]).filter(settled)
