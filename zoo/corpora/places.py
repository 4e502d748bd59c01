"""Cities whose names differ between English, German and French. No Keras."""

import re
from collections import Counter
from collections.abc import Collection, Iterable

from zoo.corpora.word_links import WORD

Pair = tuple[str, str]

_LANGUAGES = "en", "de", "fr"
# French names that would follow "d'" or have an article are left out, since others follow "de" and "à".
_CITIES = """
Aachen Aachen -, Algiers Algier -, Antwerp Antwerpen -, Athens Athen -, Baghdad Bagdad Bagdad, Barcelona Barcelona
Barcelone, Basel Basel Bâle, Beijing Peking Pékin, Beirut Beirut Beyrouth, Belgrade Belgrad Belgrade, Berlin Berlin
Berlin, Bern Bern Berne, Bruges Brügge Bruges, Brussels Brüssel Bruxelles, Bucharest Bukarest Bucarest, Budapest
Budapest Budapest, Cairo Kairo -, Cologne Köln Cologne, Copenhagen Kopenhagen Copenhague, Damascus Damaskus Damas,
Delhi Delhi Delhi, Dover Dover Douvres, Dresden Dresden Dresde, Dublin Dublin Dublin, Dunkirk Dünkirchen Dunkerque,
Edinburgh Edinburgh -, Florence Florenz Florence, Frankfurt Frankfurt Francfort, Freiburg Freiburg Fribourg, Gdansk
Danzig Gdansk, Geneva Genf Genève, Genoa Genua Gênes, Ghent Gent Gand, Gothenburg Göteborg Göteborg, Granada Granada
Grenade, Hamburg Hamburg -, Hanover Hannover -, Havana Havanna -, Helsinki Helsinki -, Istanbul Istanbul -, Jerusalem
Jerusalem Jérusalem, Krakow Krakau Cracovie, Kyiv Kiew Kiev, Leipzig Leipzig Leipzig, Lisbon Lissabon Lisbonne, London
London Londres, Lucerne Luzern Lucerne, Luxembourg Luxemburg Luxembourg, Lyon Lyon Lyon, Madrid Madrid Madrid, Mainz
Mainz Mayence, Marseille Marseille Marseille, Milan Mailand Milan, Montreal Montreal Montréal, Moscow Moskau Moscou,
Munich München Munich, Naples Neapel Naples, Nice Nizza Nice, Nuremberg Nürnberg Nuremberg, Paris Paris Paris,
Philadelphia Philadelphia Philadelphie, Pisa Pisa Pise, Prague Prag Prague, Riga Riga Riga, Rome Rom Rome, Salzburg
Salzburg Salzbourg, Seoul Seoul Séoul, Seville Sevilla Séville, Shanghai Shanghai Shanghai, Singapore Singapur
Singapour, Stockholm Stockholm Stockholm, Strasbourg Straßburg Strasbourg, Stuttgart Stuttgart Stuttgart, Tehran
Teheran Téhéran, Tokyo Tokio Tokyo, Trier Trier Trèves, Tunis Tunis Tunis, Turin Turin Turin, Venice Venedig Venise,
Vienna Wien Vienne, Vilnius Vilnius Vilnius, Warsaw Warschau Varsovie, Zurich Zürich Zurich
"""
_IN = {"en": r"\bin ", "de": r"\bin ", "fr": r"\bà "}
_LEAST, _SHARE = 3, 0.1  # How often a name follows these words, of all that it occurs, if it is that of a place.


def cities(languages: tuple[str, str]) -> list[Pair]:
    """Returns the names of cities in two of the languages "en", "de" and "fr"."""
    sides = [_LANGUAGES.index(language) for language in languages]
    rows = [row.split() for row in _CITIES.split(",")]
    return [tuple(row[side] for side in sides) for row in rows if "-" not in (row[side] for side in sides)]


def find_places(pairs: Iterable[Pair], names: Collection[str], languages: tuple[str, str]) -> frozenset[str]:
    """Returns the names of places among names that are the same in both languages: those that often follow "in"."""
    after_in = [re.compile(f"{_IN[language]}({WORD.pattern})") for language in languages]
    counts, places = Counter(), Counter()
    for pair in pairs:
        common = set(names).intersection(*map(WORD.findall, pair))
        counts.update(common)
        if common:
            places.update(common.intersection(*(pattern.findall(text) for pattern, text in zip(after_in, pair))))
    return frozenset(name for name, count in places.items() if count >= max(_LEAST, _SHARE * counts[name]))
