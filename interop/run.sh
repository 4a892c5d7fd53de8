#!/usr/bin/env bash
# Holds the archive against readers that others wrote: warcio (Python), jwarc (Java), and pywb's indexer.
#
#   interop/run.sh [CRAWL_FOLDER...]
#
# Crawls a server of odd answers on loopback and, unless folders are given, the demo web (a minute). Each folder is read record by
# record with warcio and jwarc; what they find is compared with each other, with indexes/index.cdxj, pages/pages.jsonl and
# fetches.jsonl, and the index with the one that pywb makes of the same files. Prints one table; exit code 1 when anything
# differs, 2 when a tool is missing. The network is used for the package registries alone.
#
#   DECORUM        the program; default: built from this tree
#   INTEROP_TOOLS  folder in which the readers are kept for the next run; default: a temporary one
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

WARCIO=1.8.1
PYWB=2.10.0
JWARC=0.31.1

missing() {
	echo "interop: $1" >&2
	exit 2
}
need() { command -v "$1" >/dev/null || missing "$1 is not installed; $2"; }
need python3 "warcio and pywb need Python 3.9 or later"
need java "jwarc needs Java 11 or later"
need mvn "jwarc comes from Maven Central"
python3 -c 'import venv, ensurepip' 2>/dev/null || missing "python3 has no venv; on Debian it is the package python3-venv"

work=$(mktemp -d)
server=
cleanup() {
	if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
	rm -rf "$work"
}
trap cleanup EXIT
tools=${INTEROP_TOOLS:-$work/tools}
mkdir -p "$tools"

if ! "$tools/venv/bin/python" -c "import warcio" 2>/dev/null; then
	python3 -m venv "$tools/venv"
	"$tools/venv/bin/pip" install --quiet --disable-pip-version-check "warcio==$WARCIO" || missing "warcio $WARCIO cannot be installed"
	"$tools/venv/bin/pip" install --quiet --disable-pip-version-check "pywb==$PYWB" || echo "interop: pywb $PYWB cannot be installed; its index is left out" >&2
fi
jar=$tools/jwarc-$JWARC.jar
[ -f "$jar" ] || mvn --quiet --batch-mode dependency:copy "-Dartifact=org.netpreserve:jwarc:$JWARC" "-DoutputDirectory=$tools" || missing "jwarc $JWARC cannot be had"
javac -cp "$jar" -d "$work/classes" "$here/ReadJwarc.java"

decorum=${DECORUM:-}
if [ -z "$decorum" ]; then
	decorum=$work/decorum
	(cd "$here/.." && CGO_ENABLED=0 go build -o "$decorum" ./cmd/decorum)
fi

python3 "$here/odd.py" >"$work/port" &
server=$!
for _ in $(seq 100); do
	[ -s "$work/port" ] && break
	sleep 0.1
done
[ -s "$work/port" ] || missing "the server of odd answers does not start"
"$decorum" crawl "http://127.0.0.1:$(cat "$work/port")/" --dir "$work/odd.crawl" --delay 0 --retries 0 --listen off --quiet --min-free 64MiB \
	--max-body 1MiB --warc-size 1MiB --keep-session-ids --keep-tracking
folders=("$work/odd.crawl")
if [ $# -gt 0 ]; then
	folders+=("$@")
else
	"$decorum" demo --dir "$work/demo.crawl" --delay 0 --listen off --quiet
	folders+=("$work/demo.crawl")
fi

status=0
for folder in "${folders[@]}"; do
	name=$(basename "$folder")
	files=("$folder"/archive/*.warc.gz)
	"$tools/venv/bin/python" "$here/read_warcio.py" "${files[@]}" >"$work/warcio.jsonl"
	java -cp "$jar:$work/classes" ReadJwarc "${files[@]}" >"$work/jwarc.jsonl"
	pywb=()
	if [ -x "$tools/venv/bin/cdx-indexer" ]; then
		"$tools/venv/bin/cdx-indexer" --cdxj --sort "$folder/archive/" >"$work/pywb.cdxj"
		pywb=("$work/pywb.cdxj")
	fi
	python3 "$here/compare.py" "$name" "$folder" "$work/warcio.jsonl" "$work/jwarc.jsonl" "${pywb[@]}" || status=1
done
exit $status
