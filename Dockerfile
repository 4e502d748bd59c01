# Serves models to browsers and programs (docs/web.md):
#   docker build --tag keras-transformer . && docker run --publish 8000:8000 --env KERAS_TRANSFORMER_TOKEN keras-transformer
FROM python:3.12-slim

RUN useradd --create-home --uid 1000 serving
WORKDIR /home/serving
COPY setup.py README.md LICENSE ./
COPY keras_transformer ./keras_transformer
COPY zoo ./zoo
# The packages are those of setup.py, which names their versions.
# hadolint ignore=DL3013
RUN pip install --no-cache-dir ".[web,images,speech,parsing]" && rm -rf build keras_transformer zoo

USER 1000
ENV TF_CPP_MIN_LOG_LEVEL=3
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')"]
# A token is needed, as others reach the container: --env KERAS_TRANSFORMER_TOKEN=... Names of models may follow.
ENTRYPOINT ["python", "-m", "zoo", "serve", "--host", "0.0.0.0", "--port", "8000"]
