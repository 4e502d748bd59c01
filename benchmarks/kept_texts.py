"""Names, addresses, codes and numbers that no training generated, and plain sentences to put them into."""

NAMES = [
    "Siobhan",
    "Wojciech",
    "Ayodele",
    "Xiomara",
    "Thorvald",
    "Ekaterini",
    "Jamshid",
    "Oluwaseun",
    "Zbigniew",
    "Lucrezia",
    "Yevgenia",
    "Fatoumata",
    "Ingibjörg",
    "Tenzin",
    "Marisol",
    "Nkechi",
    "Bartholomew",
    "Sunniva",
    "Dmytro",
    "Quentin",
]

ADDRESSES = [
    "info@waterfall-hotel.com",
    "j.ortega87@mail.org",
    "lena_vogt@studio.de",
    "support+eu@northwind.io",
    "https://www.riverside-clinic.co.uk/contact",
    "http://localhost:8080/admin",
    "www.bakery-lindner.at",
    "https://docs.python.org/3/library/re.html",
    "github.com/torvalds/linux",
    "@green_lamp",
    "192.168.0.17",
    "+49 30 5550 1739",
    "(415) 555-2671",
    "0171 2345678",
    "ftp://files.museum.org/maps",
    "#winterfest2024",
]

CODES = [
    "AX-4471",
    "7F3K-99QL",
    "INV/2023/0815",
    "B12",
    "ISO-9001",
    "XJ900",
    "WPA2-KEY",
    "c0ffee42",
    "RT.5562.A",
    "DE89370400440532013000",
    "HTTP404",
    "QW12ER",
    "v2.10.3",
    "ZX_81",
    "978-3-16-148410-0",
    "MH370",
]

TIMES = ["7:45", "10:20", "18:05", "6:50", "23:15", "12:35", "9:10", "16:40"]
NUMBERS = ["17", "250", "38", "1,200", "64", "3,482.75", "905", "12.5"]

# Regular expressions for the words that say which half of a day it is.
HALF_DAYS = {
    "en": {"am": r"a\.?m|(?:in the morning|at night)", "pm": r"p\.?m|(?:in the (?:afternoon|evening)|at night)"},
    "de": {"am": "nachts|morgens|früh|vormittags", "pm": "mittags|nachmittags|abends|nachts"},
    "fr": {"am": "du matin|de la nuit", "pm": "de l['’]après-midi|du soir"},
}

DATES = [
    *((8, 0, 2014), (19, 1, None), (3, 2, 2019), (27, 3, 1988), (14, 4, None), (30, 5, 2021)),
    *((4, 6, 1776), (11, 7, None), (22, 8, 2003), (31, 9, 1999), (9, 10, None), (24, 11, 2030)),
]
"""Day, month from 0, and year or None."""

# {} is an address, a code, a date, a month or a time, {t} a time of day, {n} a number.
CARRIERS = {
    "en": {
        "words": ["His uncle is {} years old.", "They bought {} chairs.", "The city is {} miles from here."],
        "clocks": ["The lesson ends at {}.", "Wake me at {} tomorrow.", "He usually has lunch around {}."],
        "ranges": ["The shop is open {}.", "On Sundays, they played cards {}."],
        "dates": ["The concert is on {}.", "We moved here on {}.", "Her flight leaves on {}."],
        "months": ["School starts in {}.", "The museum is closed in {}."],
        "addresses": [
            "Please write to {}.",
            "You can reach me at {} tomorrow.",
            "I found it on {} yesterday.",
            "{} is new.",
        ],
        "codes": [
            "The code is {}.",
            "I need part {} today.",
            "Do you know what {} means?",
            "He wrote {} on the door.",
        ],
        "numbers": [
            "The train leaves at {t} from platform {n}.",
            "We need {n} chairs at {t}.",
            "I paid {n} dollars at {t}.",
            "At {t} there were {n} people in the park.",
        ],
    },
    "de": {
        "words": ["Sein Onkel ist {} Jahre alt.", "Sie haben {} Stühle gekauft.", "Die Stadt ist {} Meilen von hier."],
        "clocks": ["Der Unterricht endet um {}.", "Weck mich morgen um {}.", "Gegen {} isst er meistens zu Mittag."],
        "ranges": ["Der Laden ist {} geöffnet.", "Sonntags haben sie {} Karten gespielt."],
        "dates": ["Das Konzert ist am {}.", "Wir sind am {} hierher gezogen.", "Ihr Flug geht am {}."],
        "months": ["Die Schule beginnt im {}.", "Das Museum ist im {} geschlossen."],
        "addresses": [
            "Bitte schreiben Sie an {}.",
            "Du erreichst mich morgen unter {}.",
            "Ich habe es gestern auf {} gefunden.",
            "{} ist neu.",
        ],
        "codes": [
            "Der Code ist {}.",
            "Ich brauche heute das Teil {}.",
            "Weißt du, was {} bedeutet?",
            "Er schrieb {} an die Tür.",
        ],
        "numbers": [
            "Der Zug fährt um {t} Uhr von Gleis {n} ab.",
            "Wir brauchen um {t} Uhr {n} Stühle.",
            "Ich habe um {t} Uhr {n} Dollar bezahlt.",
            "Um {t} Uhr waren {n} Leute im Park.",
        ],
    },
    "fr": {
        "words": ["Son oncle a {} ans.", "Ils ont acheté {} fauteuils.", "La ville est à {} kilomètres d'ici."],
        "clocks": ["Le cours se termine à {}.", "Réveille-moi à {} demain.", "Il déjeune d'habitude vers {}."],
        "ranges": ["Le magasin est ouvert {}.", "Le dimanche, ils jouaient aux cartes {}."],
        "dates": ["Le concert est le {}.", "Nous avons emménagé ici le {}.", "Son avion part le {}."],
        "months": ["L'école commence en {}.", "Le musée est fermé en {}."],
        "addresses": [
            "Veuillez écrire à {}.",
            "Vous pouvez me joindre au {} demain.",
            "Je l'ai trouvé sur {} hier.",
            "{} est nouveau.",
        ],
        "codes": [
            "Le code est {}.",
            "J'ai besoin de la pièce {} aujourd'hui.",
            "Savez-vous ce que {} veut dire ?",
            "Il a écrit {} sur la porte.",
        ],
        "numbers": [
            "Le train part à {t} du quai {n}.",
            "Nous avons besoin de {n} chaises à {t}.",
            "J'ai payé {n} dollars à {t}.",
            "À {t}, il y avait {n} personnes dans le parc.",
        ],
    },
}
