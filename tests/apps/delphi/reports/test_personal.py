import pytest

from gateleg.apps.delphi.reports.personal import is_about_the_person


@pytest.mark.parametrize(
    "text",
    [
        "I am unemployed.",
        "My ethnicity is mixed.",
        "I'm a teacher in this town",
        "I live near the harbour",
        "My highest qualification is from secondary school",
        "I voted to Remain.",
        "My primary residence is in the San Juan Islands.",
        "I consider myself middle class.",
        "I can speak a European language.",
        "Ich bin Rentner.",
        "Je suis étudiante",
        "我是計程車司機",
    ],
)
def test_who_somebody_is_is_no_opinion(text: str) -> None:
    assert is_about_the_person(text)


@pytest.mark.parametrize(
    "text",
    [
        "Buses should run at night.",
        "I am against the bridge",
        "I have to say that rents must fall",
        "I think we need trees",
        "We speak too little of it",
    ],
)
def test_what_somebody_thinks_is_one(text: str) -> None:
    assert not is_about_the_person(text)
