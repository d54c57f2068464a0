"""Detects statements that people make about themselves, such as "I am unemployed", which are not opinions that groups could share. Pure.

Moderators can mark such comments as meta; this module recognizes the others by their first words.
"""

from __future__ import annotations

import re

#: The first words of statements about oneself, in English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese and Japanese.
_ABOUT_ME = re.compile(
    r"\s*(?:"
    r"(?:i|we)(?: am|'m|'ve| have| had| was| were| live| lived| work| worked| own| rent| drive| use| used| identify| grew up| moved|"
    r" attend| study| belong| earn| commute| grow| voted|"
    r" consider (?:myself|ourselves)| can speak)\b|(?:my|our) (?:\w+ )?"
    r"(?:age|job|income|home|house|family|employer|gender|household|children|qualification|education|residence|address|occupation|"
    r"profession|nationality|religion|ethnicity|salary) "
    r"|i(?: currently| usually| regularly| often)? (?:live|work|drive|use|rent|own|am|have)\b"
    r"|ich (?:bin|habe|wohne|lebe|arbeite|fahre|besitze|studiere)\b"
    r"|je (?:suis|vis|travaille|possède|loue)\b|j['’](?:ai|habite|étudie)\b"
    r"|(?:yo )?(?:soy|tengo|vivo|trabajo)\b|(?:io )?(?:sono|ho|abito|lavoro)\b|(?:eu )?(?:sou|tenho|moro|trabalho)\b"
    r"|ik (?:ben|heb|woon|werk|leef)\b|我(?:是|住|有|在|曾)|私は"
    r")",
    re.IGNORECASE,
)
#: Words that make such a statement an opinion after all.
_OPINION = re.compile(
    r"\b(?:should|must|ought|need(?:s|ed)? to|want|think|believe|support|favou?r|prefer|oppos|against|hope|wish|worr|concern|afraid|fear|"
    r"happy|glad|pleased|satisf|okay|ok with|content with|interested|"
    r"sad|angry|agree|disagree|feel|confident|optimistic|pessimistic|tired of|sick of|proud|willing|ready|sure|convinced|"
    r"no (?:problem|objection)|nothing against|would|sollte|muss|müss|finde|glaube|dafür|dagegen|will|möchte|hoffe|denke|devrai|faut|pense|"
    r"crois|veux|pour que|contre|debe|creo|quiero|pienso|favor|contra|penso|credo|voglio|acho|quero|moet|vind|wil|denk)"
    r"|應|应|希望|認為|认为|支持|反對|反对|べき|思",
    re.IGNORECASE,
)


def is_about_the_person(text: str) -> bool:
    """Whether a comment describes its author rather than an opinion."""
    plain = text.replace("’", "'").strip()
    return bool(_ABOUT_ME.match(plain)) and not _OPINION.search(plain)
