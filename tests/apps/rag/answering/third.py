"""A third set, written before the rules were changed again: prose with Markdown markup, a contract, a price list, an e-mail thread."""

from __future__ import annotations

from tests.apps.rag.answering.labelled import Labelled


def _yes(question: str, *answer: str) -> Labelled:
    return Labelled(question, answer)


HANDBOOK = """# Greenhouse handbook

**Opening hours.** The greenhouse is open from 06:30 to 20:00 on working days. On public holidays it stays closed.

*Watering* is done by the [irrigation controller](https://example.org/irrigation). It starts at 05:15 and runs for **22 minutes**.
If the controller shows `ERR-7`, close the main valve and call the caretaker.

- **Keys** are kept in the grey box next to the back door.
- *Visitors* sign the book at the entrance, see [the rules](rules.md#visitors).
- Pesticides are stored in the locked cabinet in room B12.

## Crops

| Crop | Sown in | Harvest after | Bed |
| --- | --- | --- | --- |
| Tomato | February | 110 days | 3 |
| Basil | April | 45 days | 7 |
| Chard | March | 60 days | 4 |

## Climate

The temperature is kept between 18 and 24 degrees. The roof windows open by themselves when it is hotter than 27 degrees.
Shading nets are drawn in *June* and taken away in **September**, because low light slows the growth of the tomatoes.

## Staff

Irina Volkova runs the greenhouse. Her deputy is Samuel Ode.
New volunteers get a two-hour introduction from Samuel Ode before their first shift.
"""

CONTRACT = """SERVICE AGREEMENT

between Brightwater Cleaning Ltd ("the Contractor") and the Harwick School Trust ("the Client")

1. Services
The Contractor cleans the classrooms five times a week and the windows twice a year.

2. Fees
The Client pays a monthly fee of 3,400 pounds within 21 days of the invoice.
Interest of 4 % a year is charged on late payments.

3. Term
This agreement begins on 1 September 2026 and ends on 31 August 2029. Either party may terminate it with six months' notice.

4. Liability
The liability of the Contractor is limited to 250,000 pounds for each incident.
The Contractor keeps insurance with Northgate Mutual for the whole term.

5. Governing law
This agreement is governed by the law of England and Wales.
"""

PRICES = """Item No.,Description,Unit,Unit price,Minimum order,Delivery
1001,Copper pipe 15 mm,metre,6.80 EUR,10,3 days
1002,Copper pipe 22 mm,metre,9.95 EUR,10,3 days
2040,Ball valve,piece,14.20 EUR,1,1 week
2041,Check valve,piece,17.60 EUR,1,2 weeks
3300,Pipe insulation,roll,31.00 EUR,2,5 days
"""

MAIL = """From: Nadia Ferrante <nadia@example.org>
To: Oskar Brandt <oskar@example.org>
Cc: Lin Wei <lin@example.org>
Subject: Re: Move to the new office
Date: Tue, 14 Apr 2026 09:12:00 +0000
Message-ID: <2@example.org>
Content-Type: text/plain; charset=utf-8

Hello Oskar,

the movers come on Friday, 24 April at 7:30. Please pack your desk by Thursday evening.
Each team gets 40 boxes; more can be had from Lin.
The server room is moved last, on Saturday, so e-mail will be down for about three hours.

The new address is 27 Canal Road, third floor. Parking permits are handed out by the reception.

Nadia

On Mon, 13 Apr 2026, Oskar Brandt wrote:
> Hi Nadia,
> when do the movers come, and how many boxes do we get?
> I would like to keep my old chair.
> Oskar
"""

ANSWERABLE = (
    _yes("When does the greenhouse open on working days?", "06:30"),
    _yes("Is the greenhouse open on public holidays?", "closed"),
    _yes("How long does the watering run?", "22 minutes"),
    _yes("What should I do when the controller shows ERR-7?", "close the main valve"),
    _yes("Where are the keys kept?", "grey box"),
    _yes("Where are pesticides stored?", "B12"),
    _yes("When is basil sown?", "April"),
    _yes("How long does it take until chard can be harvested?", "60 days"),
    _yes("At what temperature do the roof windows open?", "27 degrees"),
    _yes("Why are the shading nets removed in September?", "low light"),
    _yes("Who is the deputy of Irina Volkova?", "Samuel Ode"),
    _yes("How often are the windows cleaned?", "twice a year"),
    _yes("How much is the monthly fee?", "3,400"),
    _yes("When does the agreement end?", "31 August 2029"),
    _yes("What is the limit of liability?", "250,000"),
    _yes("Which law governs the agreement?", "England and Wales"),
    _yes("What does a ball valve cost?", "14.20 EUR"),
    _yes("What is the minimum order of pipe insulation?", "2"),
    _yes("How long is the delivery time of the check valve?", "2 weeks"),
    _yes("When do the movers come?", "24 April"),
    _yes("How many boxes does each team get?", "40"),
    _yes("What is the new address?", "27 Canal Road"),
)

UNANSWERABLE = tuple(
    map(
        Labelled,
        (
            "How large is the greenhouse?",
            "What does ERR-9 mean?",
            "When are cucumbers sown?",
            "In which bed does the lettuce grow?",
            "Who founded the greenhouse?",
            "What is the phone number of the caretaker?",
            "How much do volunteers earn?",
            "Which pesticides are used?",
            "What colour are the shading nets?",
            "Who signed the agreement?",
            "How often are the carpets cleaned?",
            "What is the penalty for early termination?",
            "How many cleaners does the Contractor employ?",
            "What does a gate valve cost?",
            "What is the price of copper pipe of 28 mm?",
            "Who manufactures the ball valve?",
            "What is the weight of the check valve?",
            "How much does the move cost?",
            "Which company moves the furniture?",
            "Who gets a new chair?",
            "How many people work in the new office?",
            "What is the rent of the new office?",
        ),
    )
)
