"""Package metadata; the tools' settings are in pyproject.toml."""

import pathlib

import setuptools

ROOT = pathlib.Path(__file__).parent

setuptools.setup(
    name="albert-tf",
    version="0.1.0",
    description="ALBERT for TensorFlow 2 and Keras 3: from raw text to a served model",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.10,<3.14",
    packages=setuptools.find_packages(include=["albert_tf*", "data_pipeline*"]),
    py_modules=["run_pretraining", "run_classifier"],
    # Each tensorflow-text release links against one TensorFlow minor version and
    # requires it, so that the two ranges below resolve to the same minor.
    install_requires=[
        "tensorflow>=2.20,<2.22",
        "tensorflow-text>=2.20,<2.22",
        "sentencepiece>=0.2.3",
        "absl-py",
        "numpy",
    ],
    extras_require={
        "plots": ["matplotlib"],
        "test": [
            "hypothesis",
            "matplotlib",
            "pytest>=8",
            "pytest-xdist>=3.7",
            "ruff>=0.17,<0.18",
            "safetensors",
            "scikit-learn",
            "scipy",
            "tensorflow-serving-api>=2.20",
        ],
        "convert": ["safetensors"],
        "beam": ["apache-beam>=2.60"],
        "bench": ["keras-hub", "torch", "transformers"],
        # Their private interfaces change; see tools/tpu/compiler.py.
        "tpu_check": ["jax==0.10.2", "libtpu==0.0.51"],
        "onnx": ["tf2onnx>=1.17", "onnxruntime"],
    },
    classifiers=[
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
