#!/usr/bin/python3
"""Compares samples/CachingService/Deploy/kubernetes.yml with Kubernetes' own models, with itself and with the service.

  scripts/kubernetes-manifest.py [--no-build]

Every key must be one that Kubernetes 1.22 knows, with a value of its type, and no required one may be missing. Names, ports and labels must lead
to something; a pod must have the time that a drain takes; and the service must accept the settings, and the token only when it has been changed.
Then the script makes one mistake after the other in the file, and must find each. Prints one line per check and ends with "N passed, N failed".

Needs the .NET SDK and Debian's python3-kubernetes, which it installs as root. No cluster is needed, and nothing listens.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
subprocess.run([REPOSITORY / "scripts/require-tools.sh", "python3-kubernetes"], check=True)
import yaml  # noqa: E402
from kubernetes import client  # noqa: E402

SAMPLE = REPOSITORY / "samples/CachingService"
PLAIN_TYPES = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": (int, str)}

# A text of the file, what stands there instead, and how the fault reads.
MISTAKES = (
    ("runAsNonRoot:", "runAsNonroot:", "unknown key runAsNonroot"),
    ("replicas: 3", 'replicas: "3"', "replicas: not of type int"),
    ("  serviceName: caching-service-nodes\n", "", "`service_name`, must not be `None`"),
    ("policy/v1\n", "apps/v1\n", "no PodDisruptionBudget in apps/v1"),
    ("serviceName: caching-service-nodes", "serviceName: caching-service-node", "no Service caching-service-node"),
    ("configMap:\n            name: caching-service", "configMap:\n            name: cache", "no ConfigMap cache"),
    ("secretName: caching-service", "secretName: cache", "no Secret cache"),
    ("targetPort: http", "targetPort: https", "no port https"),
    ("path: /ready, port: admin", "path: /ready, port: 8082", "no port 8082"),
    ('prometheus.io/port: "8081"', 'prometheus.io/port: "8083"', "no port 8083"),
    ("containerPort: 8080", "containerPort: 8090", "nothing listens on 8090"),
    ("    matchLabels: { app.kubernetes.io/name: caching-service }", "    matchLabels: { app.kubernetes.io/name: cache }", "selects no pod"),
    ("terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 49", "ends after 49 s, and a drain takes 50 s"),
    ("- name: cache\n              mountPath", "- name: caches\n              mountPath", "no volume caches"),
    ("mountPath: /cache\n", "mountPath: /disk\n", "/cache/objects is on no volume"),
    ("mountPath: /etc/caching-service/secret\n", "mountPath: /etc/caching-service\n", "no file /etc/caching-service/secret/token"),
    ('"MaxBytes"', '"MaxByte"', "line 10: Option Cache:MaxByte is not known"),
)


class Checks:
    passed = failed = 0

    def check(self, name, holds, detail):
        if holds:
            self.passed += 1
            print(f"ok      {name} ({detail})", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {name} ({detail})", flush=True)


def compare(value, kind, path):
    """What is wrong with a value that must be of one of the types of Kubernetes' client."""
    generic = re.fullmatch(r"(list|dict)(?:\[|\(str, )(.*)[])]", kind)
    expected = {"list": list, "dict": dict}[generic[1]] if generic else PLAIN_TYPES.get(kind, dict)
    if not isinstance(value, expected) or (isinstance(value, bool) and kind != "bool"):
        return [f"{path}: not of type {kind}"]
    if kind in PLAIN_TYPES:
        return []
    if generic:
        items = value.items() if generic[1] == "dict" else enumerate(value)
        return [fault for key, item in items for fault in compare(item, generic[2], f"{path}.{key}")]
    model = getattr(client, kind)
    members = {key: member for member, key in model.attribute_map.items()}
    known = {key: item for key, item in value.items() if key in members}
    faults = [f"{path}: unknown key {key}" for key in value if key not in members]
    try:
        model(**{members[key]: item for key, item in known.items()})
    except ValueError as error:
        faults.append(f"{path}: {error}")
    return faults + [fault for key, item in known.items() for fault in compare(item, model.openapi_types[members[key]], f"{path}.{key}")]


def find_faults(text, token="0123456789abcdef"):
    """What is wrong with a manifest whose token has been changed to this one."""
    documents = list(yaml.safe_load_all(text))
    faults = []
    for document in documents:
        kind, version = document["kind"], document["apiVersion"]
        api = "".join(part.capitalize() for part in version.split("/")) if "/" in version else f"Core{version.capitalize()}"
        if hasattr(getattr(client, f"{api}Api"), "create_namespaced_" + re.sub(r"(?<=.)(?=[A-Z])", "_", kind).lower()):
            faults += compare(document, f"V1{kind}", kind)
        else:
            faults.append(f"no {kind} in {version}")
    return faults or list(find_contradictions(documents, token))


