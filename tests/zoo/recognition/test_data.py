"""Tests of reading recordings: tables, folders, zip files, and all that is no recording."""

import zipfile

import numpy as np
import pytest

from tests.zoo.recognition.conftest import RATE, tone, wav
from zoo.corpora.held_out import hold_out
from zoo.recognition.data import DatasetFiles, SpeechReader, open_recordings
from zoo.recognition.sound import NoSound, decode_sound, read_recording, split_at_pauses
