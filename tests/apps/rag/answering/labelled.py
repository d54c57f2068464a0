"""Documents and questions about them, with what an answer must say; None where the documents do not answer.

Answers were tuned on the questions with an even place in their list. Those with an odd place are not a fair test either:
one hand wrote both and the rules. `unseen.py` has another set.
"""

from __future__ import annotations

from dataclasses import dataclass

PUMP = """# Pump P-100

The pump P-100 moves water from the tank to the boiler. It must be switched off before the lid is opened.
The pump weighs 14 kg and is 42 cm high. Its motor takes 350 watts.

## Errors

Error E42 means that the pump has run dry. Fill the tank, then press the reset button for three seconds.

| Code | Meaning | Remedy |
| --- | --- | --- |
| E17 | the filter is blocked | clean the filter |
| E23 | the motor is too hot | wait for half an hour |
| E31 | no current | check the plug and the fuse |

## Care

Clean the filter of the pump every six months. A blocked filter makes the motor hot. The seal is replaced by a technician once a year.

## Warranty

The warranty lasts two years from the day of purchase. It does not cover damage by frost. Repairs are done in the workshop in Leeds.
"""

LAMP = """# Lamp L-7

The lamp on the front is green while the machine is ready, and red when something is wrong.
To change the bulb, unplug the machine and wait until the glass is cold. A bulb lasts about 8,000 hours.
Spare bulbs are sold in packs of three.
"""

PRICES = """Article,Price,Stock,Supplier
Pump P-100,249 EUR,12,Hydra
Pump P-200,389 EUR,3,Hydra
Filter F-1,18 EUR,140,Clearway
Bulb B-3,4.50 EUR,600,Lumen
Hose 5 m,22 EUR,75,Clearway
"""

HANDBOOK = """<html lang="en"><head><title>Staff handbook</title></head><body><main>
<h1>Staff handbook</h1>
<p>Employees have 28 days of annual leave. Unused days expire at the end of March of the following year.</p>
<p>Sick leave is reported to the team lead before nine in the morning. A doctor's note is needed from the third day on.</p>
<h2>Remote work</h2>
<p>Staff may work from home on two days a week. The company pays for a desk and a chair, but not for the internet connection.</p>
<h2>Offices</h2>
<table><tr><th>Office</th><th>Address</th><th>Phone</th><th>Opens</th></tr>
<tr><td>Leeds</td><td>14 Mill Lane</td><td>0113 555 017</td><td>08:00</td></tr>
<tr><td>Porto</td><td>Rua do Sol 9</td><td>22 555 031</td><td>09:30</td></tr></table>
<h2>Travel</h2>
<p>Train journeys are booked in second class. Flights need the approval of Marta Reyes, who heads the finance department.
Receipts are handed in within 30 days.</p>
</main></body></html>"""

MINUTES = """Minutes of the board, 12 May 2025

The board approved the budget of 1.2 million euros for the new warehouse. Building begins in September 2025.
Tom Baxter will lead the project. The old warehouse in Dover will be sold.

The board did not decide about the merger with Nordic Tools. The next meeting takes place on 9 June 2025.
"""

