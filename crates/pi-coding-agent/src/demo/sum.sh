#!/usr/bin/env bash
# Adds up its arguments.
total=0
shift
for number in "$@"; do
  total=$((total + number))
done
echo "$total"
