"""Which text is ordinary in every vocabulary? PURE: our own words, clauses and code, embedded."""

# ruff: noqa: RUF001  (CJK text has full-width punctuation)

from __future__ import annotations

# Lower case, ASCII, all different: a vocabulary that was made for text has nearly all of them as one token each.
WORDS: tuple[str, ...] = tuple(
    """
a able about above across action add after again against age ago agree air all allow almost alone along already
also always am amount an and anger animal another answer any apple are area arm army around art as ask at away
baby back bad bag ball band bank bar base be bear beat beautiful became because become bed been before began begin
behind believe bell below best better between big bird bit black block blood blue board boat body bone book born
both bottom bought box boy branch bread break bridge bright bring broad broke brother brought brown build burn
business but buy by call came camp can capital captain car card care carry case cat catch caught cause cell cent
center century certain chair chance change character charge chart check chief child choose church circle city claim
class clean clear climb clock close cloud coast coat cold collect colony color column come common company compare
complete condition connect consider contain continue control cook cool copy corn corner correct cost cotton could
count country course cover cow create cross crowd cry current cut dance danger dark day dead deal dear death decide
deep degree depend desert design develop did differ difficult direct discuss distant divide do doctor does dog
dollar done door double down draw dream dress drink drive drop dry during each ear early earth ease east eat edge
effect egg eight either electric element else end enemy energy engine enough enter equal especially even evening
event ever every exact example except excite exercise expect experience experiment eye face fact fair fall family
famous far farm fast fat father favor fear feed feel feet fell felt few field fight figure fill final find fine
finger finish fire first fish fit five flat floor flow flower fly follow food foot for force forest form forward
found four fox fraction free fresh friend from front fruit full fun game garden gas gather gave general gentle get
girl give glad glass go gold gone good got govern grand grass gray great green grew ground group grow guess guide
gun had hair half hand happen happy hard has hat have he head hear heart heat heavy held help her here high hill
him his history hit hold hole home hope horse hot hour house how huge human hundred hunt hurry ice idea if imagine
in inch include indicate industry insect instant instrument interest invent iron is island it job join joy jump just
keep kept key kill kind king knew know lady lake land language large last late laugh law lay lead learn least leave
led left leg length less let letter level lie life lift light like line liquid list listen little live locate log
lone long look lost lot loud love low machine made magnet main major make man many map mark market mass master match
material matter may me mean measure meat meet melody men metal method middle might mile milk million mind mine
minute miss mix modern molecule moment money month moon more morning most mother motion mountain mouth move much
multiply music must my name nation natural nature near necessary neck need neighbor never new next night nine no
noise noon nor north nose note nothing notice noun now number object observe occur ocean of off offer office often
oh oil old on once one only open operate opposite or orange order original other our out over own oxygen page paint
pair paper paragraph parent part particular party pass past path pattern pay people perhaps period person phrase
picture piece pitch place plain plan plane planet plant play please plural poem point poor populate port pose
position possible post pound power practice prepare present press pretty print probable problem process produce
product proper property protect prove provide pull push put quart question quick quiet quite quotient race radio
rail rain raise ran range rather reach read ready real reason receive record red region remember repeat reply
represent require rest result rich ride right ring rise river road rock roll room root rope rose round row rub rule
run safe said sail salt same sand sat save saw say scale school science score sea search season seat second section
see seed seem segment select self sell send sense sent sentence separate serve set settle seven several shall shape
share sharp she sheet shell shine ship shoe shop shore short should shoulder shout show side sight sign silent
silver similar simple since sing single sister sit six size skill skin sky sleep slip slow small smell smile snow so
soft soil soldier solution solve some son song soon sound south space speak special speech speed spell spend spoke
spot spread spring square stand star start state station stay stead steam steel step stick still stone stood stop
store story straight strange stream street stretch string strong student study subject substance subtract success
such sudden suffix sugar suggest suit summer sun supply support sure surface surprise swim syllable symbol system
table tail take talk tall teach team teeth tell temperature ten term test than thank that thick thin thing think
third thought thousand three through throw tie time tiny tire to together told tone too took tool top total touch
toward town track trade train travel tree triangle trip trouble truck true try tube turn twenty two type under unit
until up us use usual valley value vary verb very view village visit voice vowel wait walk wall want war warm was
wash watch water wave way we wear weather week weight well went were west what wheel when where which while white
who whole whose why wide wife wild will win wind window wing winter wire wish with woman women wonder wood word work
world would write written wrong yard year yellow yes yet you young your
active actual author bottle budget bus cabin candle channel coffee contact crew data debate desk detail
digital engineer error fabric factor fashion festival focus fuel gate growth guest handle heaven hero hotel image impact
income input injury junior journal kitchen knife label layer lesson library limit lunch matrix medal meeting memory
mirror moral muscle network novel output palace panel parade partner permit pilot pocket police prison profit queen
""".split()  # noqa: SIM905  (a page of words reads like a page)
)

