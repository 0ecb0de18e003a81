"""libvips on photographs: as many processes of `vipsthumbnail` as threads, a share of the files each, pixels written."""
import os
import pathlib
import subprocess
import tempfile

import peer


def decode(folder, count, width, height, threads):
    paths = (pathlib.Path(folder) / "texts").read_text().splitlines()
    output = tempfile.TemporaryDirectory()

    def run(files=paths):
        command = ["vipsthumbnail", "--size", f"{width}x{height}!", "--output", f"{output.name}/%s.ppm"]
        shares = [files[i::threads] for i in range(threads)]
        for process in [subprocess.Popen(command + share, env=os.environ | {"VIPS_CONCURRENCY": "1"}) for share in shares]:
            if process.wait():
                raise SystemExit("vipsthumbnail failed")

    run(paths[:count])
    with open(pathlib.Path(folder) / "answer", "wb") as answer:
        for path in paths[:count]:
            answer.write(pathlib.Path(output.name, pathlib.Path(path).stem + ".ppm").read_bytes()[-width * height * 3:])
    return run


peer.serve("vipsthumbnail", {"decode": decode})
