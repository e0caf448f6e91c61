"""The claims of the papers as studies: each states a claim and thresholds, trains from built-in data, and answers.

    result = saccade.study.run("word-order", quick=True)
    result.answer  # "held", "held in part" or "did not hold"

Names are resolved when first used, so that `saccade --help` loads neither torch nor numpy.
"""

from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

if TYPE_CHECKING:
    from saccade.study.catalogue import STUDIES as STUDIES
    from saccade.study.catalogue import list_studies as list_studies
    from saccade.study.pages import markdown as markdown
    from saccade.study.pages import terminal_tables as terminal_tables
    from saccade.study.pages import write_page as write_page
    from saccade.study.result import StudyResult as StudyResult
    from saccade.study.result import load as load
    from saccade.study.running import folder_of as folder_of
    from saccade.study.running import run as run
    from saccade.study.running import run_studies as run_studies
    from saccade.study.study import Study as Study

import_on_first_use(__name__)
