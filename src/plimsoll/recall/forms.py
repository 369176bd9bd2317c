"""Forms of English words that no ending tells, and everyday words that stand for one another."""

from __future__ import annotations

_IRREGULAR = """
beat beaten; begin began begun; bend bent; bleed bled; blow blew blown
break broke broken; bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen; creep crept
deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten
fall fell fallen; feed fed; fight fought; flee fled; fly flew flown; forbid forbade forbidden
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen
grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; lay laid; lead led
leap leapt; learn learnt; lend lent; light lit; lose lost; meet met; pay paid
ride rode ridden; ring rang rung; run ran; seek sought; sell sold; send sent; sew sewn
shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat
sleep slept; slide slid; speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen; stick stuck; sting stung
strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung; teach taught; tear tore torn
throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove woven
weep wept; win won; write wrote written
man men; woman women; child children; person people; foot feet; tooth teeth; mouse mice; life lives; wife wives; half halves
knife knives; wolf wolves; shelf shelves
"""

_ALIKE = """
kid child son daughter toddler baby; mom mother mum; dad father; grandma grandmother; grandpa grandfather; sibling brother sister
spouse husband wife partner marry; family kid relative parent; friend buddy pal; boss manager; colleague coworker teammate
job work career profession; employer company; trip travel vacation holiday journey visit; movie film; show series; picture photo
photograph pic image; painting drawing art; bike bicycle cycle; car vehicle; phone mobile; house home apartment; city town
country nation; shop store; doctor physician clinic; ill sick disease; injury hurt accident; dog puppy pet; cat kitten pet
animal pet; food meal dish cook recipe; dessert cake cookie; book novel read; author writer; music song band; concert festival
sport game; workout exercise gym fitness; run jog race; hike trail; hobby interest activity enjoy; event party meeting festival
class course lesson workshop; school college university; exam test; prize award; contest competition tournament; gift present
buy purchase get; receive get; begin start; end finish complete; quit stop; fix repair; choose pick select; like love enjoy prefer
favourite favorite love; dislike hate; fear afraid scare; happy glad joy; sad upset; angry mad; tired exhausted; stress destress
relax; worry anxious; big large huge; small little tiny; smart clever; beautiful pretty; live reside; move relocate; born birth
birthday; die death; old age; young youth; money cash fund; price cost; cheap affordable; talk chat speak discuss; say tell mention
think believe opinion; help support assist volunteer; advice suggestion recommend suggest; plan intend; goal dream aim; learn study
teach mentor; make create build craft; join attend participate; lose miss; need require; allergy allergic; symptom pain
identity gender; relationship date single; charity donate fundraise; shelter homeless; church faith religion; nature outdoor
error exception failure fail; bug defect; function method; folder directory; delete remove; config configuration setting
database db; repository repo; environment env; documentation docs; authentication auth login; message msg; request req
parameter param argument; update upgrade; version release; test spec; command cmd; fix patch; crash panic; slow latency
"""


def _groups(text: str) -> list[tuple[str, ...]]:
    return [tuple(group.split()) for line in text.splitlines() for group in line.split(";") if group.strip()]


IRREGULAR = {form: base for base, *forms in _groups(_IRREGULAR) for form in forms}
"""A form of a word -> the word."""

ALIKE = _groups(_ALIKE)
"""Words of which one may stand for another in an answer."""
