"""Files that the samples of a run wrote."""

from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.documents import artifact_document
from mesocosm.server.schemas.evaluation import SampleFile, SampleFilePage


def file_page(run: VisibleRun, cursor: str | None, limit: int) -> SampleFilePage:
    """Return a page of the files of a run. Raises UsageError for an invalid cursor."""
    page = run.file_page(cursor, limit)
    items = [
        SampleFile(**dict(artifact_document(one.artifact)), size=one.size, task_id=one.task_id, trial=one.trial)
        for one in page.items
    ]
    return SampleFilePage(items=items, cursor=page.cursor)