# Candidates for the word that stands between the others while they are learnt: short, and one token everywhere.
MARKERS: tuple[str, ...] = ("the", "of", "and", "to")

# Scripts that no vocabulary has words for: what comes back is unknowns, byte fragments and whatever the tokenizer
# puts around every text. None of it is ever sent.
RARE = "\u16a0\u16b1\u16de\U00010330\U00010341\U00010382\U000103a0"

COPY_INSTRUCTION = "copy what was said just now word for word"

# `needle`: a fact at the head, another at the tail, then the question. Nothing else of the prompt says these words, and
# no answer says two of them in a row by chance.
NEEDLES: tuple[str, str] = ("garden horse", "silver queen")
NEEDLE_FACTS: tuple[str, str] = (f"remember the first is {NEEDLES[0]}", f"remember the last is {NEEDLES[1]}")
NEEDLE_QUESTION = "answer what is the first and what is the last"

# Shapes of code; names come from WORDS, so that a long program repeats little. Each ends with a word or a number:
# some tokenizers draw a line break to the punctuation before it.
# The first shape opens a piece: nothing joins a word, a space and a comment.
CODE: tuple[str, ...] = (
    "  # {a} {b} {c}",
    "\n\ndef {a}_{b}({c}, {d}):\n    {e} = {c} + {d} * {n}\n    return {e}",
    "\n\nclass {a}{b}:\n    def __init__(self, {c}):\n        self.{c} = [{n}, {c}]\n        self.{d} = {e}",
    "\n\nfor {a} in range({n}):\n    if {a} % {m} == 0:\n        {b}.append({c}[{a}])\n    else:\n        {d} += 1",
    '\n\n{a} = {{"{b}": {n}, "{c}": "{d} {e}"}}\nassert {a}["{b}"] >= {m}',
    "\n\nwhile {a} < {n}:\n    {a}, {b} = {b}, {a} + {b}  # {c} {d}",
)

CJK: tuple[str, ...] = (
    "清晨的河面上有一层薄雾。",
    "老人把船推到水边，然后坐下来休息。",
    "我们走过一座石桥，看见对岸的灯光。",
    "図書館は駅から歩いて五分のところにあります。",
    "昨日の雨で、庭の花がすべて咲きました。",
    "学生们在教室里讨论昨天的实验结果。",
    "市场里的水果很新鲜，价格也不贵。",
    "窓を開けると、海の匂いがした。",
    "山に登る前に、地図をよく見てください。",
    "오늘은 바람이 조금 차갑습니다.",
    "아이들이 운동장에서 공을 차고 있어요.",
    "火车晚点了二十分钟，大家都在等。",
    "她写了一封长信，寄给远方的朋友。",
    "春天来了，树上长出了新的叶子。",
    "その本は机の上に置いてあります。",
    "기차가 도착하면 바로 연락해 주세요.",
    "这家工厂每个月生产三千台机器。",
    "医生建议他多喝水，早点睡觉。",
    "夕方になると、町は静かになる。",
    "他们花了整个下午修理那扇门。",
)