def find_contradictions(documents, token):
    def named(kind):
        return {document["metadata"]["name"]: document for document in documents if document["kind"] == kind}

    [workload] = named("StatefulSet").values()
    template = workload["spec"]["template"]
    pod, metadata = template["spec"], template["metadata"]
    [container] = pod["containers"]
    services = [service["spec"] for service in named("Service").values()]

    selectors = [service["selector"] for service in services]
    selectors += [item["spec"]["selector"]["matchLabels"] for item in (workload, *named("PodDisruptionBudget").values())]
    selectors += [constraint["labelSelector"]["matchLabels"] for constraint in pod["topologySpreadConstraints"]]
    yield from (f"{selector} selects no pod" for selector in selectors if not selector.items() <= metadata["labels"].items())

    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    used = [port["targetPort"] for service in services for port in service["ports"]]
    used += [probe["httpGet"]["port"] for key, probe in container.items() if key.endswith("Probe")]
    used.append(int(metadata["annotations"]["prometheus.io/port"]))
    yield from (f"no port {port}" for port in used if port not in ports and port not in ports.values())

    files, claims = {}, {claim["metadata"]["name"] for claim in workload["spec"]["volumeClaimTemplates"]}
    sources = {volume["name"]: ("ConfigMap", volume["configMap"]["name"]) if "configMap" in volume else ("Secret", volume["secret"]["secretName"])
               for volume in pod["volumes"]}
    for kind, name in (("Service", workload["spec"]["serviceName"]), *sources.values()):
        if name not in named(kind):
            yield f"no {kind} {name}"
            return
    for mount in container["volumeMounts"]:
        if mount["name"] not in sources.keys() | claims:
            yield f"no volume {mount['name']}"
        elif mount["name"] in sources:
            kind, name = sources[mount["name"]]
            content = named(kind)[name]
            files |= {f"{mount['mountPath']}/{key}": value for key, value in content.get("data", content.get("stringData")).items()}

    [settings_path] = [argument.partition("=")[2] for argument in container["args"] if argument.startswith("--Settings=")]
    settings = json.loads(files[settings_path])
    token_path, disk = settings["Admin"]["TokenFile"], settings["Cache"]["DiskPath"]
    urls = re.search(r"^ENV Urls=(\S+)$", (SAMPLE / "Deploy/Dockerfile").read_text(), re.M)[1]
    listening = {int(url.rpartition(":")[2]) for url in (urls, settings["Admin"]["Url"])}
    yield from (f"nothing listens on {port}" for port in set(ports.values()) - listening)
    if not any(mount["name"] in claims and disk.startswith(f"{mount['mountPath']}/") for mount in container["volumeMounts"]):
        yield f"{disk} is on no volume"
    drain = sum(int(time.removesuffix("s")) for time in (settings["DrainDelay"], settings["DrainTimeout"], settings["Cache"]["DiskSaveOnDrain"]))
    if pod["terminationGracePeriodSeconds"] < drain:
        yield f"a pod ends after {pod['terminationGracePeriodSeconds']} s, and a drain takes {drain} s"
    if token_path not in files:
        yield f"no file {token_path}"
        return
    yield from check_settings(files[settings_path], token_path, token or files[token_path], urls)


@functools.cache
def check_settings(settings, token_path, token, urls):
    """What the service says against its settings, which name the token's file."""
    with tempfile.TemporaryDirectory() as folder:
        token_file, settings_file = pathlib.Path(folder, "token"), pathlib.Path(folder, "settings.json")
        token_file.write_text(token)
        settings_file.write_text(settings.replace(token_path, str(token_file)))
        answer = subprocess.run(
            ["dotnet", SAMPLE / "bin/Release/net10.0/CachingService.dll", "--check-config", f"--Settings={settings_file}"],
            env=os.environ | {"Urls": urls}, capture_output=True, text=True, check=False)
        return [answer.stderr.strip()] if answer.returncode else []


def main():
    if sys.argv[1:] == ["--help"]:
        print(__doc__)
        return 0
    if sys.argv[1:] not in ([], ["--no-build"]):
        sys.exit(f"{sys.argv[1]}: unknown option; see --help")
    if not sys.argv[1:]:
        subprocess.run(["dotnet", "build", SAMPLE, "--configuration", "Release", "--nologo", "--verbosity", "quiet"], check=True)

    checks = Checks()
    text = (SAMPLE / "Deploy/kubernetes.yml").read_text()
    faults = find_faults(text)
    checks.check("the manifest is right", not faults, "; ".join(faults) or f"{len(list(yaml.safe_load_all(text)))} documents")
    faults = find_faults(text, token=None)
    checks.check("its own token is refused", len(faults) == 1 and "Admin:TokenFile: the token is not valid" in faults[0], "; ".join(faults))
    for right, wrong, fault in MISTAKES:
        faults = find_faults(text.replace(right, wrong)) if right in text else [f"the manifest has no {right}"]
        is_found = any(fault in found for found in faults)
        checks.check("a mistake is found", is_found, fault if is_found else f"{fault}; found: {'; '.join(faults)}")
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
