#!/bin/sh
# Makes the secrets for compose.yaml, each a random line. It keeps existing secrets. Containers read
# the files as another user, so the files are readable by all. Only the owner can read their
# directory.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets graphs
chmod 700 secrets
chmod 755 graphs
for name in token metrics-token gossip-key grafana-password; do
  if [ ! -s "secrets/$name" ]; then
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"secrets/$name"
    echo >>"secrets/$name"
  fi
  chmod 644 "secrets/$name"
done
