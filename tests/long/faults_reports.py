"""Faults in the reports of evaluations and training runs."""

from faults import Fault

PAGE = "tests/zoo/reports/test_page.py"
PICTURES = "tests/zoo/reports/test_pictures.py"
REPORTS_OF = "tests/zoo/reports/test_reports.py"
CLASSIFICATION = "tests/zoo/classification/test_task.py"

REPORTS = [
    Fault("zoo/reports/page.py", "return html.escape(escape_control_characters(cut))", "return cut", PAGE),
    Fault("zoo/reports/page.py", "\"default-src 'none'; img-src data:; ", '"img-src data:; ', PAGE),
    Fault("zoo/reports/page.py", 'f"{text[:_LONGEST]} ..."', "text", PAGE),
    Fault("zoo/reports/page.py", '"png" if max(picture.size) <= _FEW_PIXELS else "jpeg"', '"png"', PAGE),
    Fault("zoo/reports/pictures.py", 'side="left")', 'side="right") // 2', PICTURES),
    Fault("zoo/reports/pictures.py", "_SURE * float(error)", "float(error)", PICTURES),
    Fault("zoo/reports/pictures.py", "np.ceil(confidences * _BINS)", "np.floor(confidences * 4)", PICTURES),
    Fault("zoo/reports/outcomes.py", "np.argsort(self.scores", "np.argsort(-self.scores", PICTURES),
    Fault("zoo/reports/reports.py", "classes.gold * size + classes.predicted", "classes.gold * size", REPORTS_OF),
    Fault("zoo/reports/reports.py", "outcomes.worst(_WORST)", "range(_WORST)", REPORTS_OF),
    Fault("zoo/training/reporting.py", "if not self._ended:", "if True:", CLASSIFICATION),
]
