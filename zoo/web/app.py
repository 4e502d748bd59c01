"""The application: a JSON API of models, and a page that uses it."""

import contextlib
import itertools
import logging
import pathlib
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from zoo.web import schemas
from zoo.web.actions import ACTIONS, actions_of
from zoo.web.batching import Batcher, ExpiredError
from zoo.web.guard import Guard, error_body
from zoo.web.metrics import Metrics
from zoo.web.pool import ModelPool, UnknownModelError
from zoo.web.settings import Settings

STATIC = pathlib.Path(__file__).parent / "static"
_log = logging.getLogger("zoo.web")
_FILE = {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}}
_ERRORS = {status: {"description": "The error: `{error: {status, message}}`"} for status in (404, 408, 413, 422, 429)}


class Service:
    """Computes what requests ask for.

    Args:
        settings: Models and limits.
    """

    def __init__(self, settings: Settings):
        self.settings, self.pool = settings, ModelPool(settings.models, settings.max_models)
        self.metrics = Metrics(self.pool)
        self._batcher, self._numbers = None, itertools.count()

    @contextlib.asynccontextmanager
    async def lifespan(self, app: FastAPI) -> Any:
        """Begins and ends the thread in which models compute."""
        settings = self.settings
        self._batcher = Batcher(settings.max_batch, settings.max_seconds, self.metrics.count_batch)
        yield
        await self._batcher.close()

    async def answer(self, name: str, model: str, inputs: list, options: dict) -> dict:
        """Runs an action for the inputs of a request; errors are those of the request."""
        action, task = ACTIONS[name], self.pool.task(model)
        if task not in action.tasks:
            can = ", ".join(actions_of(task)) or "nothing of that kind"
            raise HTTPException(422, f"{model} is a model of the task {task}, which cannot {name}, but: {can}.")

        def run(inputs, progress):
            return action.run(self.pool.get(model), inputs, progress, **options)

        key = name, model, repr(options), None if action.joins else next(self._numbers)
        try:
            return {"model": model, "results": await self._batcher.run(key, run, inputs)}
        except ExpiredError:
            text = f"The answer took more than {self.settings.max_seconds:g} seconds. Send less."
            raise HTTPException(408, text) from None


def make_app(settings: Settings) -> Guard:
    """Returns the ASGI application."""
    service = Service(settings)
    app = FastAPI(
        title="keras_transformer",
        description="Models of `zoo` as a JSON API. All of `POST /v1/...` return `results`, one for each input.",
        version="1",
        docs_url=None,  # These pages load scripts from elsewhere.
        redoc_url=None,
        lifespan=service.lifespan,
        responses=_ERRORS,
    )
    _add_pages(app, service)
    for name, body in (
        ("translate", schemas.Translate),
        ("attention", schemas.Attention),
        ("search", schemas.Search),
        ("classify", schemas.Pairs),
        ("tag", schemas.Sentences),
        ("parse", schemas.Sentences),
        ("generate", schemas.Generate),
        ("fill", schemas.Texts),
        ("embed", schemas.Texts),
    ):
        _add_text_action(app, service, name, body)
    _add_file_actions(app, service)
    _add_errors(app)
    app.state.models = service.pool.names()
    file_paths = {f"/v1/{name}" for name, action in ACTIONS.items() if action.reads_file}
    return Guard(app, settings, service.metrics.count_request, file_paths)


def _add_pages(app, service):
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/", include_in_schema=False)
    def page():
        return FileResponse(STATIC / "index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon():
        return FileResponse(STATIC / "icon.svg")

    @app.get("/health", summary="Whether the server answers")
    async def health():
        return {"status": "ok", "models": len(service.pool.names())}

    @app.get("/metrics", summary="Numbers for Prometheus", response_class=Response)
    def metrics():
        return Response(*service.metrics.page())

    @app.get("/v1/models", summary="All models, and what they can do")
    def models():
        return {"models": [{**each, "actions": actions_of(each["task"])} for each in service.pool.describe()]}


def _add_text_action(app, service, name, body_type):
    @app.post(f"/v1/{name}", name=name, summary=body_type.__doc__)
    async def handle(body: body_type):
        return await service.answer(name, body.model, body.inputs(), body.options())


def _add_file_actions(app, service):
    async def answer(request, name, model, **options):
        return await service.answer(name, model, [await request.body()], options)

    @app.post("/v1/classify-image", summary="The bytes of an image to classify", openapi_extra=_FILE)
    async def classify_image(request: Request, model: schemas.Model, attention: bool = False):
        return await answer(request, "classify-image", model, attention=attention)

    @app.post("/v1/detect", summary="The bytes of an image in which to find objects", openapi_extra=_FILE)
    async def detect(
        request: Request, model: schemas.Model, min_score: Annotated[float | None, Query(ge=0, le=1)] = None
    ):
        return await answer(request, "detect", model, min_score=min_score)

    @app.post("/v1/transcribe", summary="The bytes of a recording to transcribe", openapi_extra=_FILE)
    async def transcribe(request: Request, model: schemas.Model):
        return await answer(request, "transcribe", model)


def _add_errors(app):
    def respond(status, message, headers=None):
        return JSONResponse(error_body(status, message), status, headers)

    @app.exception_handler(HTTPException)
    async def known(request, error):
        return respond(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request, error):
        parts = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5])
        return respond(422, f"The request is not as /openapi.json describes it. {'; '.join(parts)}"[:1000])

    @app.exception_handler(UnknownModelError)
    async def unknown(request, error):
        return respond(404, str(error))

    @app.exception_handler(ValueError)
    async def wrong(request, error):
        return respond(422, str(error)[:1000])

    @app.exception_handler(ImportError)
    async def missing(request, error):
        return respond(501, str(error))

    @app.exception_handler(Exception)
    async def failed(request, error):
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return respond(500, "The model failed. The log of the server says why.")
