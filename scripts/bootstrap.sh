#!/bin/sh
# Installs what nest needs to be built, tested or checked, and nothing where it is all there.
#
#   scripts/bootstrap.sh [build|test|lint]     build: compiler and libraries; test (the default):
#                                              also the test libraries; lint: also the checkers
#   scripts/bootstrap.sh --lint                the same as lint
set -eu

set_name=${1:-test}
set_name=${set_name#--}
case $set_name in
build | test | lint) ;;
*)
    echo "bootstrap: unknown set '$set_name'; use build, test or lint" >&2
    exit 2
    ;;
esac

tools="${CC:-gcc} make pkg-config"
modules="ncursesw yaml-0.1 json-c libxml-2.0"
if [ "$set_name" != build ]; then
    modules="$modules cmocka vterm"
fi
if [ "$set_name" = lint ]; then
    tools="$tools clang clang-tidy clang-format cppcheck shellcheck"
fi

missing() {
    for tool in $tools; do
        command -v "$tool" >/dev/null 2>&1 || return 0
    done
    # shellcheck disable=SC2086 # the list is meant to be split
    pkg-config --exists $modules || return 0
    pkg-config --exists lua5.4 || pkg-config --exists 'lua >= 5.4' || return 0
    return 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "bootstrap: not root and no sudo; run as root: $*" >&2
        exit 1
    fi
}

install_apt() {
    packages="gcc libc6-dev make pkg-config libncurses-dev libyaml-dev liblua5.4-dev"
    packages="$packages libjson-c-dev libxml2-dev"
    [ "$set_name" = build ] || packages="$packages libcmocka-dev libvterm-dev"
    [ "$set_name" != lint ] ||
        packages="$packages clang clang-tidy clang-format cppcheck shellcheck"
    echo "bootstrap: apt-get install $packages" >&2
    as_root apt-get -qq update
    # shellcheck disable=SC2086 # the list is meant to be split
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -y --no-install-recommends install $packages >&2
}

install_dnf() {
    packages="gcc make pkgconf-pkg-config ncurses-devel libyaml-devel lua-devel"
    packages="$packages json-c-devel libxml2-devel"
    [ "$set_name" = build ] ||
        packages="$packages libcmocka-devel libvterm-devel libasan libubsan"
    [ "$set_name" != lint ] || packages="$packages clang clang-tools-extra cppcheck ShellCheck"
    echo "bootstrap: dnf install $packages" >&2
    # shellcheck disable=SC2086 # the list is meant to be split
    as_root dnf -q -y install $packages >&2
}

install_brew() {
    packages="pkg-config ncurses libyaml lua json-c libxml2"
    [ "$set_name" = build ] || packages="$packages cmocka libvterm"
    [ "$set_name" != lint ] || packages="$packages llvm clang-format cppcheck shellcheck"
    echo "bootstrap: brew install $packages" >&2
    # shellcheck disable=SC2086 # the list is meant to be split
    brew install --quiet $packages >&2
}

if ! missing; then
    exit 0
fi
if command -v apt-get >/dev/null 2>&1; then
    install_apt
elif command -v dnf >/dev/null 2>&1; then
    install_dnf
elif command -v brew >/dev/null 2>&1; then
    install_brew
else
    echo "bootstrap: no apt-get, dnf or brew here; install these yourself:" >&2
    echo "bootstrap: tools $tools; libraries (pkg-config names) $modules lua5.4" >&2
    exit 1
fi
if missing; then
    echo "bootstrap: still missing something of: $tools $modules lua5.4" >&2
    exit 1
fi
