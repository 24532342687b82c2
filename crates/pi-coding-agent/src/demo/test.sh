#!/usr/bin/env bash
# Checks sum.sh.
got=$(bash "$(dirname "$0")/sum.sh" 1 2 3)
if [ "$got" = 6 ]; then
  echo "ok: 1 + 2 + 3 = 6"
else
  echo "failed: 1 + 2 + 3 should be 6, got $got"
  exit 1
fi
