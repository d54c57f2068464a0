"""A second set of documents and questions, written when the rules were done. What was wrong at first sight led to corrections since."""

from __future__ import annotations

from tests.apps.rag.answering.labelled import Labelled


def _yes(question: str, *answer: str) -> Labelled:
    return Labelled(question, answer)


MUSEUM = """# Maritime Museum of Harwick

The museum shows ships and instruments from four centuries. Its oldest piece is a compass from 1587, made by Pieter Visser in Antwerp.
The collection was given to the town by the widow of the shipowner Edward Lyle in 1911. About 60,000 visitors come every year.

## Visiting

The museum is closed on Mondays. From April to October it opens at 10 a.m. and closes at 6 p.m.; in winter it closes at 4 p.m.
Guided tours start on the hour in the entrance hall and take 50 minutes. Large bags must be left in the lockers.

| Ticket | Price | Valid for |
| --- | --- | --- |
| Adult | 12 pounds | one day |
| Child | 5 pounds | one day |
| Family | 28 pounds | one day |
| Friends of the museum | 45 pounds | one year |

## Café

The café on the second floor serves soup, cakes and fish from the harbour. Tables can be reserved by telephone only.
"""

CONTRACT = """Rental agreement

1. The landlord lets the flat at 8 Quay Street to the tenant from 1 July 2026.
The rent is 940 pounds a month and is due on the third working day.
2. The tenant pays a deposit of two months' rent. It is returned within six weeks after the end of the tenancy.
3. Either party may end the agreement with three months' notice in writing.
4. Pets other than fish need the consent of the landlord. Smoking is not permitted in the stairwell.
5. The landlord repairs the heating. Small repairs of up to 75 pounds are paid by the tenant.
"""

RECIPES = """[{"dish": "Lentil soup", "minutes": 35, "serves": 4, "oven": "not needed", "allergens": "celery"},
 {"dish": "Apple crumble", "minutes": 55, "serves": 6, "oven": "190 degrees", "allergens": "gluten, milk"},
 {"dish": "Fish pie", "minutes": 70, "serves": 5, "oven": "200 degrees", "allergens": "fish, milk"}]"""

STAFF = """Name;Role;Room;Extension
Ada Moreau;Curator;2.14;4021
Ben Okafor;Ticket office;0.03;4000
Chloe Lindqvist;Conservator;1.20;4033
"""

RELEASE = """<html lang="en"><body><main><h1>Version 4.2 of the tide clock</h1>
<p>This version predicts tides for 48 hours instead of 24. The battery now lasts nine months because the display sleeps at night.</p>
<p>The firmware is installed with a memory card:
copy the file tide.bin to an empty card, insert it and hold the left key while the clock starts.</p>
<p>Known problem: the alarm does not ring when the clock is set to the time zone of Lisbon.
It will be solved in version 4.3.</p></main></body></html>"""

NOTICE = (
    "Boat hire",
    "Rowing boat 9 pounds per hour",
    "Sailing boat 24 pounds per hour",
    "Last return 19:30",
    "Life jackets are compulsory",
)

ANSWERABLE = (
    _yes("What is the oldest object in the museum?", "compass"),
    _yes("Who made the compass?", "Visser"),
    _yes("Who gave the collection to the town?", "widow"),
    _yes("How many visitors come each year?", "60,000"),
    _yes("On which day is the museum closed?", "Mondays"),
    _yes("When does the museum close in winter?", "4 p.m."),
    _yes("How long does a guided tour take?", "50 minutes"),
    _yes("Where do guided tours start?", "entrance hall"),
    _yes("What has to be left in the lockers?", "bags"),
    _yes("How much is a family ticket?", "28 pounds"),
    _yes("What does a ticket for a child cost?", "5 pounds"),
    _yes("How long is the ticket for friends of the museum valid?", "one year"),
    _yes("What does the café serve?", "soup"),
    _yes("How can I reserve a table?", "telephone"),
    _yes("How high is the rent?", "940"),
    _yes("When is the rent due?", "third working day"),
    _yes("What deposit does the tenant pay?", "two months"),
    _yes("When is the deposit returned?", "six weeks"),
    _yes("What is the notice period of the agreement?", "three months"),
    _yes("Is smoking allowed in the stairwell?", "not permitted"),
    _yes("Who repairs the heating?", "landlord"),
    _yes("Up to which amount does the tenant pay for small repairs?", "75 pounds"),
    _yes("How long does the lentil soup take?", "35"),
    _yes("Which allergens are in the fish pie?", "milk"),
    _yes("How hot must the oven be for the apple crumble?", "190"),
    _yes("How many people does the fish pie serve?", "5"),
    _yes("What is the extension of Ada Moreau?", "4021"),
    _yes("In which room is Chloe Lindqvist?", "1.20"),
    _yes("Who is the conservator?", "Chloe"),
    _yes("How long does the battery of the tide clock last?", "nine months"),
    _yes("How do I install the firmware?", "tide.bin"),
    _yes("When does the alarm not ring?", "Lisbon"),
    _yes("In which version will the problem with the alarm be solved?", "4.3"),
    _yes("How much does it cost to hire a sailing boat?", "24 pounds"),
    _yes("When must boats be returned?", "19:30"),
    _yes("Are life jackets compulsory?", "compulsory"),
)

UNANSWERABLE = tuple(
    map(
        Labelled,
        (
            "Who painted the portrait of Edward Lyle?",
            "How many ships does the museum own?",
            "How much is a student ticket?",
            "What does parking cost at the museum?",
            "When does the library close?",
            "Who is the director of the museum?",
            "Is there a lift in the museum?",
            "What wine does the café serve?",
            "What is the name of the tenant?",
            "How large is the flat?",
            "Who repairs the roof?",
            "Is subletting allowed?",
            "How much is the electricity bill?",
            "What is the late fee for the rent?",
            "Which allergens are in the chocolate cake?",
            "How many calories does the fish pie have?",
            "How long does the bread take?",
            "What is the extension of David Moreau?",
            "What is the salary of the curator?",
            "In which room is the director?",
            "How much does the tide clock cost?",
            "Does the tide clock show the moon?",
            "Who wrote the firmware?",
            "What is solved in version 5.0?",
            "How many batteries does the clock need?",
            "How much does it cost to hire a motor boat?",
            "How many people fit into a rowing boat?",
            "Is a licence needed for the sailing boat?",
            "When was the harbour built?",
            "What is the population of Harwick?",
            "Who won the regatta?",
            "How deep is the harbour?",
            "Can I bring my dog into the café?",
            "What is the tallest mountain in Europe?",
            "When is the rent increased?",
            "How do I reset the alarm?",
        ),
    )
)
