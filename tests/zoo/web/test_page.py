"""The page in a browser: what it shows is what the library computes, on a desktop and a phone, light and dark."""

import base64
import os
import pathlib

import browser
import numpy as np
import pytest
import web_server

import zoo

By = pytest.importorskip("selenium.webdriver.common.by", reason="selenium is not installed").By
support = pytest.importorskip("selenium.webdriver.support.ui", reason="selenium is not installed")
pytestmark = pytest.mark.slow
PICTURES = os.environ.get("KERAS_TRANSFORMER_PICTURES", "")  # A folder for pictures of all views.
TRANSLATOR = "translation/multi30k-en-de"
HOSTILE = "<img src=x onerror=alert(1)> & \"'</textarea><script>alert(2)</script>"


@pytest.fixture(scope="module")
def driver():
    found = browser.open_browser()
    yield found
    found.quit()


@pytest.fixture
def page(driver, server):
    driver.get(f"http://127.0.0.1:{server.port}/")
    wait(driver, "#model option")
    yield Page(driver)
    assert not [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    urls = browser.requested(driver)
    assert urls and all(url.startswith(f"http://127.0.0.1:{server.port}/") for url in urls), urls


def wait(driver, selector):
    """Waits until there is an element, and nothing is computed; returns the elements."""

    def ready(driver):
        error = driver.find_element(By.ID, "error")
        assert not error.is_displayed(), error.text
        return not driver.find_element(By.ID, "status").text and driver.find_elements(By.CSS_SELECTOR, selector)

    return support.WebDriverWait(driver, 100).until(ready)


class Page:
    """The page."""

    def __init__(self, driver):
        self.driver = driver

    def choose(self, name):
        support.Select(self.driver.find_element(By.ID, "model")).select_by_value(name)

    def submit(self, text, selector):
        """Types a text, submits it, and returns the elements of the result."""
        field = self.driver.find_element(By.TAG_NAME, "textarea")
        field.clear()
        field.send_keys(text)
        self.driver.find_element(By.CSS_SELECTOR, "button.main").click()
        return wait(self.driver, selector)

    def texts(self, selector):
        return [element.text for element in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def check(self, name):
        """Checks contrast, labels and width on both sizes, light and dark; takes pictures."""
        for size in browser.SIZES:
            browser.resize(self.driver, size)
            for theme in ("light", "dark"):
                support.Select(self.driver.find_element(By.ID, "theme")).select_by_value(theme)
                assert browser.accessibility_faults(self.driver) == []
                picture = self.driver.get_screenshot_as_png()
                assert len(picture) > 5_000, "something is drawn"
                if PICTURES:
                    (pathlib.Path(PICTURES) / f"{name}-{size}-{theme}.png").write_bytes(picture)
            width, inner = self.driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
            assert width <= inner, "nothing is beside the page"
        browser.resize(self.driver, "desktop")


def test_translation(page):
    page.choose(TRANSLATOR)
    text = "A man rides a bicycle."
    wait(page.driver, "textarea")
    page.submit(text, ".tokens button")
    translator = zoo.load(TRANSLATOR)
    expected = translator.n_best([text], 4, 4)[0]
    shown = page.texts(".choices button")
    assert [line.partition("  score")[0].strip() for line in shown] == [each.text for each in expected]
    page.driver.find_elements(By.CSS_SELECTOR, ".tokens button")[2].click()
    from zoo.translation.inspection import attention_weights

    weights = attention_weights(translator, text, expected[0].text)
    row = weights.cross[-1].mean(0)[2]
    said = page.texts("section [role=status]")[0]
    best = int(np.argmax(row))
    assert f"“{weights.source[best].strip()}” {row[best]:.2f}" in said and weights.target[3].strip() in said
    heads = support.Select(page.driver.find_elements(By.CSS_SELECTOR, "section select")[2])
    assert len(heads.options) == 1 + weights.cross.shape[1]
    heads.select_by_value("1")
    page.driver.find_elements(By.CSS_SELECTOR, ".tokens button")[2].click()
    assert f"{weights.cross[-1][1][2].max():.2f}" in page.texts("section [role=status]")[0]
    kinds = support.Select(page.driver.find_elements(By.CSS_SELECTOR, "section select")[0])
    kinds.select_by_value("encoder")
    wait(page.driver, ".tokens button")
    assert [token.strip() for token in page.texts(".tokens button")] == [token.strip() for token in weights.source]


def test_search(page):
    page.choose(TRANSLATOR)
    wait(page.driver, "textarea")
    text = "A man rides a bicycle."
    page.submit(text, ".tokens button")
    (button,) = [each for each in page.driver.find_elements(By.TAG_NAME, "button") if each.text.startswith("Show how")]
    button.click()
    (slider,) = wait(page.driver, "input[type=range]")
    from zoo.translation.inspection import recorded_search

    found = recorded_search(zoo.load(TRANSLATOR), text, 4)
    assert int(slider.get_attribute("max")) == len(found.steps)
    rows = page.driver.find_elements(By.CSS_SELECTOR, "section[aria-label=search] tbody tr")
    assert len(rows) == len(found.steps[0])
    for row, extension in zip(rows, found.steps[0]):
        assert extension.token.strip() in row.text and f"{extension.log_prob:.2f}" in row.text
        assert extension.fate in row.text
    slider.send_keys("\ue014" * 3)  # Arrow to the right.
    assert f"Step 4 of {len(found.steps)}" in page.texts("caption")[0]
    page.check("translation")


def test_hostile_text_is_shown_as_text(page):
    page.choose(TRANSLATOR)
    wait(page.driver, "textarea")
    page.submit(HOSTILE, ".tokens button")
    assert not page.driver.find_elements(By.CSS_SELECTOR, "img, section script")


def test_classification(page):
    page.choose("classification/sst2-small")
    page.submit("A dull film.", "tbody tr")
    label, probability = zoo.load("classification/sst2-small").classify(["A dull film."])[0]
    assert page.texts("tbody tr")[0].split() == [label, f"{probability:.3f}"]
    page.check("classification")


def test_tags_and_trees(page):
    page.choose("labelling/masc-pos-small")
    page.submit("The dogs are here.", ".words")
    tags = zoo.load("labelling/masc-pos-small").tag([["The", "dogs", "are", "here", "."]])[0]
    assert page.texts(".words small") == tags
    page.check("labelling")
    page.choose("parsing/genia-small")
    page.submit("The protein binds DNA.", "svg.tree")
    assert page.texts("svg .leaf") == ["The", "protein", "binds", "DNA", "."]
    page.check("parsing")


def test_generated_text_and_similarity(page):
    page.choose("language/shakespeare")
    page.driver.execute_script("document.querySelector('input[type=number]').value = 20")
    page.submit("ROMEO:", ".output")
    expected = zoo.load("language/shakespeare").generate(["ROMEO:"], max_tokens=20, temperature=0.8, seed=1)[0]
    assert page.driver.find_element(By.CSS_SELECTOR, ".output").get_attribute("textContent") == "ROMEO:" + expected
    page.check("language")
    page.choose("encoder/minilm")
    page.submit("a hat\na cap", "tbody tr")
    vectors = zoo.load("encoder/minilm").embed(["a hat", "a cap"])
    assert page.texts("tbody td")[2] == f"{vectors[0] @ vectors[1]:.3f}"
    page.check("encoder")


def test_images_and_sound(page, tmp_path):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    pytest.importorskip("soundfile", reason="soundfile is not installed")
    image, sound, none = tmp_path / "ship.png", tmp_path / "silence.wav", tmp_path / "none.png"
    image.write_bytes(web_server.drawn_image())
    sound.write_bytes(web_server.silence())
    none.write_bytes(b"nothing")
    page.choose("images/cifar10")
    page.driver.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(image))
    wait(page.driver, "tbody tr")
    assert page.texts("tbody tr")[0].split()[0] == zoo.load("images/cifar10").classify([str(image)])[0][0]
    page.check("images")
    page.choose("recognition/fsdd-digits")
    page.driver.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(sound))
    wait(page.driver, "audio")
    assert page.texts(".output") == ["(silence)"]
    page.check("recognition")