#: Read from a picture: short lines without full stops.
SIGN = ("Visitor car park", "Open daily 07:00 to 22:00", "Maximum stay 4 hours", "Height limit 2.1 m", "Fee 3 EUR per hour")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, and the texts that an answer must have; None where there is no answer."""

    question: str
    answer: tuple[str, ...] | None = None


def _yes(question: str, *answer: str) -> Labelled:
    return Labelled(question, answer)


ANSWERABLE = (
    _yes("What does error E42 mean?", "run dry"),
    _yes("How heavy is the pump?", "14 kg"),
    _yes("How long does the warranty last?", "two years"),
    _yes("What is not covered by the warranty?", "frost"),
    _yes("How often should the filter be cleaned?", "six months"),
    _yes("What does E17 mean?", "filter is blocked"),
    _yes("What should I do when error E31 is shown?", "check the plug"),
    _yes("What does the code E23 stand for?", "too hot"),
    _yes("What is the price of the pump P-200?", "389 EUR"),
    _yes("How much does the filter F-1 cost?", "18 EUR"),
    _yes("Who supplies the bulb B-3?", "Lumen"),
    _yes("How many hoses are in stock?", "75"),
    _yes("What colour is the lamp when the machine is ready?", "green"),
    _yes("How long does a bulb last?", "8,000 hours"),
    _yes("How do I change the bulb?", "unplug"),
    _yes("How are spare bulbs sold?", "packs of three"),
    _yes("How many days of annual leave do employees have?", "28"),
    _yes("When is a doctor's note needed?", "third day"),
    _yes("How many days a week may staff work from home?", "two days"),
    _yes("Does the company pay for the internet connection?", "not for the internet"),
    _yes("What is the phone number of the office in Porto?", "22 555 031"),
    _yes("Where is the Leeds office?", "14 Mill Lane"),
    _yes("When does the Porto office open?", "09:30"),
    _yes("Who must approve flights?", "Marta Reyes"),
    _yes("In which class are train journeys booked?", "second class"),
    _yes("Who heads the finance department?", "Marta Reyes"),
    _yes("What is the budget for the new warehouse?", "1.2 million"),
    _yes("Who leads the warehouse project?", "Tom Baxter"),
    _yes("When is the next meeting of the board?", "9 June 2025"),
    _yes("What happens to the old warehouse?", "sold"),
    _yes("What is the maximum stay in the visitor car park?", "4 hours"),
    _yes("How much is the parking fee?", "3 EUR"),
    _yes("What is the height limit of the car park?", "2.1 m"),
    _yes("When is the car park open?", "07:00"),
    _yes("Who replaces the seal?", "technician"),
    _yes("Where are repairs done?", "Leeds"),
    _yes("What is the power of the motor?", "350 watts"),
    _yes("How tall is the pump?", "42 cm"),
    _yes("When must receipts be handed in?", "30 days"),
    _yes("When does unused leave expire?", "March"),
    _yes("To whom is sick leave reported?", "team lead"),
    _yes("When does building begin?", "September 2025"),
)

UNANSWERABLE = tuple(
    map(
        Labelled,
        (
            "How heavy is the boiler?",
            "What does error E99 mean?",
            "What is the price of the boiler?",
            "How much does the lamp weigh?",
            "Who supplies the boiler?",
            "How long does the seal last?",
            "What is the price of the pump P-300?",
            "How many kettles are in stock?",
            "What is the phone number of the office in Dover?",
            "When does the London office open?",
            "How many days of parental leave do employees have?",
            "Does the company pay for a car?",
            "Who heads the marketing department?",
            "Which hotel class is booked?",
            "What is the salary of Marta Reyes?",
            "How old is Tom Baxter?",
            "Who buys the old warehouse?",
            "What is the budget for the merger?",
            "Who is the chair of the board?",
            "What colour is the pump?",
            "How loud is the pump?",
            "What is the capital of France?",
            "Who composed the Moonlight Sonata?",
            "How do I bake bread?",
            "What is the melting point of the motor?",
            "Can the lamp be dimmed?",
            "How many employees does the company have?",
            "What is the fine for parking too long?",
            "Are dogs allowed in the car park?",
            "Is there a charger for electric cars?",
            "How much does Globex charge for the filter?",
            "What is the warranty of the lamp?",
            "How long is the notice period?",
            "Who wrote the staff handbook?",
            "What is the email address of the Porto office?",
            "How many people work in Leeds?",
            "What is the diameter of the hose?",
            "When was the company founded?",
            "What is the password of the router?",
            "Why was the budget reduced?",
            "How often is the boiler cleaned?",
            "Which bank gives the loan for the warehouse?",
        ),
    )
)

#: Conversations: the questions in order, and what the answer of the last one must say.
FOLLOW_UPS = (
    (("How long does the warranty last?", "And what does it not cover?"), ("frost",)),
    (("What is the price of the pump P-100?", "How heavy is it?"), ("14 kg",)),
    (("What does error E42 mean?", "What should I do then?"), ("Fill the tank",)),
    (("How long does a bulb last?", "How are they sold?"), ("packs of three",)),
    (("What is the price of the pump P-100?", "And of the P-200?"), ("389 EUR",)),
    (("What is the phone number of the office in Leeds?", "And in Porto?"), ("22 555 031",)),
    (("Who leads the warehouse project?", "What is its budget?"), ("1.2 million",)),
    (("How heavy is the pump?", "How tall is it?"), ("42 cm",)),
    (("When does the Leeds office open?", "Where is it?"), ("14 Mill Lane",)),
    (("How heavy is the pump?", "What colour is it?"), None),
    (("How long does the warranty last?", "How much does it cost?"), None),
    (("What does error E42 mean?", "And E99?"), None),
    (("What colour is the lamp when something is wrong?", "Who invented it?"), None),
    (("Who must approve flights?", "How old is she?"), None),
)

#: About the product's own manual (`docs/`), which the demonstration asks.
ABOUT_THE_MANUAL = (
    _yes("For how many days can a deleted collection be restored?", "90"),
    _yes("Who can read a private collection?", "creators"),
    _yes("How long is a download link valid?", "300 seconds"),
    _yes("What happens to a job when its worker dies?", "lease"),
    _yes("How many tags may a collection have?", "50 tags"),
    _yes("Who may create pipelines?", "administrators"),
    _yes("What is the default collection?", "default"),
    _yes("How are backups made?", "backup"),
    _yes("What does GATELEG_TABLE_NAMES do?", "GATELEG_TABLE_NAMES"),
    _yes("Which SQLite journal mode is used?", "WAL"),
    Labelled("How do I configure Kafka?"),
    Labelled("What is the price of a licence?"),
    Labelled("Does it run on Windows 95?"),
    Labelled("Who founded the company?"),
    Labelled("How do I export a collection to Excel?"),
    Labelled("What is the capital of Portugal?"),
    Labelled("Which GPU does the renderer need?"),
    Labelled("How do I connect to Oracle?"),
    Labelled("How tall is the Eiffel Tower?"),
    Labelled("What is the phone number of the support team?"),
)
