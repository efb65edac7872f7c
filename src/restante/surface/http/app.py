"""The app that serves one platform."""

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from restante.errors import RestanteError
from restante.running.platform import Platform
from restante.surface.http.bodies import Bodies
from restante.surface.http.chat_routes import chat_router
from restante.surface.http.routes import router
from restante.surface.http.wire import Incidents, on_client_gone, on_no_route, on_refusal


def build_app(platform: Platform, bodies: Bodies | None = None) -> FastAPI:
    """An ASGI app with every route of the platform, and their description at `/openapi.json`."""
    app = FastAPI(title="restante", version="1", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.platform = platform
    ours = (*app.routes, *chat_router.routes, *router.routes)
    app.state.routes = [route for route in ours if isinstance(route, Route)]
    app.state.bodies = bodies or Bodies()
    app.add_middleware(Incidents)
    app.add_exception_handler(RestanteError, on_refusal)
    app.add_exception_handler(ClientDisconnect, on_client_gone)
    app.add_exception_handler(HTTPException, on_no_route)
    app.include_router(chat_router)
    app.include_router(router)
    return app