DROP = """
const bytes = Uint8Array.from(atob(arguments[1]), (character) => character.charCodeAt(0));
const data = new DataTransfer();
data.items.add(new File([bytes], "ship.png", { type: "image/png" }));
arguments[0].dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
"""


def test_a_file_is_dropped(page):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    image = web_server.drawn_image()
    page.choose("images/cifar10")
    (zone,) = wait(page.driver, ".drop")
    page.driver.execute_script(DROP, zone, base64.b64encode(image).decode())
    wait(page.driver, "tbody tr")
    assert page.texts("tbody tr")[0].split()[0] == zoo.load("images/cifar10").classify([image])[0][0]


def test_the_keyboard_is_enough(page):
    """From the list of models to the text, and Ctrl with Enter computes."""
    keys = pytest.importorskip("selenium.webdriver.common.keys", reason="selenium is not installed").Keys
    models = page.driver.find_element(By.ID, "model")
    models.send_keys("classification/sst2-small")
    page.driver.switch_to.active_element.send_keys(keys.TAB)  # To the colours,
    page.driver.switch_to.active_element.send_keys(keys.TAB)  # and to the text.
    field = page.driver.switch_to.active_element
    assert field.tag_name == "textarea"
    field.send_keys(keys.CONTROL, "a")
    field.send_keys("A dull film.")
    field.send_keys(keys.CONTROL, keys.ENTER)
    wait(page.driver, "tbody tr")
    assert page.texts("tbody tr")[0].split()[0] == "negative"


def test_detected_objects_have_boxes(page, tmp_path):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    (tmp_path / "cells.png").write_bytes(web_server.drawn_cells())
    page.choose("detection/bccd")
    page.driver.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(tmp_path / "cells.png"))
    wait(page.driver, "svg.boxes rect")
    (found,) = zoo.load("detection/bccd").detect([str(tmp_path / "cells.png")])
    assert [row.split()[0] for row in page.texts("tbody tr")] == [each.label for each in found]
    image, *boxes = page.driver.execute_script(
        "return [...document.querySelectorAll('.picture img, .boxes rect')].map(each => each.getBoundingClientRect())"
    )
    for shown, each in zip(boxes, found, strict=True):
        scale = image["width"] / 320
        np.testing.assert_allclose(shown["left"] - image["left"], each.box[0] * scale, atol=2)
        np.testing.assert_allclose(shown["bottom"] - image["top"], each.box[3] * scale, atol=2)
    page.check("detection")


def test_errors_are_said(page, tmp_path):
    (tmp_path / "none.png").write_bytes(b"nothing")
    page.choose("images/cifar10")
    page.driver.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(tmp_path / "none.png"))
    error = page.driver.find_element(By.ID, "error")
    support.WebDriverWait(page.driver, 60).until(lambda _: error.is_displayed())
    assert "image" in error.text and error.get_attribute("role") == "alert"
    page.driver.get_log("browser")  # The status 422 is in it.
