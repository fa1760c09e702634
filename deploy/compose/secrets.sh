#!/bin/sh
# Makes the secrets that compose.yaml names, each a random line. Those that are there stay. Containers read the files as
# another user than the one who makes them, so they are open to all; the directory they are in is not.
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
