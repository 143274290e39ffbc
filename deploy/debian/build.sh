#!/bin/sh
# Builds a Debian package with an environment of its own: deploy/debian/build.sh WHEEL FOLDER
#
# Run it on the release of Debian that the package is for: the environment is bound to that release's Python, and pip takes
# the versions of constraints.txt from the index that it is configured with. EXTRAS=postgresql,oracle adds drivers.
# It needs python3-venv and dpkg-deb, no root. `make deb` builds the wheel first.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
wheel=$(readlink -f "$1")
out=$(mkdir -p "$2" && readlink -f "$2")
PYTHON=${SYSTEM_PYTHON:-/usr/bin/python3}
EXTRAS=${EXTRAS:-postgresql}
HOME_OF=/usr/lib/hotplace

tree=$(mktemp -d)
tools=$(mktemp -d)
trap 'rm -rf "$tree" "$tools"' EXIT
umask 022
chmod 0755 "$tree"

"$PYTHON" -m venv "$tools"
"$PYTHON" -m venv --without-pip "$tree$HOME_OF"
"$tools/bin/pip" --quiet --disable-pip-version-check --python "$tree$HOME_OF/bin/python" install --no-compile \
    --constraint "$root/constraints.txt" "${wheel}[${EXTRAS}]"

# What was made for the folder where it was built is told where it will be.
rm -rf "$tree$HOME_OF"/bin/activate* "$tree$HOME_OF"/bin/Activate* "$tree$HOME_OF"/include "$tree$HOME_OF/lib64"
find "$tree$HOME_OF/bin" -type f ! -name hotplace -delete
sed -i "1s|^#!.*|#!$HOME_OF/bin/python3|" "$tree$HOME_OF/bin/hotplace"
sed -i "/^command = /d" "$tree$HOME_OF/pyvenv.cfg"
packages=$(echo "$tree$HOME_OF"/lib/python3.*/site-packages)
rm -f "$packages"/*.dist-info/direct_url.json "$packages"/*.dist-info/REQUESTED # they name the folder of the build
for record in "$packages"/*.dist-info/RECORD; do
    sed -i '/direct_url\.json/d; /\/REQUESTED,/d; /^\.\.\/\.\.\/\.\.\/bin\//d' "$record"
done
find "$packages" -name '*.so*' -exec chmod 0644 {} +
# Compiled here: the folders belong to root, and no user of the agent could keep it. By content, since times differ.
"$PYTHON" -m compileall -q -s "$tree" --invalidation-mode unchecked-hash "$packages"

install -d "$tree/usr/bin" "$tree/lib/systemd/system" "$tree/etc/hotplace" "$tree/usr/share/doc/hotplace" \
    "$tree/usr/share/man/man1" "$tree/usr/share/man/man5" "$tree/usr/share/bash-completion/completions" \
    "$tree/usr/share/zsh/vendor-completions" "$tree/usr/share/fish/vendor_completions.d" "$tree/usr/share/lintian/overrides"
ln -s ../lib/hotplace/bin/hotplace "$tree/usr/bin/hotplace"

run() { PYTHONPATH="$packages" "$PYTHON" -B -c 'import hotplace, sys; sys.argv[0] = "hotplace"; hotplace.main()' "$@"; }
completion() { PYTHONPATH="$packages" _HOTPLACE_COMPLETE="source_$1" "$PYTHON" -B -c \
    'import hotplace, sys; sys.argv[0] = "hotplace"; hotplace.main()'; }
version=$(run --version | cut -d' ' -f2)
sed "s|/opt/hotplace/bin|$HOME_OF/bin|; s|^Documentation=.*|Documentation=man:hotplace(1) man:hotplace.yaml(5)|; /^#/d" \
    "$root/deploy/systemd/hotplace.service" > "$tree/lib/systemd/system/hotplace.service"
run init --engine postgresql --output "$tree/etc/hotplace/hotplace.yaml" > "$tools/said"
sed -i 's|^  path: hotplace\.db .*|  path: /var/lib/hotplace/ledger.db|' "$tree/etc/hotplace/hotplace.yaml"
grep -q '^  path: /var/lib/hotplace/ledger.db$' "$tree/etc/hotplace/hotplace.yaml"
chmod 0640 "$tree/etc/hotplace/hotplace.yaml"
completion bash > "$tree/usr/share/bash-completion/completions/hotplace"
completion zsh > "$tree/usr/share/zsh/vendor-completions/_hotplace"
completion fish > "$tree/usr/share/fish/vendor_completions.d/hotplace.fish"
PYTHONPATH="$packages" "$PYTHON" -B "$here/man.py" "$version" "$tree/usr/share/man"

cp "$here/copyright" "$tree/usr/share/doc/hotplace/copyright"
date=$(date -R -u -d "@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$root/CHANGELOG.md")}")
sed "s|@VERSION@|$version|; s|@DATE@|$date|" "$here/changelog" | gzip -9n > "$tree/usr/share/doc/hotplace/changelog.gz"
cp "$here/lintian-overrides" "$tree/usr/share/lintian/overrides/hotplace"

minor=$("$PYTHON" -c 'import sys; print(sys.version_info.minor)')
install -d "$tree/DEBIAN"
sed "s|@VERSION@|$version|; s|@ARCHITECTURE@|$(dpkg --print-architecture)|; s|@SIZE@|$(du -sk "$tree/usr" | cut -f1)|
     s|@PYTHON@|3.$minor|; s|@NEXT_PYTHON@|3.$((minor + 1))|" "$here/control" > "$tree/DEBIAN/control"
echo /etc/hotplace/hotplace.yaml > "$tree/DEBIAN/conffiles"
for script in postinst prerm postrm; do install -m 0755 "$here/$script" "$tree/DEBIAN/$script"; done
(cd "$tree" && find usr lib etc -type f ! -path etc/hotplace/hotplace.yaml -print0 | LC_ALL=C sort -z | xargs -0 md5sum) \
    > "$tree/DEBIAN/md5sums"
find "$tree" -type d -exec chmod 0755 {} +

file="$out/hotplace_${version}_$(dpkg --print-architecture).deb"
dpkg-deb --root-owner-group -Zxz -z"${LEVEL:-6}" --build "$tree" "$file"
