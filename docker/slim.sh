#!/bin/sh
# Takes out of the file system at $1 what no server of the lab reads: documentation, translations, the package manager and what
# only it needs, interpreters, and LLVM (without its JIT provider PostgreSQL plans as if jit were off). A small image is quick to
# unpack on every storage driver.
set -eu

root=${1:?the root of the file system}

cd "$root"
rm -rf \
    usr/share/doc usr/share/doc-base usr/share/man usr/share/info usr/share/locale usr/share/i18n usr/share/lintian \
    usr/share/bash-completion usr/share/zsh usr/share/perl usr/share/perl5 usr/share/keyrings usr/share/common-licenses \
    usr/share/postgresql-common usr/share/polkit-1 usr/share/dbus-1 usr/share/gcc \
    usr/lib/systemd usr/lib/apt usr/lib/dpkg usr/lib/locale/locale-archive usr/lib/python3* usr/lib/llvm* \
    usr/lib/*/perl usr/lib/*/perl5 usr/lib/*/perl-base usr/lib/*/libperl.so* usr/lib/*/libLLVM* usr/lib/libLLVM* \
    usr/lib/*/systemd usr/lib/*/gconv usr/lib/*/libapt-*.so* usr/lib/*/libpython3* usr/lib/*/libz3.so* \
    usr/bin/perl* usr/bin/apt* usr/bin/dpkg* usr/bin/localedef usr/bin/openssl usr/bin/systemd* usr/bin/systemctl \
    usr/bin/journalctl usr/bin/loginctl usr/bin/sqv usr/bin/gpgv usr/local/bin/gosu \
    etc/apt etc/dpkg etc/perl etc/systemd etc/postgresql \
    var/lib/dpkg var/lib/apt var/lib/systemd var/cache var/log docker-entrypoint-initdb.d
rm -rf usr/lib/postgresql/*/lib/bitcode usr/lib/postgresql/*/lib/llvmjit* usr/local/lib/postgresql/bitcode \
    usr/local/lib/postgresql/llvmjit*
# In a build on the official image a volume is mounted there, whose contents do not reach the image.
rm -rf var/lib/postgresql 2>/dev/null || :
mkdir -p var/cache var/log
