"""The files in deploy/ray, as Ray reads them."""

import json
from pathlib import Path

import pytest
import yaml

DEPLOY = Path(__file__).parents[4] / "deploy" / "ray"


def test_the_example_for_ray_up_fits_the_schema_of_ray() -> None:
    import jsonschema

    ray = pytest.importorskip("ray", reason="the package Ray is not installed")

    schema = json.loads((Path(str(ray.__file__)).parent / "autoscaler" / "ray-schema.json").read_text())
    jsonschema.validate(yaml.safe_load((DEPLOY / "cluster.yaml").read_text()), schema)


def test_nodes_in_kubernetes_have_one_image_and_take_keys_from_a_secret() -> None:
    cluster = yaml.safe_load((DEPLOY / "rayjob.yaml").read_text())["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    containers = [container for group in groups for container in group["template"]["spec"]["containers"]]
    assert len({container["image"] for container in containers}) == 1
    assert all(container["envFrom"] == [{"secretRef": {"name": "mesocosm-keys"}}] for container in containers)
