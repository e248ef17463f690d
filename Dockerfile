# CPU: docker build -t albert-tf .
# GPU: docker build -t albert-tf:gpu --build-arg EXTRAS=serve,hub,gpu .
#      docker run --gpus=all …, with NVIDIA's container toolkit on the machine
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE NOTICE ./
COPY configs configs
COPY data_pipeline data_pipeline
COPY albert_tf albert_tf
RUN pip wheel --no-cache-dir --no-deps --wheel-dir=/wheels .

FROM python:3.12-slim
ARG EXTRAS=serve,hub
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[${EXTRAS}]"
RUN useradd --create-home --uid=1000 albert
# By number: Kubernetes cannot see that a name is not root's.
USER 1000
WORKDIR /home/albert
EXPOSE 8501
ENTRYPOINT ["albert-tf"]
CMD ["--help"]
